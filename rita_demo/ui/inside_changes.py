"""What changes in *Inside RITA*: settings, what is left out, the right class, the presets, the pinned state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo.settings import PAPER, RECOMMENDED
from rita_demo.ui import compare, inside_words, notice, what_if
from rita_demo.ui.board import Board, Updates
from rita_demo.ui.desk import ENGINE_QUEUE, Desk
from rita_demo.ui.in_turn import InTurn
from rita_demo.ui.inside_panels import when_open
from rita_demo.ui.sessions import Session

#: Events that encode sentences or views again take seconds: one at a time, through the queue.
LONG: dict[str, Any] = ENGINE_QUEUE | {"show_progress": "minimal", "api_visibility": "private"}


def draw_comparisons(board: Board) -> dict[str, Any]:
    """Paper against recommended, and the pinned state; returns the components by name."""
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
    return {
        "effects": effects, "paper": paper, "recommended": recommended, "table": table,
        "pin": pin, "unpin": unpin,
    }  # fmt: skip


class Changes:
    """The events of the what-if and of the comparisons; ``parts`` are the tab's components by name."""

    def __init__(self, desk: Desk, parts: dict[str, Any], in_turn: InTurn) -> None:
        self.desk, self.parts, self.in_turn = desk, parts, in_turn

    def wire(self) -> None:
        """Connect the events; call it once every panel of every tab is on the board."""
        p, visitor = self.parts, self.desk.visitor
        for name, control in p["knobs"].items():
            knob, inputs = self.on_knob(name), [visitor, control]
            self.in_turn.wire(control.input, knob, inputs, "inside", held=self._held)
        quick: list[tuple[Any, Any, list[Any]]] = [
            (p["truth"].input, self.on_truth, [visitor, p["truth"]]),
            (p["view"].click, self.changing(what_if.toggle_view), [visitor]),
            (p["prompt"].click, self.changing(what_if.toggle_prompt), [visitor]),
            (p["item"].click, self.changing(what_if.toggle_item), [visitor]),
            (p["back"].click, self.back, [visitor]),
            (p["paper"].click, self.preset(PAPER), [visitor]),
            (p["recommended"].click, self.preset(RECOMMENDED), [visitor]),
            (p["pin"].click, self.pin, [visitor]),
            (p["unpin"].click, self.unpin, [visitor]),
        ]
        safe = notice.guarded(self.desk.notice)
        for event, handler, inputs in quick:
            self.in_turn.wire(event, handler, inputs, "inside")
        p["effects"].click(
            safe(self.effects),
            visitor,
            [self.desk.notice, p["table"]],
            **LONG | {"show_progress": "full", "show_progress_on": p["table"]},
        )
        p["steps"].input(
            safe(self.on_steps),
            [visitor, p["steps"]],
            self.desk.outputs_of("inside", tab="inside"),
            trigger_mode="always_last",
            **LONG,
        )

    @property
    def _held(self) -> list[Any]:
        """The settings: a hand is on one, or already on the next one."""
        return [*self.parts["knobs"].values(), self.parts["steps"]]

    def changing(self, work: Callable[[Any, Session], None]) -> Callable[[Any], Updates]:
        """An event that decides again by ``work(engine, session)``."""

        def handler(visitor: Any) -> Updates:
            session = self.desk.sessions.get(visitor)
            with session.lock:  # what it starts from must still hold when it is done
                work(self.desk.engine_of(session), session)
            return {self.desk.notice: "", **self.in_turn.first(session, "inside")}

        return handler

    def on_knob(self, name: str) -> Callable[[Any, Any], Updates]:
        """A setting was moved."""

        def handler(visitor: Any, value: Any) -> Updates:
            def work(engine: Any, session: Session) -> None:
                if session.story is None:
                    raise what_if.NOT_YET
                now = what_if.settings_of(session).but(**{name: what_if.from_control(name, value)})
                what_if.change(engine, session, settings=now)

            return self.changing(work)(visitor)

        return handler

    def on_steps(self, visitor: Any, value: Any) -> Updates:
        """Another number of tuning steps, which takes a second or two."""
        first = self.on_knob("tuning_steps")(visitor, value)
        held = {id(control) for control in self._held}
        rest = self.in_turn.rest(self.desk.sessions.get(visitor))
        return first | {c: update for c, update in rest.items() if id(c) not in held}

    def on_truth(self, visitor: Any, name: Any) -> Updates:
        """Another class counts as right."""
        story = self.desk.sessions.get(visitor).story
        if story is None or name not in story.bank.names:
            return {}
        label = story.bank.names.index(name)
        return self.changing(lambda e, s: what_if.change(e, s, label=label))(visitor)

    def back(self, visitor: Any) -> Updates:
        """One click back to the run."""
        session = self.desk.sessions.get(visitor)
        session.what_if = type(session.what_if)()
        return {self.desk.notice: "", **self.in_turn.first(session, "inside")}

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
        session = self.desk.sessions.get(visitor)
        story = session.story
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
        return self.in_turn.first(session, "inside")

    def unpin(self, visitor: Any) -> Updates:
        """Forget it."""
        session = self.desk.sessions.get(visitor)
        session.pinned = None
        return self.in_turn.first(session, "inside")
