"""One selection in every room: handlers of clicks, menus and sliders. Events are untrusted: an invalid one changes nothing."""

from typing import Any

import gradio as gr

from rita_demo.pipeline.attack_steps import last_step
from rita_demo.records import Run
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.plotly_view import clicked_integer

#: What another step changes.
STEP_TOPICS = ("step", "inside", "crops")


class SelectionEvents:
    """Handlers that several rooms share; a room that shows a run inherits them."""

    context: AppContext
    room: str

    def _select(self, session: Session, *topics: str, **changes: Any) -> Updates:
        session.select(**changes)
        return self.context.answer(session, self.room, *topics)

    def _session_and_run(self, visitor: str) -> tuple[Session, Run | None]:
        session = self.context.sessions.get(visitor)
        return session, session.run

    def _clicked_view(self, visitor: str, event: gr.EventData) -> tuple[Session, int | None]:
        """The session, and the view that the click's first number names (or None)."""
        session, run = self._session_and_run(visitor)
        return session, clicked_integer(event, len(run.attacked.encoded_views.features) if run else 0)

    def on_view(self, visitor: str, event: gr.EventData) -> Updates:
        """A view was clicked: it is selected, or no longer if it was."""
        session, n = self._clicked_view(visitor, event)
        view = None if n == session.selection.view else n
        return {} if n is None else self._select(session, "view", view=view, atom=None)

    def on_cell(self, visitor: str, event: gr.EventData) -> Updates:
        """A cell of views times prompts was clicked, or the row below it, which selects the view alone."""
        session, n = self._clicked_view(visitor, event)
        k = session.selection.k
        if n is None or k is None or session.run is None:
            return {}
        m = clicked_integer(event, len(session.run.class_prompts.prompts[k]), 1)
        return self._select(session, "view", view=n, atom=m)

    def on_class(self, visitor: str, event: gr.EventData) -> Updates:
        session, run = self._session_and_run(visitor)
        k = clicked_integer(event, len(run.class_prompts.names) if run else 0)
        return {} if k is None else self._select(session, "class", k=k, atom=None)

    def pick_class(self, visitor: str, name: JsonValue) -> Updates:
        session, run = self._session_and_run(visitor)
        if run is None or name not in run.class_prompts.names:
            return {}
        return self._select(session, "class", k=run.class_prompts.names.index(name), atom=None)

    def pick_step(self, visitor: str, step: JsonValue) -> Updates:
        """Show the stored attack step nearest to ``step``."""
        session, run = self._session_and_run(visitor)
        if run is None or run.attack is None or not isinstance(step, int | float) or not abs(step) < 10**6:
            return {}
        return self._select(session, *STEP_TOPICS, step=min(max(round(step), 0), last_step(run)))
