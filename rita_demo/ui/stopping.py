"""Long jobs with a stop button. A job is stopped by itself, at its next yield, and says so: nothing of it can arrive
after its last word, and what follows it knows. (Gradio's own ``cancels`` answers "done" for it, which starts
what follows, and asks to cancel that before it has a name.)"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import gradio as gr

from rita_demo.ui import notice
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, Desk
from rita_demo.ui.sessions import Session

STOPPING = "Stopping after this step …"


class Stoppable:
    """The long jobs of one stop button.

    Args:
        button: visible while one of the visitor's jobs runs.
        stopped: what the page shows, and says, once a job has been stopped.
        running: entered while a job runs.
    """

    def __init__(
        self,
        desk: Desk,
        button: gr.Button,
        stopped: Callable[[Session], Updates],
        running: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._desk, self._button, self._stopped, self._running = desk, button, stopped, running
        self._name = str(button.elem_id)
        pressed = notice.guarded(desk.notice)(self._pressed)
        button.click(pressed, desk.visitor, [desk.notice, desk.status, button], **AT_ONCE)

    def job(self, work: Callable[..., Iterator[Updates]]) -> Any:
        """``work`` as an event: the button while it runs, a sentence when it fails."""
        return self._guarded(self._stoppable(work), work)

    def after(self, work: Callable[..., Iterator[Updates]]) -> Any:
        """What follows a job by itself, stoppable as well: nothing, when the job was stopped."""
        job = self._stoppable(work)

        def follows(*values: Any) -> Iterator[Updates]:
            if self._name not in self._session(values[0]).cut:
                yield from job(*values)

        return self._guarded(follows, work)

    def _guarded(self, event: Any, work: Callable[..., Iterator[Updates]]) -> Any:
        event.__qualname__ = getattr(work, "__qualname__", "job")  # what the log calls it
        return notice.guarded(
            self._desk.notice, lambda: {self._desk.status: "", **self._seen(False)}
        )(event)

    def _stoppable(self, work: Callable[..., Iterator[Updates]]) -> Any:
        def begins(*values: Any) -> Iterator[Updates]:
            session = self._session(values[0])
            asked = session.stops[self._name]
            with session.lock:
                session.jobs[self._name] += 1
                session.cut.discard(self._name)
            try:
                with self._running(), closing(work(*values)) as steps:  # type: ignore[type-var]
                    yield {**self._seen(True), self._desk.notice: ""}
                    for update in steps:
                        if session.stops[self._name] != asked:
                            break
                        yield update
            finally:
                with session.lock:
                    session.jobs[self._name] -= 1
                    cut = session.stops[self._name] != asked
                    if cut:
                        session.cut.add(self._name)
            yield {**(self._stopped(session) if cut else {}), **self._seen(False)}

        return begins

    def _session(self, first: Any) -> Session:
        """``first``: the visitor, or the values of all inputs by component."""
        visitor = first[self._desk.visitor] if isinstance(first, Mapping) else first
        return self._desk.sessions.get(visitor)

    def _seen(self, on: bool) -> Updates:
        return {self._button: gr.update(visible=on)}

    def _pressed(self, visitor: Any) -> Updates:
        session = self._session(visitor)
        session.stops[self._name] += 1
        if not session.jobs[self._name]:  # it ended while the button was on its way
            return self._seen(False)
        return {self._desk.status: notice.done(STOPPING), **self._seen(False)}
