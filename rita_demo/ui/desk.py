"""What every tab is handed: the engines, the visitors, the board, the place for messages."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from rita_demo.errors import BackboneError
from rita_demo.ui.board import Board
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.handing import Handing
from rita_demo.ui.notice import Notice
from rita_demo.ui.sessions import Session, Sessions

#: Every event that uses a model runs alone (the engine has a lock of its own as well).
ENGINE_QUEUE: dict[str, Any] = {"concurrency_id": "engine", "concurrency_limit": 1}
#: An event that only looks: at once, and without Gradio's own spinner.
AT_ONCE: dict[str, Any] = {
    "queue": False, "show_progress": "hidden", "api_visibility": "private",
    "trigger_mode": "always_last",
}  # fmt: skip


class Engines:
    """The models in memory by name: the one the server started with, and at most one other.

    Args:
        first: the engine that is there from the start and never leaves.
        load: makes an engine from a model's name; None when only the first can be used.
    """

    def __init__(self, first: Any, load: Callable[[str], Any] | None = None) -> None:
        self.first = first
        self._load = load
        self._other: Any = None
        self._lock = threading.Lock()

    def get(self, name: str) -> Any:
        """The engine of that name if it is in memory, else the first one."""
        other = self._other
        return other if other is not None and other.info.name == name else self.first

    def ready(self, name: str) -> bool:
        """Whether that model can answer at once."""
        return self.get(name).info.name == name

    def loading(self, name: str) -> Iterator[float]:
        """Load a model, yielding the seconds that have passed until it is there.

        Raises:
            BackboneError: what loading it ran into.
        """
        if self.ready(name):
            return
        if self._load is None:
            raise BackboneError(
                "Only one model can be used here.", "Start the server with another."
            )
        if not self._lock.acquire(blocking=False):
            raise BackboneError(
                "Somebody else is loading a model right now.", "Try again in a minute."
            )
        yield from self._fetch(name, self._load)

    def _fetch(self, name: str, load: Callable[[str], Any]) -> Iterator[float]:
        """The lock is the worker's: a visitor who leaves ends his waiting, not the loading."""
        failed: list[Exception] = []

        def fetch() -> None:
            try:
                self._other = load(name)
            except Exception as error:  # whoever waits raises it
                failed.append(error)
            finally:
                self._lock.release()

        begin = time.perf_counter()
        worker = threading.Thread(target=fetch, daemon=True)
        worker.start()
        while worker.is_alive():
            worker.join(0.3)
            yield time.perf_counter() - begin
        if failed:
            raise failed[0]


class Turns:
    """Who computes an answer: ``busy`` jobs run right now, of all visitors; ``touched``: when anybody opened the page,
    got an answer or touched a result last, on the monotonic clock."""

    def __init__(self) -> None:
        self.busy, self.touched = 0, -math.inf
        self._lock = threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Counts a job while it runs, however it ends."""
        with self._lock:
            self.busy += 1
        try:
            yield
        finally:
            with self._lock:
                self.busy -= 1
            self.touch()

    def touch(self) -> None:
        """Somebody is there."""
        self.touched = time.monotonic()


@dataclass(frozen=True)
class Desk:
    """Shared by all tabs. ``visitor`` is the component that holds the visitor's opaque id; ``turns`` are taken
    by what uses the engine's queue, for what runs behind to make way; ``handing``: what makes a file for a browser."""

    engines: Engines
    sessions: Sessions
    example: WorkedExample
    board: Board
    notice: Notice
    status: gr.HTML
    visitor: gr.State
    turns: Turns = field(default_factory=Turns)
    handing: Handing = field(default_factory=Handing)

    def outputs(self, *more: Any) -> list[Any]:
        """Everything an event may change."""
        return [self.notice, self.status, *self.board.components, *more]

    def outputs_of(self, *changed: str, tab: str | None = None) -> list[Any]:
        """What an event may change that redraws nothing but what depends on ``changed`` (with ``tab``: in sight).

        Gradio takes about a millisecond for every output, changed or not, and the browser as long again.
        """
        return [self.notice, self.status, *self.board.depending(*changed, tab=tab)]

    def cut_views(self, session: Session, *sides: str) -> None:
        """Cut the views of what is looked at for the screen, where that has not been done yet."""
        now = session.now
        for side in sides:
            name = session.crops_name(side)
            if now is not None and name not in session.crops:
                picture = getattr(now, side).picture
                session.crops[name] = self.engine_of(session).view_pixels(picture, now.settings)

    def engine_of(self, session: Session) -> Any:
        """The engine that this visitor chose, or the first one where that had to make room."""
        return self.engines.get(session.model)

    def chosen_engine(self, session: Session) -> Any:
        """The engine that this visitor chose, for what must not be answered by another.

        Raises:
            BackboneError: when another visitor's model has taken its place meanwhile.
        """
        if session.model and not self.engines.ready(session.model):
            raise BackboneError(
                "The model you chose had to make room for another visitor's.",
                "Choose it again in the menu, or go on with another.",
            )
        return self.engine_of(session)
