"""A run that another room asks for: it is computed and put on screen, the form is what gives it, and a room that shows it comes
to the front."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component
from gradio.events import Dependency

from rita_demo.data.pictures import png_bytes
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records import Run
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import LONG_EVENT, AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.session import STORY, Session


@dataclass(frozen=True)
class RunOpener:
    """``tabs`` holds all rooms; ``run`` computes a request and puts it on screen with updates of ``story``.
    ``fill_form`` fills the form in with what gives a run, of a sample or not."""

    context: AppContext
    tabs: gr.Tabs
    story: Component
    run: Callable[[Session, RunRequest], Iterator[Updates]]
    fill_form: Callable[[Session, Run, str | None], None]

    def bind_event(
        self, event: Callable[..., Dependency], handler: Callable[..., Iterator[Updates]], *outputs: Block
    ) -> None:
        """Connect an event whose handler yields :meth:`steps`, and perhaps updates of ``outputs``."""
        context = self.context
        safe = notice.handle_errors(context.error_banner, lambda: {context.status: ""})
        shown = context.outputs(context.run_shown, self.tabs, self.story, *outputs)
        event(safe(handler), context.visitor, shown, **LONG_EVENT)

    def steps(
        self, session: Session, find: Callable[[], RunRequest], room: str = STORY, what: str = "The run"
    ) -> Iterator[Updates]:
        """Run the request that ``find`` gives, and show it in ``room``; until then *Inside* says that ``what`` is
        being computed. If that fails, the visitor's model and memory are those of before, whatever ``find`` changed."""
        before = session.model, session.memories
        with self.context.activity.track_job():
            session.inside.awaited = what
            try:
                waiting = notice.progress_html(f"{what} is being computed …", 0, stale=True)
                changed = self.context.changed(session, "inside")
                yield {self.context.error_banner: "", self.context.status: waiting, **changed}
                request = find()
                to_front: dict[Any, Any] = {self.tabs: gr.update(selected=room)}
                yield to_front
                yield from self.run(session, request)
                assert session.run is not None
                chosen, sample = session.attack_defend, request.sample
                # the form asks what was run: its picture is the next one's, too
                chosen.sample, chosen.source = sample, None if sample else png_bytes(session.run.clean.picture.pixels)
                self.fill_form(session, session.run, sample)
                yield self.context.changed(session, "form")
            except BaseException as error:
                session.model, session.memories = before
                session.inside.awaited = ""
                if isinstance(error, Exception):
                    yield self.context.changed(session, "inside")
                raise
