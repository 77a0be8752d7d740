"""Long jobs with a stop button. A job checks at every yield whether it was stopped; nothing of it arrives later, and a
follow-up job is not started. (Gradio's own ``cancels`` would report success and start the follow-up.)"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import gradio as gr
from gradio.blocks import Block
from gradio.events import Dependency

from rita_demo.engine.loading import LOADING, loading_steps
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext
from rita_demo.ui.framework.panels import Inputs, Updates
from rita_demo.ui.session.session import Session

STOPPING = "Stopping …"
REFUSED = notice.done_html("Not done: the message above says why.")


class Finished(dict[Block, Any]):
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
        self._context, self._button, self._name, self._label = context, button, str(button.elem_id), button.value
        self._on_stopped, self._while_running = on_stopped, while_running
        safe = notice.handle_errors(context.error_banner)
        button.click(safe(self._on_stop), context.visitor, [context.error_banner, button], **IMMEDIATE_EVENT)

    def bind_event(
        self,
        event: Callable[..., Dependency],
        work: Callable[..., Iterator[Updates]],
        inputs: Inputs,
        outputs: Sequence[Block],
        **options: Any,
    ) -> Dependency:
        """Connect an event with a job."""
        return event(self.handler(work), inputs, outputs, **options)

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
                jobs.stopped.discard(name)
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
                        jobs.stopped.add(name)
            last: Updates = {}
            if cut and not finished:
                last = self._on_stopped(session)
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
        return {self._button: gr.update(visible=visible, value=self._label, interactive=True)}

    def _on_stop(self, visitor: str) -> Updates:
        """The button says that the job stops; the job hides it, whichever comes first."""
        jobs = self._context.sessions.get(visitor).jobs
        jobs.stop_requests[self._name] += 1
        if not jobs.running[self._name]:  # it ended meanwhile: nothing follows it
            jobs.stopped.add(self._name)
            return {}
        return {self._button: gr.update(value=STOPPING, interactive=False)}
