"""Two accordions with what was measured on many pictures: accuracy by budget, and RITA against the plain ensemble.

Their content is constant; missing or damaged measurements are left out.
"""

from html import escape
from pathlib import Path

import gradio as gr
import numpy as np

from rita_demo import analysis, plots
from rita_demo.attacks import ATTACKS
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES, compared
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_fold, html_table, table_row
from rita_demo.ui.widgets.plotly_view import PlotlyView
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

_CURVES_LEAD = f"""Accuracy of the built-in model on validation photographs, by how many steps of 1/255 the
attack may change each pixel. The attacker knows the model, the class names, the prompt and the strength; not the crops,
their seed or the memory. {NOT_ZERO_SHOT}"""
_TABLE_LEAD = f"""<p class="lead">Percent of test pictures that each method still has right, all {{sets}} sets together ({{n}} pictures per
cell, built-in model, its input square, 4/255 where a strength applies). The columns differ in what the attacker knows: most attack CLIP
with one view; the last one knows the method that it attacks. {NOT_ZERO_SHOT}</p>"""
_NONE = "<p class='empty'>No measurements came with this copy; docs/results.md says how to make them.</p>"


def build_measured_folds() -> None:
    """Accuracy against the budget, one curve per method; RITA and the plain ensemble of the same crops by attack."""
    title = "How much does each strength do? Measured on many pictures"
    with build_fold(title, _CURVES_LEAD, elem_id="budget-fold"):
        curves = {square: _measured_cells(path) for square, path in shipped_results.BUDGET_CURVES.items()}
        aria = "Accuracy of CLIP, Ensemble and RITA against the strength of the attack"
        PlotlyView(plots.accuracy_by_budget(curves), aria=aria, height=520, narrow_height=900, elem_id="budget-curves")
    title = "Is RITA better than a plain average of the crops? Measured against several attackers"
    with build_fold(title, elem_id="evidence-fold"):
        gr.HTML(attacker_table(_measured_cells(shipped_results.ATTACKERS)), elem_id="evidence")


def knowing_attacker_text() -> str:
    """What RITA keeps of many pictures against the attacker who knows it; "" where that was not measured."""
    counts = analysis.attacker_table(_measured_cells(shipped_results.ATTACKERS)).get("adaptive", {})
    rita = counts.get("rita")
    if rita is None:
        return ""
    form = "an earlier form of this attacker" if rita.earlier else "this attacker"
    return f" Of {rita.n} test pictures RITA keeps {rita.percent:.0f} % right against {form}."


def _measured_cells(path: Path) -> tuple[MeasuredCell, ...]:
    try:
        return shipped_results.read(path)
    except DataError:
        return ()


def attacker_table(cells: tuple[MeasuredCell, ...]) -> str:
    """HTML: the table, and in words where RITA is above Ensemble, level, and below."""
    table = analysis.attacker_table(cells)
    if not table:
        return _NONE
    order = [name for name in ATTACKS if name in table]
    n, sets = max((t.n, len(t.datasets)) for row in table.values() for t in row.values())
    columns = [f"<span title='{escape(ATTACKS[a].title)}'>{escape(ATTACKS[a].column_title)}</span>" for a in order]
    rows = []
    for method in compared():
        counts = [table[attack].get(method) for attack in order]
        if DEFENCES[method].on_request and not any(counts):
            continue
        fewer = [f"<small>n = {count.n}</small>" if count and count.n != n else "" for count in counts]
        marks = [wording.EARLIER_MARK * count.earlier if count else "" for count in counts]
        shown = (
            f"<b>{count.percent:.0f}</b>{mark}{note}" if count else "–"
            for count, mark, note in zip(counts, marks, fewer)
        )
        rows.append(table_row(escape(DEFENCES[method].full_title), *shown))
    earlier = wording.EARLIER_NOTE * any(cell.by_earlier_attack for cell in cells)
    same_attack = {name: row for name, row in table.items() if name != "adaptive"}  # there every row has its own
    lead = analysis.difference_in_correct(same_attack, "rita", "ensemble")
    return (
        _TABLE_LEAD.format(sets=sets, n=n)
        + html_table(["", *columns], rows, scrolls="Every method against every attacker")
        + f"<p>{_comparison_text(lead, n)}</p><p class='quiet small'>{escape(_masking_text(cells))}{earlier}</p>"
    )


def _masking_text(cells: tuple[MeasuredCell, ...]) -> str:
    """The signs that a defence hides its gradient, beside the accuracies against the attackers who know them."""
    judged = [analysis.JudgedCell(cell) for cell in cells]
    knowing = [one for one in judged if one.cell.attack == "adaptive"]
    others = [one for one in judged if one.cell.attack != "adaptive"]
    signs = {(c.cell.method, c.cell.dataset): analysis.masking_signs(c, knowing, others) for c in knowing}
    found = [f"{DEFENCES[m].full_title} ({d}): {analysis.masking_sentence(s)}" for (m, d), s in signs.items() if any(s)]
    if found or not signs:
        return " ".join(found)
    checked = [q for q, *all_of in zip(analysis.QUESTIONS, *signs.values()) if set(all_of) != {None}]
    if not checked:
        return "Signs of masking in the last column: not checked."
    missing = [q for q in analysis.QUESTIONS if q not in checked]
    unknown = f" Not checked: {' '.join(missing)}" if missing else ""
    rows = sum(any(sign is not None for sign in s) for s in signs.values())
    return (
        f"No sign of masking in {rows} of {len(signs)} cells of the last column. Checked: {' '.join(checked)}{unknown}"
    )


def _comparison_text(lead: dict[str, int], n: int) -> str:
    parts: dict[str, list[str]] = {}
    for attack, more in sorted(lead.items(), key=lambda item: (-np.sign(item[1]), -abs(item[1]))):
        part = {1: "above Ensemble", 0: "level with it", -1: "below it"}[int(np.sign(more))]
        number = f" ({more:+d} pictures)".replace("-", "−") if more else ""
        parts.setdefault(part, []).append(ATTACKS[attack].column_title + number)
    said = "; ".join(f"{part}: {', '.join(listed)}" for part, listed in parts.items())
    return (
        f"Of {n} pictures, RITA is {escape(said)}. Differences of a few pictures are within chance. "
        "Most of the protection comes from the crops, which Ensemble has as well. RITA also gives small crops more weight: an "
        f"average with the same weights ({DEFENCES['ensemble_area'].title}) is level with it on validation and test pictures."
    )
