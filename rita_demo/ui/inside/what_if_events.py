"""The events of the what-if, of the comparison of the presets and of the pinned state."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo.settings import PAPER, RECOMMENDED
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import ENGINE_QUEUE, AppContext
from rita_demo.ui.framework.panels import PanelRegistry, Updates
from rita_demo.ui.framework.two_stage_update import TwoStageUpdate
from rita_demo.ui.inside import comparisons, what_if
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.blocks import build_fold

#: Events that encode sentences or views again take seconds: one at a time, through the engine's queue.
LONG_EVENT: dict[str, Any] = ENGINE_QUEUE | {"show_progress": "minimal", "api_visibility": "private"}
PRESETS_EMPTY = (
    "<p class='empty'>The paper leaves some settings open and prints others that rarely work here. "
    "This lists each one that differs, why, and what changing it alone does to this picture.</p>"
)


def build_comparisons(panels: PanelRegistry) -> dict[str, Any]:
    """The paper's settings against the recommended ones, and the pinned state; returns the components by name."""
    with build_fold("Which settings differ from the paper’s?"):
        with gr.Row(elem_classes="whatif-row"):
            effects = gr.Button("What does each change here?", size="sm", elem_id="preset-effects")
            paper = gr.Button("Show with the paper’s", size="sm", elem_id="preset-paper")
            recommended = gr.Button("Show with the recommended", size="sm", elem_id="preset-ours")
        table = gr.HTML(elem_id="preset-table")
        panels.add(table, lambda _: PRESETS_EMPTY)
    with build_fold("How does it compare with another state?"):
        with gr.Row(elem_classes="whatif-row"):
            pin = gr.Button("Pin what is shown", size="sm", elem_id="pin")
            unpin = gr.Button("Unpin", size="sm", elem_id="unpin")
        panels.add(gr.HTML(elem_id="pinned"), comparisons.pinned_table, "class", "inside")
    return {"effects": effects, "paper": paper, "recommended": recommended, "table": table, "pin": pin, "unpin": unpin}


class WhatIfEvents:
    """The events; ``parts`` are the tab's components by name."""

    def __init__(self, context: AppContext, parts: dict[str, Any], two_stage: TwoStageUpdate) -> None:
        self.context, self.parts, self.two_stage = context, parts, two_stage

    def bind_events(self) -> None:
        """Connect the events, after the panels of all tabs are registered."""
        p, visitor = self.parts, self.context.visitor
        for name, control in p["settings"].items():
            setting, inputs = self.on_setting(name), [visitor, control]
            self.two_stage.bind_event(control.input, setting, inputs, "inside", active=self._active)
        quick: list[tuple[Any, Any, list[Any]]] = [
            (p["truth"].input, self.on_truth, [visitor, p["truth"]]),
            (p["view"].click, self.deciding_again(what_if.toggle_view), [visitor]),
            (p["prompt"].click, self.deciding_again(what_if.toggle_prompt), [visitor]),
            (p["item"].click, self.deciding_again(what_if.toggle_cache_item), [visitor]),
            (p["back"].click, self.on_back, [visitor]),
            (p["paper"].click, self.on_preset(PAPER), [visitor]),
            (p["recommended"].click, self.on_preset(RECOMMENDED), [visitor]),
            (p["pin"].click, self.on_pin, [visitor]),
            (p["unpin"].click, self.on_unpin, [visitor]),
        ]
        safe = notice.handle_errors(self.context.error_banner)
        for event, handler, inputs in quick:
            self.two_stage.bind_event(event, handler, inputs, "inside")
        p["effects"].click(
            safe(self.on_effects),
            visitor,
            [self.context.error_banner, p["table"]],
            **LONG_EVENT | {"show_progress": "full", "show_progress_on": p["table"]},
        )
        p["steps"].input(
            safe(self.on_steps),
            [visitor, p["steps"]],
            self.context.outputs_of("inside", tab="inside"),
            trigger_mode="always_last",
            **LONG_EVENT,
        )

    @property
    def _active(self) -> list[Any]:
        """The controls of the settings. They are not redrawn: the visitor may already be moving the next one."""
        return [*self.parts["settings"].values(), self.parts["steps"]]

    def deciding_again(self, work: Callable[[Any, Session], None]) -> Callable[[Any], Updates]:
        """An event that decides again by ``work(engine, session)``."""

        def handler(visitor: Any) -> Updates:
            session = self.context.sessions.get(visitor)
            with session.lock:  # nothing else may change the session meanwhile
                work(self.context.engine_of(session), session)
            return {self.context.error_banner: "", **self.two_stage.immediate(session, "inside")}

        return handler

    def on_setting(self, name: str) -> Callable[[Any, Any], Updates]:
        """The event of a changed setting."""

        def handler(visitor: Any, value: Any) -> Updates:
            def work(engine: Any, session: Session) -> None:
                now = what_if.settings_of(session).replace(**{name: what_if.from_control(name, value)})
                what_if.change(engine, session, settings=now)

            return self.deciding_again(work)(visitor)

        return handler

    def on_steps(self, visitor: Any, value: Any) -> Updates:
        """Another number of tuning steps, which takes a second or two."""
        first = self.on_setting("tuning_steps")(visitor, value)
        active = {id(control) for control in self._active}
        rest = self.two_stage.deferred(self.context.sessions.get(visitor))
        return first | {c: update for c, update in rest.items() if id(c) not in active}

    def on_truth(self, visitor: Any, name: Any) -> Updates:
        """Another class counts as right."""
        run = self.context.sessions.get(visitor).run
        if run is None or name not in run.class_prompts.names:
            return {}
        label = run.class_prompts.names.index(name)
        return self.deciding_again(lambda engine, session: what_if.change(engine, session, label=label))(visitor)

    def on_back(self, visitor: Any) -> Updates:
        """Back to the run."""
        session = self.context.sessions.get(visitor)
        session.inside.what_if = type(session.inside.what_if)()
        return {self.context.error_banner: "", **self.two_stage.immediate(session, "inside")}

    # --- comparisons
    def on_preset(self, settings: Any) -> Callable[[Any], Updates]:
        """The event that applies every setting of a preset that needs no new run."""

        def work(engine: Any, session: Session) -> None:
            if session.run is None:
                raise what_if.NO_PICTURE
            wanted = comparisons.as_preset(session.run.settings, settings)
            what_if.change(engine, session, settings=wanted)

        return self.deciding_again(work)

    def on_effects(self, visitor: Any) -> Updates:
        """What each setting in which the presets differ changes on this picture."""
        session = self.context.sessions.get(visitor)
        if session.run is None:
            raise what_if.NO_PICTURE
        table = comparisons.preset_table(self.context.engine_of(session), session.run)
        return {self.parts["table"]: table, self.context.error_banner: ""}

    def on_pin(self, visitor: Any) -> Updates:
        """Pin the displayed run."""
        session = self.context.sessions.get(visitor)
        comparisons.pin(session)
        self.context.sessions.evict()
        return self.two_stage.immediate(session, "inside")

    def on_unpin(self, visitor: Any) -> Updates:
        """Drop the pinned state."""
        session = self.context.sessions.get(visitor)
        session.inside.pinned = None
        return self.two_stage.immediate(session, "inside")
