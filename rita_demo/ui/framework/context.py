"""What all tabs share: models, sessions, panels, and the places for messages."""

import inspect
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component
from gradio.events import Dependency

from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.arena import TOWERS
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import BackboneError
from rita_demo.ui.framework.notice import ErrorBanner, done_html, handle_errors, progress_html
from rita_demo.ui.framework.panels import PanelRegistry, Updates
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.store import Sessions
from rita_demo.ui.widgets.html_buttons import HtmlWidget
from rita_demo.vlm import hub_download

MAX_DOWNLOADS = 2  # files for browsers that are made at a time, for all visitors
_NO_SPINNER: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}


def queued_event(queue: str, limit: int = 1) -> dict[str, Any]:
    """A long event: at most ``limit`` of a ``queue`` run at a time; its progress is shown by the status line."""
    return {"concurrency_id": queue, "concurrency_limit": limit} | _NO_SPINNER


#: Events that use a model run one at a time (the engine has a lock as well).
ENGINE_QUEUE: dict[str, Any] = {"concurrency_id": "engine", "concurrency_limit": 1}
LONG_EVENT = queued_event("engine")
#: Background work waits until no answer is being computed; no visitor waits for it. Here and below, of several events at
#: the same time only the last one waits, instead of being dropped.
BACKGROUND_EVENT: dict[str, Any] = {"trigger_mode": "always_last"} | queued_event("attack_steps", 2)
#: A quick event: outside the queue, and without Gradio's spinner.
IMMEDIATE_EVENT: dict[str, Any] = {"trigger_mode": "always_last", "queue": False} | _NO_SPINNER


def immediate_event(handler: Callable[..., Any]) -> dict[str, Any]:
    """``IMMEDIATE_EVENT`` for this handler. One that reads what was clicked answers every click: for the last of several
    Gradio would send the data of the first again."""
    parameters = inspect.signature(handler).parameters.values()
    clicked = any(one.annotation is gr.EventData for one in parameters)
    return IMMEDIATE_EVENT | ({"trigger_mode": "multiple"} if clicked else {})


class ModelPool:
    """The loaded models by name: the one the server started with, the small ones that come with this copy, and at most
    one other. ``default``: the engine of the first, which stays loaded; ``load``: makes an engine from a model's name;
    None: only the default can be used."""

    def __init__(self, default: Engine, load: Callable[[str], Engine] | None = None) -> None:
        self.default, self._load = default, load
        self._loaded: dict[str, Engine] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Engine:
        """The engine of that name if it is loaded, else the default."""
        return self._loaded.get(name, self.default)

    def is_loaded(self, name: str) -> bool:
        return name in (self.default.info.name, *self._loaded)

    def arena_names(self, name: str) -> tuple[str, ...]:
        """The models that are side by side in the arena where ``name`` is used."""
        return TOWERS if name in TOWERS and self._load is not None else (name,)

    def load_steps(self, name: str) -> Iterator[float]:
        """Load a model, yielding the seconds that have passed. Raises BackboneError: the model cannot be loaded, or
        another one is being loaded."""
        if self.is_loaded(name):
            return
        if self._load is None:
            raise BackboneError("Only one model can be used here.", "Start the server with another.")
        if not self._lock.acquire(blocking=False):
            raise BackboneError("Another visitor is loading a model right now.", "Try again in a minute.")
        load, failed = self._load, list[Exception]()

        def fetch() -> None:
            try:
                kept = {n: engine for n, engine in self._loaded.items() if n in TOWERS or name in TOWERS}
                self._loaded = kept | {name: load(name)}
            except Exception as error:  # raised by the generator
                failed.append(error)
            finally:
                self._lock.release()

        # When the visitor leaves a download ends, and loading goes on: the thread holds the lock until it is done.
        hub_download.STOPPED.discard(name)
        begin, worker = time.perf_counter(), threading.Thread(target=fetch, daemon=True)
        worker.start()
        try:
            while worker.is_alive():
                worker.join(0.3)
                yield time.perf_counter() - begin
        finally:
            if worker.is_alive():
                hub_download.STOPPED.add(name)
        if failed:
            raise failed[0]


class EngineActivity:
    """How many jobs of all visitors compute an answer right now: background work waits until there are none."""

    def __init__(self) -> None:
        self.running_jobs = 0
        self._lock = threading.Lock()

    @contextmanager
    def track_job(self) -> Iterator[None]:
        """Count a job while it runs, however it ends."""
        with self._lock:
            self.running_jobs += 1
        try:
            yield
        finally:
            with self._lock:
                self.running_jobs -= 1

    def wait_until_idle(self) -> Iterator[None]:
        """Yields every 0.2 s while an answer is computed."""
        while self.running_jobs:
            yield
            time.sleep(0.2)


class Signal(HtmlWidget):
    """Its value counts what happened to the session. Another one rings the bell of the room in sight."""

    script = "watch('value', () => document.dispatchEvent(new CustomEvent('changed')));"


class RunShown(HtmlWidget):
    """Its value counts the runs that were shown or stopped; ``submit`` asks for what follows."""

    script = "watch('value', () => trigger('submit'));"


