"""A run that another tab asks for: it is computed and put on screen, the form of the first tab is what gives it, and a tab
that shows it comes to the front."""

from collections.abc import Callable, Iterator, Sequence
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
from rita_demo.ui.framework.context import BACKGROUND_EVENT, LONG_EVENT, AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.session import HOME_TAB, Session


@dataclass(frozen=True)
class RunOpener:
    """``tabs`` holds all tabs; ``run`` computes a request and puts it on screen, and the handler
    ``start_background_work`` does what follows. ``show_form`` gives updates of ``form``, the components of the first tab,
    for a run and its sample."""

    context: AppContext
    tabs: gr.Tabs
    run: Callable[[Session, RunRequest], Iterator[Updates]]
    start_background_work: Callable[[str], Iterator[Updates]]
    show_form: Callable[[Run, str | None], Updates]
    form: Sequence[Component]

    def bind_event(
        self, event: Callable[..., Dependency], handler: Callable[..., Iterator[Updates]], *outputs: Block
    ) -> None:
        """Connect an event whose handler yields :meth:`steps`, and perhaps updates of ``outputs``."""
        context, everywhere = self.context, self.context.outputs(self.tabs, *self.form, *outputs)
        safe = notice.handle_errors(context.error_banner, lambda: {context.status: ""})
        opened = event(safe(handler), context.visitor, everywhere, **LONG_EVENT)
        opened.success(safe(self.start_background_work), context.visitor, everywhere, **BACKGROUND_EVENT)

    def steps(
        self, session: Session, find: Callable[[], RunRequest], tab: str = HOME_TAB, what: str = "The run"
    ) -> Iterator[Updates]:
        """Run the request that ``find`` gives, and show it in ``tab``; until then *Inside RITA* says that ``what`` is
        being computed. If that fails, the visitor's model and memory are those of before, whatever ``find`` changed."""
        before = session.model, session.memories
        with self.context.activity.track_job():
            session.inside.awaited = what
            try:
                waiting = notice.progress_html(f"{what} is being computed …", 0, stale=True)
                drawn = self.context.panels.redraw(session, "inside")
                yield {self.context.error_banner: "", self.context.status: waiting, **drawn}
                request = find()
                to_front: dict[Any, Any] = {self.tabs: gr.update(selected=tab)}
                # The tab is drawn here: what its own event of being opened sends could arrive after the run.
                yield to_front | self.context.panels.open_tab(session, tab)
                yield from self.run(session, request)
                yield self._follow(session, request)
            except BaseException as error:
                session.model, session.memories = before
                session.inside.awaited = ""
                if isinstance(error, Exception):
                    yield self.context.panels.redraw(session, "inside")
                raise

    def _follow(self, session: Session, request: RunRequest) -> Updates:
        """The first tab asks what was run: its picture is the next one's, too."""
        assert session.run is not None
        chosen, sample = session.attack_defend, request.sample
        chosen.sample, chosen.source = sample, None if sample else png_bytes(session.run.clean.picture.pixels)
        return self.show_form(session.run, sample)
