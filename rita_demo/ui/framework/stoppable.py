"""Long jobs with a stop button. A job checks at every yield whether it was stopped; nothing of it arrives later, and a
follow-up job is not started. (Gradio's own ``cancels`` would report success and start the follow-up.)"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import gradio as gr

from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.session import Session

STOPPING = "Stopping after this step …"
REFUSED = notice.done_html("Not done: the message above says why.")


class StoppableJob:
    """The long jobs of one stop button. ``button``: visible while one of the visitor's jobs runs; ``on_stopped``:
    updates of the page once a job has been stopped; ``while_running``: entered while a job runs."""

    def __init__(
        self,
        context: AppContext,
        button: gr.Button,
        on_stopped: Callable[[Session], Updates],
        while_running: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._context, self._button = context, button
        self._on_stopped, self._while_running = on_stopped, while_running
        self._name = str(button.elem_id)
        pressed = notice.handle_errors(context.error_banner)(self._on_stop)
        button.click(pressed, context.visitor, [context.error_banner, context.status, button], **IMMEDIATE_EVENT)

    def handler(self, work: Callable[..., Iterator[Updates]]) -> Any:
        """The handler of an event: ``work`` with the stop button while it runs, and an error message when it fails."""
        return self._with_error_handling(self._until_stopped(work), work)

    def follow_up_handler(self, work: Callable[..., Iterator[Updates]]) -> Any:
        """The handler of a follow-up job, stoppable as well; it does nothing when the job was stopped."""
        job = self._until_stopped(work)

        def follows(*values: Any) -> Iterator[Updates]:
            if self._name not in self._session(values[0]).jobs.stopped:
                yield from job(*values)

        return self._with_error_handling(follows, work)

    def _with_error_handling(self, event: Any, work: Callable[..., Iterator[Updates]]) -> Any:
        event.__qualname__ = getattr(work, "__qualname__", "job")  # its name in the log
        return notice.handle_errors(
            self._context.error_banner, lambda: {self._context.status: REFUSED, **self._show_button(False)}
        )(event)

    def _until_stopped(self, work: Callable[..., Iterator[Updates]]) -> Any:
        def begins(*values: Any) -> Iterator[Updates]:
            session = self._session(values[0])
            asked = session.jobs.stop_requests[self._name]
            with session.lock:
                session.jobs.running[self._name] += 1
                session.jobs.stopped.discard(self._name)
            try:
                with self._while_running(), closing(work(*values)) as steps:  # type: ignore[type-var]
                    yield {**self._show_button(True), self._context.error_banner: ""}
                    for update in steps:
                        if session.jobs.stop_requests[self._name] != asked:
                            break
                        yield update
            finally:
                with session.lock:
                    session.jobs.running[self._name] -= 1
                    cut = session.jobs.stop_requests[self._name] != asked
                    if cut:
                        session.jobs.stopped.add(self._name)
            yield {**(self._on_stopped(session) if cut else {}), **self._show_button(False)}

        return begins

    def _session(self, first: Any) -> Session:
        """``first``: the visitor's id, or the values of all inputs by component."""
        visitor = first[self._context.visitor] if isinstance(first, Mapping) else first
        return self._context.sessions.get(visitor)

    def _show_button(self, visible: bool) -> Updates:
        return {self._button: gr.update(visible=visible)}

    def _on_stop(self, visitor: Any) -> Updates:
        session = self._session(visitor)
        session.jobs.stop_requests[self._name] += 1
        if not session.jobs.running[self._name]:  # it ended meanwhile
            return self._show_button(False)
        return {self._context.status: notice.done_html(STOPPING), **self._show_button(False)}
