"""The second tab, *Inside RITA*: one decision open to the touch, clean and attacked side by side.

It shares the one selection with every other tab. Its figures are drawn only while it is in sight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo.errors import DemoError
from rita_demo.ui import notice, remembered, thread, what_if
from rita_demo.ui.board import Updates
from rita_demo.ui.choosing import Choosing
from rita_demo.ui.desk import AT_ONCE, Desk
from rita_demo.ui.in_turn import InTurn
from rita_demo.ui.inside_changes import Changes, draw_comparisons
from rita_demo.ui.inside_deeper import draw_deeper
from rita_demo.ui.inside_panels import ANY, draw_panels, prompt_names, when_open
from rita_demo.ui.plotly_view import clicked
from rita_demo.ui.scrubber import Scrubber, draw_step, draw_strength, wire_scrubber
from rita_demo.ui.sessions import SIDES


class Inside(Choosing):
    """The tab. Build it inside ``gr.Tab``; ``parts`` holds its components by name."""

    tab = "inside"

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        board = desk.board
        strip = gr.HTML(elem_id="inside-strip")
        board.add(strip, when_open(thread.strip), "inside")
        strength = draw_strength(board, "in-strength")
        self.scrubber = Scrubber(draw_step(board, "in-scrubber", "inside"), strength)
        self.parts: dict[str, Any] = what_if.draw_what_if(board)
        self.parts |= draw_panels(board) | draw_deeper(desk) | draw_comparisons(board)
        self.in_turn = InTurn(desk, self.tab)
        self.changes = Changes(desk, self.parts, self.in_turn)

    def wire(self, asked: gr.Slider, here: gr.Tab, others: list[gr.Tab]) -> None:
        """Connect the events; call it once every panel of every tab is on the board. ``asked`` is the
        form's strength."""
        p, visitor = self.parts, self.desk.visitor
        chosen: list[tuple[Any, Any, list[Any]]] = [
            *((p[f"entropies_{s}"].click, self.on_view, [visitor]) for s in SIDES),
            *((p[f"{m}_{s}"].click, self.on_cell, [visitor]) for m in ("cost", "plan") for s in SIDES),
            *((p[f"mass_{s}"].click, self.on_mass, [visitor]) for s in SIDES),
            (p["prompts"].click, self.on_prompt, [visitor]),
            (p["costs"].click, self.on_class, [visitor]),
            (p["before_after"].click, self.on_class, [visitor]),
            *((p[f"all_views_{s}"].click, self.on_all_views, [visitor]) for s in SIDES),
            *((p[f"all_prompts_{s}"].click, self.on_class, [visitor]) for s in SIDES),
            (p["entropy_change"].click, self.on_view, [visitor]),
            (p["items"].click, self.on_item, [visitor]),
            (p["looked_at"].input, self.pick_class, [visitor, p["looked_at"]]),
            (p["sentence"].input, self.pick_prompt, [visitor, p["sentence"]]),
        ]  # fmt: skip
        wire_scrubber(self.desk, self.scrubber, asked, self.in_turn)
        safe = notice.guarded(self.desk.notice)
        for event, handler, inputs in chosen:
            self.in_turn.wire(event, handler, inputs, "class", "view")
        for side in SIDES:
            grid = p[f"grid_{side}"]
            self.in_turn.wire(grid.click, self.on_grid, [visitor], "class", "view", held=[grid])
        everything = [self.desk.notice, *self.desk.board.of_tab(self.tab)]
        here.select(safe(self.opened), visitor, everything, **AT_ONCE)
        for tab in others:
            tab.select(safe(self.left), visitor, self.desk.notice, **AT_ONCE)
        for fold, is_open in ((p["overview"].expand, True), (p["overview"].collapse, False)):
            fold(
                safe(self.unfolded(is_open)), visitor, [self.desk.notice, *self._folded], **AT_ONCE
            )
        self.changes.wire()

    # --- coming and going
    def opened(self, visitor: Any) -> Updates:
        """The tab comes into sight: cut the crops of both sides, and draw everything."""
        session = self.desk.sessions.get(visitor)
        session.inside = session.behind = True
        self.desk.cut_views(session, *SIDES)
        what_if.follow(self.desk.engine_of(session), session)
        return self.desk.board.only(session, self.desk.board.of_tab(self.tab))

    def left(self, visitor: Any) -> Updates:
        """Another tab is in sight: these figures need not be drawn."""
        if not visitor:  # the first tab is "chosen" while the page still opens, before a session
            return {}
        self.desk.sessions.get(visitor).inside = False
        return {}

    # --- what only this tab shows
    def on_cell(self, visitor: Any, event: gr.EventData) -> Updates:
        """A cell of the cost matrix or the plan was clicked."""
        session, n, click = self._clicked(visitor, event)
        k = session.selection.k
        if n is None or k is None or session.story is None:
            return {}
        m = click.integer(1, len(session.story.bank.prompts[k]))
        return {} if m is None else self._select(session, "view", view=n, atom=m)

    def on_mass(self, visitor: Any, event: gr.EventData) -> Updates:
        """A cell of views times classes was clicked: both are chosen."""
        session, n, click = self._clicked(visitor, event)
        if n is None or session.story is None:
            return {}
        k = click.integer(1, len(session.story.bank.names))
        return {} if k is None else self._select(session, "view", "class", view=n, k=k, atom=None)

    def on_prompt(self, visitor: Any, event: gr.EventData) -> Updates:
        """A prompt's bar was clicked."""
        session, story = self._story(visitor)
        click, k = clicked(event), session.selection.k
        if story is None or click is None or k is None:
            return {}
        m = click.integer(0, len(story.bank.prompts[k]))
        return {} if m is None else self._select(session, "view", atom=m)

    def pick_prompt(self, visitor: Any, name: Any) -> Updates:
        """A prompt was chosen from the list, or none."""
        session, story = self._story(visitor)
        k = session.selection.k
        if story is None or k is None:
            return {}
        names = [ANY, *prompt_names(story, k)]
        if name not in names:
            return {}
        return self._select(session, "view", atom=names.index(name) - 1 if name != ANY else None)

    def on_all_views(self, visitor: Any, event: gr.EventData) -> Updates:
        """A cell of views times all classes was clicked: both are chosen."""
        session, story = self._story(visitor)
        click = clicked(event)
        if story is None or click is None:
            return {}
        N = len(story.attacked.glance.features)
        code = click.integer(0, N * len(story.bank.names))
        if code is None:
            return {}
        return self._select(session, "view", "class", view=code % N, k=code // N, atom=None)

    def on_item(self, visitor: Any, event: gr.EventData) -> Updates:
        """A remembered view was chosen: the memory's tab goes to the latest moment that held it."""
        session = self.desk.sessions.get(visitor)
        place = remembered.read(event, session)
        if place is None:
            return {}
        found = remembered.shown_at(session, place)
        if found is None:
            raise DemoError("The memory's history no longer holds this view.", "Choose another.")
        item, moment = found
        last = moment == len(session.history.entries) - 1
        changes = {"item": item, "moment": None if last else moment, "k": place[0]}
        return self._select(session, "memory", "class", **changes)

    def unfolded(self, is_open: bool) -> Callable[[Any], Updates]:
        """The fold with all classes was opened or closed."""

        def handler(visitor: Any) -> Updates:
            session = self.desk.sessions.get(visitor)
            session.overview = is_open
            return self.desk.board.only(session, self._folded) if is_open else {}

        return handler

    @property
    def _folded(self) -> list[Any]:
        return [c for name, c in self.parts.items() if name.startswith("all_")]
