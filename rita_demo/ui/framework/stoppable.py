"""Long jobs with a stop button. A job checks at every yield whether it was stopped; nothing of it arrives later, and a
follow-up job is not started. (Gradio's own ``cancels`` would report success and start the follow-up.)"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component
from gradio.events import Dependency

from rita_demo.engine.loading import LOADING, loading_steps
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext
from rita_demo.ui.framework.panels import Inputs, Updates
from rita_demo.ui.session.session import Session

STOPPING = "Stopping after this step …"
TOO_LATE = notice.done_html("It was done before it could be stopped.")
REFUSED = notice.done_html("Not done: the message above says why.")


class Finished(dict[Component, Any]):
    """Updates of a job that has nothing left to compute: they and what follows are shown even if it is stopped now."""


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
        self._context, self._button, self._name = context, button, str(button.elem_id)
        self._on_stopped, self._while_running = on_stopped, while_running
        shown = [context.error_banner, context.status]
        safe = notice.handle_errors(context.error_banner)
        self._say: tuple[Any, ...] = (safe(self._last_words), context.visitor, shown)
        clicked = button.click(safe(self._on_stop), context.visitor, [*shown, button], **IMMEDIATE_EVENT)
        clicked.then(*self._say, **IMMEDIATE_EVENT)

    def bind_event(
        self,
        event: Callable[..., Dependency],
        work: Callable[..., Iterator[Updates]],
        inputs: Inputs,
        outputs: Sequence[Block],
        **options: Any,
    ) -> Dependency:
        """Connect an event with a job. When the page shows all of it, it also says if it was stopped too late."""
        started = event(self.handler(work), inputs, outputs, **options)
        started.then(*self._say, **IMMEDIATE_EVENT)
        return started

    def handler(self, work: Callable[..., Iterator[Updates]], *, follows: bool = False) -> Any:
        """The handler of an event: ``work`` with the stop button while it runs, and an error message when it fails.
        ``follows``: a follow-up job, which does nothing when the job before it was stopped."""

        def job(*values: Any) -> Iterator[Updates]:
            visitor = values[0][self._context.visitor] if isinstance(values[0], Mapping) else values[0]
            session = self._context.sessions.get(visitor)
            jobs, name = session.jobs, self._name
            if follows and name in jobs.stopped:
                return
            asked = jobs.stop_requests[name]
            with session.lock:
                jobs.running[name] += 1
                jobs.stopped.pop(name, None)
            try:
                with self._while_running(), closing(self._with_model(session, work(*values))) as steps:
                    yield {**self._show_button(True), self._context.error_banner: ""}
                    finished = False
                    for update in steps:
                        finished = finished or isinstance(update, Finished)
                        if jobs.stop_requests[name] != asked and not finished:
                            break
                        yield update
            finally:
                with session.lock:
                    jobs.running[name] -= 1
                    cut = jobs.stop_requests[name] != asked
                    if cut:
                        jobs.stopped[name] = ""
            last: Updates = {}
            if cut:
                last = {self._context.status: TOO_LATE} if finished else self._on_stopped(session)
                jobs.stopped[name] = last.get(self._context.status, "")
            yield {**last, **self._show_button(False)}

        job.__qualname__ = getattr(work, "__qualname__", "job")  # its name in the log
        safe = notice.handle_errors(
            self._context.error_banner, lambda: {self._context.status: REFUSED, **self._show_button(False)}
        )
        return safe(job)

    def _with_model(self, session: Session, work: Iterator[Updates]) -> Generator[Updates, None, None]:
        """The job once its model is loaded."""
        for waited in loading_steps(self._context.engine_of(session)):
            yield {self._context.status: notice.progress_html(f"{LOADING} ({waited:.0f} s so far)", 0)}
        yield from work

    def _show_button(self, visible: bool) -> Updates:
        return {self._button: gr.update(visible=visible)}

    def _on_stop(self, visitor: str) -> Updates:
        jobs = self._context.sessions.get(visitor).jobs
        jobs.stop_requests[self._name] += 1
        if not jobs.running[self._name]:  # it ended meanwhile
            jobs.stopped.setdefault(self._name, TOO_LATE)
            return {self._context.status: jobs.stopped[self._name], **self._show_button(False)}
        return {self._context.status: notice.done_html(STOPPING), **self._show_button(False)}

    def _last_words(self, visitor: str) -> Updates:
        """The page shows that the job stops, or all that the job drew. If its last words came before that: again."""
        said = self._context.sessions.get(visitor).jobs.stopped.get(self._name)
        return {self._context.status: said} if said else {}
