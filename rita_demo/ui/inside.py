"""The second tab, *Inside RITA*: one decision open to the touch, clean and attacked side by side.

It shares the one selection with every other tab. Its figures are drawn only while it is in sight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo.records import Story
from rita_demo.settings import PAPER, RECOMMENDED
from rita_demo.ui import compare, inside_words, notice, what_if
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, Desk
from rita_demo.ui.inside_panels import draw_panels, when_open
from rita_demo.ui.plotly_view import clicked
from rita_demo.ui.scrubber import draw_scrubber, wire_scrubber
from rita_demo.ui.sessions import SIDES, Session
from rita_demo.ui.sprite import chosen as chosen_view


class Inside:
    """The tab. Build it inside ``gr.Tab``; ``parts`` holds its components by name."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        board = desk.board
        strip = gr.HTML(elem_id="inside-strip")
        board.add(strip, when_open(inside_words.strip), "inside")
        self.scrubber = draw_scrubber(board, "in-scrubber", "inside")
        self.parts: dict[str, Any] = what_if.draw_what_if(board)
        self.parts |= draw_panels(board)
        self._draw_comparisons()

    def _draw_comparisons(self) -> None:
        board = self.desk.board
        gr.HTML("<h2 class='story'>The paper’s settings against the recommended ones</h2>")
        with gr.Row(elem_classes="whatif-row"):
            effects = gr.Button("What does each change here?", size="sm", elem_id="preset-effects")
            paper = gr.Button("Show with the paper’s", size="sm", elem_id="preset-paper")
            recommended = gr.Button("Show with the recommended", size="sm", elem_id="preset-ours")
        table = gr.HTML(elem_id="preset-table")
        board.add(table, lambda _: inside_words.PRESETS_EMPTY)
        gr.HTML("<h2 class='story'>One pinned state to compare with</h2>")
        with gr.Row(elem_classes="whatif-row"):
            pin = gr.Button("Pin what is shown", size="sm", elem_id="pin")
            unpin = gr.Button("Unpin", size="sm", elem_id="unpin")
        pinned = gr.HTML(elem_id="pinned")
        board.add(pinned, when_open(compare.pinned_table), "class", "inside")
        self.parts |= {
            "effects": effects, "paper": paper, "recommended": recommended, "table": table,
            "pin": pin, "unpin": unpin,
        }  # fmt: skip

    def wire(self, here: gr.Tab, others: list[gr.Tab]) -> None:
        """Connect the events; call it once every panel of every tab is on the board."""
        p, visitor = self.parts, self.desk.visitor
        events: list[tuple[Any, Any, list[Any]]] = [
            (here.select, self.opened, [visitor]),
            *((tab.select, self.left, [visitor]) for tab in others),
            *((p[f"grid_{s}"].click, self.on_grid(s), [visitor]) for s in SIDES),
            *((p[f"entropies_{s}"].click, self.on_view, [visitor]) for s in SIDES),
            *((p[f"{m}_{s}"].click, self.on_cell, [visitor]) for m in ("cost", "plan") for s in SIDES),
            *((p[f"mass_{s}"].click, self.on_mass, [visitor]) for s in SIDES),
            (p["prompts"].click, self.on_prompt, [visitor]),
            (p["costs"].click, self.on_class, [visitor]),
            (p["before_after"].click, self.on_class, [visitor]),
            (p["looked_at"].input, self.pick_class, [visitor, p["looked_at"]]),
            *((c.input, self.on_knob(n), [visitor, c]) for n, c in p["knobs"].items()),
            (p["truth"].input, self.on_truth, [visitor, p["truth"]]),
            (p["view"].click, self.changing(what_if.toggle_view), [visitor]),
            (p["prompt"].click, self.changing(what_if.toggle_prompt), [visitor]),
            (p["back"].click, self.back, [visitor]),
            (p["paper"].click, self.preset(PAPER), [visitor]),
            (p["recommended"].click, self.preset(RECOMMENDED), [visitor]),
            (p["effects"].click, self.effects, [visitor]),
            (p["pin"].click, self.pin, [visitor]),
            (p["unpin"].click, self.unpin, [visitor]),
        ]  # fmt: skip
        wire_scrubber(self.desk, self.scrubber)
        safe = notice.guarded(self.desk.notice)
        for event, handler, inputs in events:
            event(safe(handler), inputs, self.desk.outputs(), **AT_ONCE)

    # --- coming and going
    def opened(self, visitor: Any) -> Updates:
        """The tab comes into sight: cut the crops of both sides, and draw everything."""
        session = self.desk.sessions.get(visitor)
        session.inside = True
        self.desk.cut_views(session, *SIDES)
        what_if.follow(self.desk.engine_of(session), session)
        return self.desk.board.redraw(session, "inside")

    def left(self, visitor: Any) -> Updates:
        """Another tab is in sight: these figures need not be drawn."""
        if not visitor:  # the first tab is "chosen" while the page still opens, before a session
            return {}
        session = self.desk.sessions.get(visitor)
        session.inside, behind, session.behind = False, session.behind, False
        return self.desk.board.redraw(session, "step") if behind else {}

    # --- the one selection
    def _select(self, session: Session, *aspects: str, **changes: Any) -> Updates:
        session.select(**changes)
        return self.desk.board.redraw(session, *aspects)

    def _story(self, visitor: Any) -> tuple[Session, Story | None]:
        session = self.desk.sessions.get(visitor)
        return session, session.story

    def on_grid(self, side: str) -> Callable[[Any, gr.EventData], Updates]:
        """A view of one side's grid was chosen."""

        def handler(visitor: Any, event: gr.EventData) -> Updates:
            session, story = self._story(visitor)
            n = chosen_view(event, len(story.attacked.glance.features)) if story else None
            if n is None:
                return {}
            updates = self._select(session, "view", view=n, atom=None)
            updates.pop(self.parts[f"grid_{side}"], None)  # it has already shown the choice itself
            return updates

        return handler

    def on_view(self, visitor: Any, event: gr.EventData) -> Updates:
        """A bar of the entropies was clicked."""
        session, n, _ = self._clicked(visitor, event)
        return {} if n is None else self._select(session, "view", view=n, atom=None)

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

    def _clicked(self, visitor: Any, event: gr.EventData) -> tuple[Session, int | None, Any]:
        session, story = self._story(visitor)
        click = clicked(event)
        if story is None or click is None:
            return session, None, None
        return session, click.integer(0, len(story.attacked.glance.features)), click

    def on_prompt(self, visitor: Any, event: gr.EventData) -> Updates:
        """A prompt's bar was clicked."""
        session, story = self._story(visitor)
        click, k = clicked(event), session.selection.k
        if story is None or click is None or k is None:
            return {}
        m = click.integer(0, len(story.bank.prompts[k]))
        return {} if m is None else self._select(session, "view", atom=m)

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

    # --- what if
    def changing(self, work: Callable[[Any, Session], None]) -> Callable[[Any], Updates]:
        """An event that decides again by ``work(engine, session)``."""

        def handler(visitor: Any) -> Updates:
            session = self.desk.sessions.get(visitor)
            work(self.desk.engine_of(session), session)
            return {self.desk.notice: "", **self.desk.board.redraw(session, "inside")}

        return handler

    def on_knob(self, name: str) -> Callable[[Any, Any], Updates]:
        """A setting was moved."""

        def handler(visitor: Any, value: Any) -> Updates:
            def work(engine: Any, session: Session) -> None:
                if session.story is None:
                    raise what_if.NOT_YET
                now = what_if.settings_of(session).but(**{name: what_if.from_control(name, value)})
                what_if.change(engine, session, settings=now)

            updates = self.changing(work)(visitor)
            updates.pop(self.parts["knobs"][name], None)  # the hand is on it
            return updates

        return handler

    def on_truth(self, visitor: Any, name: Any) -> Updates:
        """Another class counts as right."""
        _, story = self._story(visitor)
        if story is None or name not in story.bank.names:
            return {}
        label = story.bank.names.index(name)
        return self.changing(lambda e, s: what_if.change(e, s, label=label))(visitor)

    def back(self, visitor: Any) -> Updates:
        """One click back to the run."""
        session = self.desk.sessions.get(visitor)
        session.what_if = type(session.what_if)()
        return {self.desk.notice: "", **self.desk.board.redraw(session, "inside")}

    # --- comparisons
    def preset(self, settings: Any) -> Callable[[Any], Updates]:
        """Every setting that can follow at once, as in a preset."""

        def work(engine: Any, session: Session) -> None:
            if session.story is None:
                raise what_if.NOT_YET
            wanted = compare.as_preset(session.story.settings, settings)
            what_if.change(engine, session, settings=wanted)

        return self.changing(work)

    def effects(self, visitor: Any) -> Updates:
        """What each setting in which the presets differ changes on this picture."""
        session, story = self._story(visitor)
        if story is None:
            raise what_if.NOT_YET
        return {
            self.parts["table"]: compare.preset_table(self.desk.engine_of(session), story),
            self.desk.notice: "",
        }

    def pin(self, visitor: Any) -> Updates:
        """Keep what is seen."""
        session = self.desk.sessions.get(visitor)
        compare.pin(session)
        self.desk.sessions.fit()
        return self.desk.board.redraw(session, "inside")

    def unpin(self, visitor: Any) -> Updates:
        """Forget it."""
        session = self.desk.sessions.get(visitor)
        session.pinned = None
        return self.desk.board.redraw(session, "inside")