class Bell(HtmlWidget):
    """In a room; ``submit`` asks to draw it."""

    script = """
document.addEventListener('changed', () => {
  if (element.closest('[role=tabpanel]')?.getClientRects().length) trigger('submit');
});"""


@dataclass(frozen=True)
class AppContext:
    """Shared by all rooms. ``signal`` tells the room in sight that something changed, and ``run_shown`` the page that a run
    ended; ``visitor`` holds the visitor's opaque id; ``activity`` counts running jobs, for background work to wait;
    ``downloads`` is entered while a file is made: it limits their number."""

    models: ModelPool
    sessions: Sessions
    panels: PanelRegistry
    error_banner: ErrorBanner
    status: gr.HTML
    signal: Signal
    run_shown: RunShown
    visitor: gr.State
    activity: EngineActivity = field(default_factory=EngineActivity)
    downloads: threading.BoundedSemaphore = field(default_factory=partial(threading.BoundedSemaphore, MAX_DOWNLOADS))

    def done(self, text: str) -> Updates:
        """The status line: what was done last."""
        return {self.status: done_html(text)}

    def progress(self, text: str, fraction: float, time_left: TimeLeft | None = None, **state: bool) -> Updates:
        """The status line of a job: what happens now, and the time left; ``state`` as in :func:`progress_html`."""
        return {self.status: progress_html(text, fraction, time_left, **state)}

    def outputs(self, *more: Block) -> list[Block]:
        """The outputs of an event that may change anything: the room in sight draws itself."""
        return [self.error_banner, self.status, self.signal, *more]

    def outputs_of(self, room: str, *changed: str) -> list[Block]:
        """The outputs of a quick event in a room. Gradio takes about a millisecond for every output, changed or not, and so
        does the browser."""
        return self.outputs(*self.panels.components(room, *changed))

    def changed(self, session: Session, *topics: str) -> Updates:
        """These topics changed: the room in sight is told to draw itself."""
        session.touch(*topics)
        return {self.signal: str(session.changes)}

    def run_ended(self, session: Session) -> Updates:
        """A run is on screen, or was stopped: what follows is asked for."""
        return {self.run_shown: str(session.changes)}

    def answer(self, session: Session, room: str, *topics: str) -> Updates:
        """These topics changed by a quick event in ``room``: what the visitor waits for is drawn, and the room told to draw the
        rest. Gradio sends the outputs of an event one by one, and the browser draws every visible figure before it shows
        any: a dozen figures at once would delay the one that was clicked."""
        session.touch(*topics)
        updates = self.panels.answer(session, room, *topics)
        return updates | ({self.signal: str(session.changes)} if self.panels.is_stale(session, room) else {})

    def bind_quick(
        self,
        room: str,
        event: Callable[..., Dependency],
        handler: Callable[..., Updates],
        inputs: Sequence[Any],
        *topics: str,
    ) -> None:
        """Connect an event in ``room`` whose ``handler`` returns :meth:`answer` of at most ``topics``."""
        safe = handle_errors(self.error_banner)(handler)
        event(safe, inputs, self.outputs_of(room, *topics), **immediate_event(handler))

    def bind_room(self, tab: gr.Tab, *more: Component) -> None:
        """Draw a room when it comes to sight, and when something changed while it is; call it once all panels are registered.
        ``more``: what else its ``on_open`` updates."""
        name = str(tab.id)

        def draw_room(visitor: str) -> Updates:
            if not visitor:  # the first tab is selected while the page loads, before there is a session
                return {}
            session = self.sessions.get(visitor)
            said, session.said_when_drawn = session.said_when_drawn, ""
            draw = self.panels.draw if session.room == name else self.panels.open
            return draw(session, name) | ({self.status: said} if said else {})

        with tab:
            bell = Bell(elem_classes="bell")
        safe = handle_errors(self.error_banner, lambda: {self.status: ""})
        # the status line last: the browser shows the outputs one by one
        outputs = [self.error_banner, *self.panels.components(name), *more, self.status]
        gr.on([tab.select, bell.submit], safe(draw_room), self.visitor, outputs, **IMMEDIATE_EVENT)

    def crop_views(self, session: Session, *sides: str) -> None:
        """Make the displayed run's views for the screen, unless they are there."""
        now = session.run_at_step
        for side in sides:
            name = session.crops_key(side)
            if now is not None and name not in session.crops:
                picture = getattr(now, side).picture
                session.crops[name] = self.engine_of(session).view_pixels(picture, now.settings)

    def engine_of(self, session: Session) -> Engine:
        """The engine that this visitor chose, or the default if that one was unloaded."""
        return self.models.get(session.model)

    def chosen_engine(self, session: Session) -> Engine:
        """The engine that this visitor chose, never another. Raises BackboneError: it was unloaded for another
        visitor's model."""
        if session.model and not self.models.is_loaded(session.model):
            hint = "Choose it again in the menu, or use another."
            raise BackboneError("The model you chose was unloaded for another visitor's.", hint)
        return self.engine_of(session)
