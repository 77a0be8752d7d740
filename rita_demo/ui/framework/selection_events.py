"""One selection in every tab: handlers of clicks and menus. Events are untrusted: an invalid one changes nothing."""

from typing import Any

import gradio as gr

from rita_demo.records import Run
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.two_stage_update import TwoStageUpdate
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.plotly_view import Click, clicked, clicked_integer
from rita_demo.ui.widgets.views_grid import clicked_view

NO_CLICK = Click(0, 0, None, None, ())


class SelectionEvents:
    """Handlers that several tabs share; a tab that shows a run inherits them."""

    context: AppContext
    two_stage: TwoStageUpdate

    def _select(self, session: Session, *topics: str, **changes: Any) -> Updates:
        session.select(**changes)
        return self.two_stage.immediate(session, *topics)

    def _session_and_run(self, visitor: Any) -> tuple[Session, Run | None]:
        session = self.context.sessions.get(visitor)
        return session, session.run

    def _clicked_view(self, visitor: Any, event: gr.EventData) -> tuple[Session, int | None, Click]:
        """The session, the view that the click's first number names (or None), and the click."""
        session, run = self._session_and_run(visitor)
        click = clicked(event) or NO_CLICK
        n = click.integer(0, len(run.attacked.encoded_views.features)) if run else None
        return session, n, click

    def on_view(self, visitor: Any, event: gr.EventData) -> Updates:
        session, n, _ = self._clicked_view(visitor, event)
        return {} if n is None else self._select(session, "view", view=n, atom=None)

    def on_grid(self, visitor: Any, event: gr.EventData) -> Updates:
        session, run = self._session_and_run(visitor)
        n = clicked_view(event, len(run.attacked.encoded_views.features)) if run else None
        return {} if n is None else self._select(session, "view", view=n, atom=None)

    def on_class(self, visitor: Any, event: gr.EventData) -> Updates:
        session, run = self._session_and_run(visitor)
        k = clicked_integer(event, len(run.class_prompts.names) if run else 0)
        return {} if k is None else self._select(session, "class", k=k, atom=None)

    def pick_class(self, visitor: Any, name: Any) -> Updates:
        session, run = self._session_and_run(visitor)
        if run is None or name not in run.class_prompts.names:
            return {}
        return self._select(session, "class", k=run.class_prompts.names.index(name), atom=None)
