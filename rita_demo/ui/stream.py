"""The tab *Stream*: a memory at work on many pictures, live, back in time, and from stored runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import gradio as gr

from rita_demo import measuring
from rita_demo.errors import DataError, SettingError
from rita_demo.measuring import MOST, Places
from rita_demo.ui import notice, stream_arrival, stream_layout, stream_panels
from rita_demo.ui.ask import methods_of
from rita_demo.ui.attack_defend import BEHIND, LONG, AttackDefend
from rita_demo.ui.board import Board, Updates
from rita_demo.ui.controls import settings_from
from rita_demo.ui.desk import AT_ONCE, Desk
from rita_demo.ui.inside import Inside
from rita_demo.ui.plotly_view import clicked, whole
from rita_demo.ui.sessions import Session
from rita_demo.ui.shelf import as_file
from rita_demo.ui.stream_fetch import Fetch, choices

#: Not the engine's queue: a stream of minutes leaves the engine to others between two pictures.
STREAM_QUEUE: dict[str, Any] = {
    "concurrency_id": "stream", "concurrency_limit": 2, "show_progress": "hidden",
    "api_visibility": "private",
}  # fmt: skip
MAKE_WAY = 20.0  # seconds that a stream waits at most for single pictures, between two of its own
BREATH = 0.02  # seconds between two pictures, so that whoever waits for the engine gets it


class StreamTab:
    """The tab. Build it inside its ``gr.Tab``.

    Args:
        first: the first tab, whose settings a stream takes, and whose job opens a picture.
        inside: where a picture is opened; ``tabs``: what brings that tab to the front.
    """

    def __init__(
        self, desk: Desk, first: AttackDefend, inside: Inside, tabs: gr.Tabs, places: Places
    ) -> None:
        self.desk, self.first, self.inside, self.tabs, self.places = (
            desk, first, inside, tabs, places,
        )  # fmt: skip
        self.board, self.exports = Board(), 0
        with gr.Column(elem_id="stream"):
            self.asked = stream_layout.asking(places)
            self.fetch = Fetch(desk, places, self.asked["dataset"])
            self.stored, self.open = stream_layout.stored()
            self.pressed = stream_layout.buttons(self.board)
            shown = stream_layout.result(self.board, places)
        self.slider, self.near, self.figures = shown.slider, shown.near, shown.figures
        self.pressed, self.classes = self.pressed | shown.pressed, shown.classes

    # --- events
    def wire(self, here: gr.Tab) -> None:
        """Connect the events; call it once every panel of every tab is on the board."""
        visitor, b = self.desk.visitor, self.pressed
        outputs = self._outputs()
        wish = {visitor, *self.asked.values(), *self.first.form.fields.values()}
        safe = notice.guarded(self.desk.notice, lambda: {b["start"]: gr.update(interactive=True)})
        b["start"].click(safe(self.started), wish, outputs, **STREAM_QUEUE)
        b["resume"].click(safe(self.resumed), visitor, outputs, **STREAM_QUEUE)
        b["step"].click(safe(self.stepped), visitor, outputs, **STREAM_QUEUE)
        touched: list[tuple[Any, Any, list[Any]]] = [
            (here.select, self.opened, [visitor]),
            (b["pause"].click, self.paused, [visitor]),
            (b["cancel"].click, self.cancelled, [visitor]),
            (self.slider.input, self.pick, [visitor, self.slider]),
            (self.near.click, self.click_picture, [visitor]),
            *((figure.click, self.click_figure, [visitor]) for figure in self.figures),
            (self.open.click, self.open_stored, [visitor, self.stored]),
            (b["export"].click, self.exported, [visitor]),
        ]
        for event, handler, inputs in touched:
            event(safe(handler), inputs, outputs, **AT_ONCE)
        everywhere = self.desk.outputs(self.classes)
        self.classes.click(safe(self.click_class), visitor, everywhere, **AT_ONCE)
        more = [self.tabs, *self.desk.outputs()]
        quiet = notice.guarded(self.desk.notice, lambda: {self.desk.status: ""})
        told = b["inside"].click(quiet(self.open_inside), visitor, more, **LONG)
        told.success(quiet(self.first.follow), visitor, self.desk.outputs(), **BEHIND)
        self.fetch.wire()

    def _outputs(self) -> list[Any]:
        mine = [*self.board.components, *self.pressed.values(), self.asked["dataset"], self.stored]
        return [self.desk.notice, *dict.fromkeys(mine)]

    def _drawn(self, session: Session) -> Updates:
        shown = stream_panels.buttons(session)
        updates = {self.pressed[name]: update for name, update in shown.items()}
        return updates | self.board.redraw(session, "story")

    def _runs(self) -> Any:
        found = measuring.recordings(self.places.runs)
        return gr.update(choices=[(one.title, one.name) for one in found])

    def opened(self, visitor: Any) -> Updates:
        """The tab came to the front: what can be streamed and opened may be other than before."""
        if not visitor:  # chosen while the page still opens, before there is a session
            return {}
        listed = {self.asked["dataset"]: gr.update(choices=choices(self.places))}
        return listed | {self.stored: self._runs()} | self._drawn(self.desk.sessions.get(visitor))

    # --- running
    def started(self, values: Mapping[Any, Any]) -> Iterator[Updates]:
        """A new stream; one that was measured before goes on where it was left."""
        visitor = values[self.desk.visitor]
        session = self.desk.sessions.get(visitor)
        form = self.first.form.read(values)
        settings, methods = settings_from(form), methods_of(form)
        wish = {name: values[component] for name, component in self.asked.items()}
        backbone = self.desk.engine_of(session).info.name
        request = measuring.request_for(self.places, settings, backbone, methods=methods, **wish)
        yield from self._go(visitor, session, request)

    def resumed(self, visitor: Any) -> Iterator[Updates]:
        """On with the stream that was paused."""
        yield from self._go(visitor, self.desk.sessions.get(visitor))

    def stepped(self, visitor: Any) -> Iterator[Updates]:
        """One picture more."""
        yield from self._go(visitor, self.desk.sessions.get(visitor), most=1)

    def _go(
        self, visitor: Any, session: Session, new: Any = None, most: int = MOST
    ) -> Iterator[Updates]:
        view, engine = session.stream, self.desk.engine_of(session)
        with session.lock:  # two presses may arrive together
            if view.running:
                raise SettingError("A stream of yours is running.", "Pause or cancel it first.")
            if new is not None:
                view.close()
                view.request = new
            if view.request is None:
                raise SettingError("There is no paused stream.", "Start one.")
            if view.request.backbone != engine.info.name:
                raise SettingError(
                    "Another model was chosen since.", "Choose the stream's one, or start anew."
                )
            request = view.request
            view.running, view.stop = True, False
        try:
            yield {self.desk.notice: "", **self._drawn(session)}
            with closing(measuring.running(engine, request)) as steps:
                for done, _ in enumerate(steps, 1):
                    self.desk.sessions.get(visitor)  # a page that was closed streams no more
                    self._look(session)
                    yield self._drawn(session)
                    if done >= most or view.stop:
                        break
                    yield from self._make_way(view)
            self._look(session)  # a stream that was complete before took no step
        finally:
            view.running = False
        yield {self.stored: self._runs(), **self._drawn(session)}

    def _look(self, session: Session) -> None:
        view = session.stream
        found = view.request and measuring.recording_of(self.places, view.request)
        if found is not None:
            with session.lock:
                view.show(found)

    def _make_way(self, view: Any) -> Iterator[Updates]:
        """Single pictures of anybody come first."""
        time.sleep(BREATH)
        until = time.monotonic() + MAKE_WAY
        while self.desk.turns.busy and not view.stop and time.monotonic() < until:
            yield {self.desk.notice: gr.skip()}
            time.sleep(0.2)

    def paused(self, visitor: Any) -> Updates:
        """Stop after the picture that is being decided."""
        self.desk.sessions.get(visitor).stream.stop = True
        return {self.pressed["pause"]: gr.update(visible=False)}

    def cancelled(self, visitor: Any) -> Updates:
        """Give the stream up; what was decided stays among the stored runs."""
        session = self.desk.sessions.get(visitor)
        session.stream.stop = True
        session.stream.close()
        return {self.stored: self._runs(), **self._drawn(session)}

    # --- looking
    def pick(self, visitor: Any, number: Any) -> Updates:
        """The time slider moved."""
        session = self.desk.sessions.get(visitor)
        updates = self._at(session, whole(number, 1, 10**9))
        updates.pop(self.slider, None)  # the hand is on it
        return updates

    def click_picture(self, visitor: Any, event: gr.EventData) -> Updates:
        """A picture's button was pressed."""
        raw = getattr(event, "_data", None)
        number = raw.get("t") if isinstance(raw, dict) else None
        return self._at(self.desk.sessions.get(visitor), whole(number, 1, 10**9))

    def click_figure(self, visitor: Any, event: gr.EventData) -> Updates:
        """A mark of a figure was clicked: its picture."""
        click = clicked(event)
        number = click.integer(0, 10**9) if click else None
        return self._at(self.desk.sessions.get(visitor), number)

    def click_class(self, visitor: Any, event: gr.EventData) -> Updates:
        """A class of the memory was clicked: every tab that knows it looks at it."""
        session, click = self.desk.sessions.get(visitor), clicked(event)
        story, course = session.story, session.stream.course
        k = click.integer(0, len(course.names)) if course is not None and click else None
        if k is None or course is None or story is None or course.names[k] not in story.bank.names:
            return {}
        session.select(k=story.bank.names.index(course.names[k]), atom=None)
        return self.desk.board.redraw(session, "class") | self.board.redraw(session, "class")

    def _at(self, session: Session, number: int | None) -> Updates:
        view = session.stream
        last = 0 if view.course is None else len(view.course.pictures)
        if number is None or not 1 <= number <= last:
            return {}
        view.at = None if number == last else number
        return self._drawn(session)

    def open_stored(self, visitor: Any, name: Any) -> Updates:
        """A run from the list, as it was left."""
        session = self.desk.sessions.get(visitor)
        if session.stream.running:
            raise SettingError("A stream of yours is running.", "Pause it first.")
        if not isinstance(name, str):
            raise DataError("No run is chosen.", "Choose one from the list.")
        found = measuring.recording(self.places.runs, name)
        session.stream.close()
        session.stream.show(found)
        self.desk.sessions.fit()
        return {self.desk.notice: "", **self._drawn(session)}

    def exported(self, visitor: Any) -> Updates:
        """All rows of the stream, as ``evaluate`` wrote them."""
        view = self.desk.sessions.get(visitor).stream
        if view.recording is None:
            raise DataError("There is no stream to export.", "Start one or open a stored run.")
        self.exports += 1
        with self.desk.handing.making():
            data = measuring.rows_text(view.recording).encode()
            return {self.pressed["export"]: as_file("rows.jsonl", data, self.exports)}

    def open_inside(self, visitor: Any) -> Iterator[Updates]:
        """The picture looked at, decided again from the memory it met, with everything open to the touch."""
        session = self.desk.sessions.get(visitor)
        view, engine = session.stream, self.desk.engine_of(session)
        if view.recording is None or not view.t:
            raise DataError("There is no picture to open.", "Start a stream first.")
        with self.desk.turns.taken():
            yield {
                self.desk.notice: "",
                self.desk.status: notice.progress("Finding the picture", 0, 0),
            }
            before = session.history
            ask, session.history = stream_arrival.again(engine, self.places, view, before)
            to_front: dict[Any, Any] = {self.tabs: gr.update(selected="inside")}
            yield to_front
            session.inside = True
            try:
                yield from self.first.jobs.tell(session, ask)
            except Exception:
                session.history = before
                raise
            yield self.inside.opened(visitor)
