"""One selection in every tab: what is clicked or picked becomes what is looked at.

What a browser reports is written by strangers: anything that names nothing changes nothing.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from rita_demo.records import Story
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import Desk
from rita_demo.ui.in_turn import InTurn
from rita_demo.ui.plotly_view import Click, clicked
from rita_demo.ui.sessions import Session
from rita_demo.ui.sprite import chosen

NO_CLICK = Click(0, 0, None, None, ())


class Choosing:
    """The touches that several tabs understand alike; a tab that shows a story inherits them."""

    desk: Desk
    in_turn: InTurn

    def _select(self, session: Session, *aspects: str, **changes: Any) -> Updates:
        session.select(**changes)
        return self.in_turn.first(session, *aspects)

    def _story(self, visitor: Any) -> tuple[Session, Story | None]:
        session = self.desk.sessions.get(visitor)
        return session, session.story

    def _clicked(self, visitor: Any, event: gr.EventData) -> tuple[Session, int | None, Click]:
        """The visitor, the view that the click names first, if any, and the click."""
        session, story = self._story(visitor)
        click = clicked(event) or NO_CLICK
        n = click.integer(0, len(story.attacked.glance.features)) if story else None
        return session, n, click

    def on_view(self, visitor: Any, event: gr.EventData) -> Updates:
        """A view was chosen in a figure."""
        session, n, _ = self._clicked(visitor, event)
        return {} if n is None else self._select(session, "view", view=n, atom=None)

    def on_grid(self, visitor: Any, event: gr.EventData) -> Updates:
        """A view was chosen in a grid, which shows the choice itself."""
        session, story = self._story(visitor)
        n = chosen(event, len(story.attacked.glance.features)) if story else None
        return {} if n is None else self._select(session, "view", view=n, atom=None)

    def on_class(self, visitor: Any, event: gr.EventData) -> Updates:
        """A class's mark was clicked."""
        session, story = self._story(visitor)
        click = clicked(event)
        k = click.integer(0, len(story.bank.names)) if story is not None and click else None
        return {} if k is None else self._select(session, "class", k=k, atom=None)

    def pick_class(self, visitor: Any, name: Any) -> Updates:
        """A class was chosen from the list."""
        session, story = self._story(visitor)
        if story is None or name not in story.bank.names:
            return {}
        return self._select(session, "class", k=story.bank.names.index(name), atom=None)
