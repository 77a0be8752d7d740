"""How much on this picture: the smallest strength at which the attacker who knows a defence makes its answer wrong."""

from collections.abc import Iterator
from html import escape
from typing import Any

import gradio as gr

from rita_demo.defences.registry import DEFENCES, compared, default_methods
from rita_demo.pipeline.export import budgets_csv
from rita_demo.pipeline.smallest_budget import MOST, BudgetProbe, BudgetTable, SmallestBudget, budget_table_steps
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import BackboneError, DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.arena.filling import fill
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext, immediate_event
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.stoppable import Finished, StoppableJob
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_heading, html_table, table_row
from rita_demo.ui.widgets.html_buttons import DownloadButtons, download_value

LEAD = (
    "The smallest strength at which the attacker who knows a defence makes its answer on the picture of the Story wrong, in "
    f"the model on screen: up to {MOST} of 255, by halving what is open. Each defence takes about eight attacks."
)
EMPTY = "<p class='empty'>Nothing was searched for this picture yet.</p>"
COLUMNS = (
    "defence",
    "smallest strength",
    "its answer then",
    "SSIM",
    "CIEDE2000",
    "attacks",
    "forward",
    "backward",
    "time",
)
NOTE = (
    "Strength in 1/255. SSIM is 1 for the same picture; CIEDE2000: mean over the pixels, in brackets the largest; about 1 is just "
    "noticeable side by side. Both are of the change that breaks the defence. Forward and backward: pictures that went through "
    "the vision tower in all attacks. A defence that stands may fall to a better attack."
)


class BudgetSection:
    """The section. Build it inside the tab *Arena*."""

    def __init__(self, context: AppContext) -> None:
        self.context, self.export_count = context, 0
        build_heading("How much on this picture?", LEAD)
        titles = [(DEFENCES[name].title, name) for name in compared()]
        self.methods = gr.CheckboxGroup(
            titles, value=list(default_methods()), label="Defences", elem_id="budget-methods"
        )
        with gr.Row(elem_classes="toolbar"):
            self.start_button = gr.Button("Find the smallest strength", elem_id="budget-go")
            self.stop_button = gr.Button("Stop", elem_id="budget-stop", visible=False)
        self.table = context.panels.add(gr.HTML(elem_id="budget-table"), budgets_html, "arena")
        self.export = DownloadButtons({"csv": "Table as CSV"}, elem_id="budget-export")

    def bind_events(self, **queue: Any) -> None:
        """Connect the events; ``queue`` is that of the long one."""
        context, visitor, banner = self.context, self.context.visitor, self.context.error_banner
        job = StoppableJob(context, self.stop_button, self.on_stopped)
        outputs = [banner, context.status, self.table, self.stop_button]
        job.bind_event(self.start_button.click, self.find, [visitor, self.methods], outputs, **queue)
        export = notice.handle_errors(banner)(self.on_export)
        self.export.click(export, visitor, [banner, self.export], **immediate_event(self.on_export))

    def find(self, visitor: str, methods: JsonValue) -> Iterator[Updates]:
        """Find it for each method; what is known is kept."""
        context, session = self.context, self.context.sessions.get(visitor)
        run, time_left = session.run, TimeLeft()
        if run is None or not isinstance(methods, list) or not methods:
            raise DemoError("A picture and at least one defence are needed.", "Run a picture in the Story.")
        asked = [name for name in compared() if name in methods]
        if not context.models.is_loaded(run.backbone.name):
            raise BackboneError("This picture’s model was unloaded for another visitor’s.", "Run the picture again.")
        known = session.budgets if session.budgets is not None and session.budgets.fits(run) else None

        def show(table: BudgetTable) -> Updates:
            session.budgets = table
            return {self.table: budgets_html(session)}

        steps = budget_table_steps(context.models.get(run.backbone.name), run, asked, known)
        if (yield from fill(context, session, steps, time_left, show)):
            spent = wording.format_seconds(time_left.elapsed)
            yield Finished(context.done(f"The smallest strengths are found after {spent}."))

    def on_stopped(self, session: Session) -> Updates:
        stopped = self.context.done("Stopped. The attacks that were made stay: the same button goes on from there.")
        return stopped | {self.table: budgets_html(session)}

    def on_export(self, visitor: str) -> Updates:
        """The table as a file."""
        session = self.context.sessions.get(visitor)
        table = session.budgets
        if table is None or not table.fits(session.run) or not table.found:
            raise DemoError("There is no result to save.", "Press “Find the smallest strength” first.")
        self.export_count += 1
        with self.context.downloads:
            return {self.export: download_value("smallest-strength.csv", budgets_csv(table), self.export_count)}


def budgets_html(session: Session) -> str:
    """HTML: a sentence with the strengths, and a row per method that was asked for."""
    table = session.budgets
    if table is None or not table.fits(session.run):
        return EMPTY
    names = [name for name in compared() if name in table.found or name in table.probes]
    if not names:
        return EMPTY
    rows = [_row(table, name) for name in names]
    shown = html_table(COLUMNS, rows, scrolls="The smallest strength per defence")
    return f"<p class='summary'>{escape(says(table))}</p>{shown}<p class='quiet small'>{NOTE}</p>"


def says(table: BudgetTable) -> str:
    """The strengths in one sentence, the largest first; "" before the first is found."""
    done = [one for one in table.found.values() if isinstance(one, SmallestBudget)]
    parts = []
    for one in sorted(done, key=lambda one: -(table.most + 1 if one.budget is None else one.budget)):
        stands = f"stands up to {one.most}" if one.budget is None else f"falls at {one.budget}"
        parts.append(f"{DEFENCES[one.method].title} {stands if one.budget != 0 else 'is wrong without an attack'}")
    return f"Against an attacker who knows it, in 1/255: {', '.join(parts)}." if parts else ""


def _row(table: BudgetTable, name: str) -> str:
    one, title = table.found.get(name), wording.term_html(DEFENCES[name].title)
    if isinstance(one, str):
        return table_row(title, escape(one), *("–",) * (len(COLUMNS) - 2))
    probes = table.probes.get(name, ()) if one is None else one.probes
    if one is None:
        stood, broke = table.bounds(name)
        strength = f"over {stood}" + (f", at most {broke}" if broke <= table.most else "") + " so far"
    else:
        strength = f"stands up to {one.most}" if one.budget is None else f"<b>{one.budget}</b>"
        strength = "0: wrong without an attack" if one.budget == 0 else strength
    breaking = None if one is None else one.breaking
    cells = _change(table, breaking) if breaking is not None else ("–",) * 3
    counts = [sum(getattr(probe, what) for probe in probes) for what in ("forward", "backward")]
    spent = f"{sum(probe.seconds for probe in probes):.1f} s"
    return table_row(title, strength, *cells, str(len(probes)), *map(str, counts), spent)


def _change(table: BudgetTable, probe: BudgetProbe) -> tuple[str, str, str]:
    change = probe.change
    answer = escape(table.run.class_prompts.names[probe.answer])
    return answer, f"{change.ssim:.4f}", f"{change.ciede2000:.2f} ({change.ciede2000_max:.1f})"
