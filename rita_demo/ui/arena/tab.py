"""The tab *Arena*: every defence against every attacker on the picture on screen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape
from typing import Any

import gradio as gr

from rita_demo.defences.registry import DEFENCES, validated
from rita_demo.pipeline.arena import COLUMNS, arena_methods, arena_sentence, arena_steps, masked
from rita_demo.records import Run, Verdict
from rita_demo.records.errors import DemoError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import LONG_EVENT, AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.stoppable import StoppableJob
from rita_demo.ui.session.session import ArenaState, Session
from rita_demo.ui.widgets import wording

NOTE = (
    "† It stands against the attacker who knows it, but not against one who does not: then the first is too weak, and its "
    "answer says nothing."
)


class ArenaTab:
    """Rows are defences, columns attackers."""

    def __init__(self, context: AppContext) -> None:
        self.context = context
        gr.HTML(
            "<h2>Every defence against every attacker</h2><p class='lead'>On the picture of the first tab, at its strength. "
            "Only the last column compares defences: there each one meets an attacker of its own.</p>"
        )
        with gr.Row(elem_classes="toolbar"):
            self.start_button = gr.Button("Fill the arena", elem_id="arena-go", variant="primary")
            self.stop_button = gr.Button("Stop", elem_id="arena-stop", visible=False)
        self.methods = gr.CheckboxGroup(
            [(DEFENCES[name].title, name) for name in arena_methods()],
            value=list(arena_methods()),
            label="Defences",
            elem_id="arena-methods",
        )
        context.panels.add(gr.HTML(elem_id="arena-table"), arena_html, "arena")

    def bind_events(self, own_tab: gr.Tab) -> None:
        """Connect the events, after the panels of all tabs are registered."""
        context = self.context
        context.bind_tab(own_tab)
        job = StoppableJob(context, self.stop_button, self.on_stopped, context.activity.track_job).handler
        outputs = [*context.outputs_of("arena"), self.stop_button]
        self.start_button.click(job(self.fill), [context.visitor, self.methods], outputs, **LONG_EVENT)

    def fill(self, visitor: Any, methods: Any) -> Iterator[Updates]:
        """Fill the table, from cheap to expensive; cells that are known are kept."""
        context, session = self.context, self.context.sessions.get(visitor)
        run, begin = session.run, time.perf_counter()
        if run is None or not isinstance(methods, list) or not methods:
            raise DemoError("The arena needs a picture and at least one defence.", "Run a picture on the first tab.")
        asked = [name for name in arena_methods() if name in validated(methods)]
        known = session.arena.cells if session.arena.run is run else {}
        session.arena = ArenaState(run, tuple(asked), known)
        shown = len(known)
        for at in arena_steps(context.engine_of(session), run, asked, known):
            if session.run is not run:
                return
            now = notice.progress_html(at.sentence, at.fraction, time.perf_counter() - begin)
            update: Updates = {context.status: now}
            if len(at.cells) != shown:
                shown, session.arena = len(at.cells), ArenaState(run, tuple(asked), at.cells)
                update |= context.panels.redraw(session, "arena", tab="arena")
            yield update
        spent = wording.format_seconds(time.perf_counter() - begin)
        yield {context.status: notice.done_html(f"The arena is filled after {spent}.")}

    def on_stopped(self, session: Session) -> Updates:
        return {
            self.context.status: notice.done_html("Stopped. The answers that are there stay."),
            **self.context.panels.redraw(session, "arena", tab="arena"),
        }


def arena_html(session: Session) -> str:
    """The table, and above it one sentence on what it shows."""
    state, run = session.arena, session.run
    if run is None or state.run is not run:
        return "<p class='empty'>Nothing is measured for this picture yet. Press “Fill the arena”: the first columns take seconds, the last a few minutes.</p>"
    head = "".join(f"<th scope='col'>{escape(title)}</th>" for title in COLUMNS.values())
    rows = "".join(_row_html(state, run, name) for name in state.methods)
    note = NOTE if any(masked(state.cells, name, run.label) for name in state.methods) else ""
    truth = escape(run.class_prompts.names[run.label])
    whose = "True class" if run.label_given else "CLIP's answer without an attack, in place of the true class"
    return (
        f"<p class='summary'>{escape(arena_sentence(state.cells, state.methods, run.label))}</p>"
        f"<div class='scroll'><table class='arena'><thead><tr><th scope='col'>defence</th>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div><p class='quiet small'>{whose}: {truth}. Strength "
        f"{run.settings.budget}/255. “Made for another row” is the attack on Ensemble, for Ensemble that on RITA. {note}</p>"
    )


def _row_html(state: ArenaState, run: Run, name: str) -> str:
    cells = "".join(_cell_html(state, run, name, column) for column in COLUMNS)
    return f"<tr><th scope='row'>{escape(DEFENCES[name].title)}</th>{cells}</tr>"


def _cell_html(state: ArenaState, run: Run, name: str, column: str) -> str:
    cell = state.cells.get((name, column))
    if not isinstance(cell, Verdict):
        return f"<td class='empty'>{escape(cell or '…')}</td>"
    right = cell.label == run.label
    mark, kind = ("✓", "good") if right else ("✗", "bad")
    if not run.label_given:
        mark, kind = ("=", "dim") if right else ("≠", "dim")
    flag = " †" if column == "adaptive" and masked(state.cells, name, run.label) else ""
    return (
        f"<td class='outcome {kind}'><span aria-hidden='true'>{mark}</span> {escape(run.class_prompts.names[cell.label])}{flag}"
        f"<small>{escape(wording.margin(cell))}</small></td>"
    )
