"""Two accordions with what was measured on many pictures: accuracy by budget, and RITA against the plain ensemble.

Their content is constant; missing or damaged measurements are left out.
"""

from html import escape
from pathlib import Path

import gradio as gr

from rita_demo import analysis, plots
from rita_demo.attacks import ATTACKS
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES, compared
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.ui.widgets.blocks import build_fold, table_row
from rita_demo.ui.widgets.plotly_view import PlotlyView
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

_CURVES_LEAD = f"""Accuracy of the built-in model on validation photographs, when the attack may change every
pixel by so many steps of 1/255. The attacker knows the model, the class names, the prompt and the budget; not the crops,
their seed or the memory. One picture is an example; this is how often it goes like that. {NOT_ZERO_SHOT}"""
_TABLE_LEAD = f"""<p class="lead">Test pictures that every method still has right, in percent, all {{datasets}} sets together ({{n}} pictures per
cell, built-in model, its own square, 4/255 where a strength is asked for). The columns differ in what the attacker knows: most attack CLIP
with one view; the last one knows the method that it attacks. {NOT_ZERO_SHOT}</p>"""
_NONE = "<p class='empty'>No measurements came with this copy; docs/results.md says how to make them.</p>"


def build_measured_folds() -> None:
    """Accuracy against the budget, one curve per method; RITA and the plain ensemble of the same crops by attack."""
    title = "How much does each strength do? Measured on many pictures"
    with build_fold(title, _CURVES_LEAD, elem_id="budget-fold"):
        curves = {square: _measured_cells(path) for square, path in shipped_results.BUDGET_CURVES.items()}
        PlotlyView(
            plots.accuracy_by_budget(curves),
            aria="Accuracy of CLIP, Ensemble and RITA against the strength of the attack",
            height=520,
            narrow_height=520,
            elem_id="budget-curves",
        )
    title = "Is RITA better than a plain average of the crops? Measured against several attackers"
    with build_fold(title, elem_id="evidence-fold"):
        gr.HTML(attacker_table(_measured_cells(shipped_results.ATTACKERS)), elem_id="evidence")


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
    head = "".join(
        f"<th scope='col' title='{escape(ATTACKS[name].title)}'>{escape(ATTACKS[name].column_title)}</th>"
        for name in order
    )
    body = "".join(
        table_row(escape(DEFENCES[method].full_title), *(_count_cell(table[name].get(method), n) for name in order))
        for method in compared()
    )
    same_attack = {name: row for name, row in table.items() if name != "adaptive"}  # there every row has its own
    lead = analysis.difference_in_correct(same_attack, "rita", "ensemble")
    return (
        _TABLE_LEAD.format(datasets=sets, n=n)
        + "<div class='wide' tabindex='0' role='region' aria-label='Every method against every attacker'>"
        f"<table class='verdicts'><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f"<p>{_comparison_text(lead, n)}</p>"
        f"<p class='quiet small'>{escape(_masking_text(cells))}</p>"
    )


def _masking_text(cells: tuple[MeasuredCell, ...]) -> str:
    """The signs that a defence hides its gradient, beside the accuracies against the attackers who know it."""
    knowing = [analysis.AdaptiveCell(cell) for cell in cells if cell.attack == "adaptive"]
    others = [cell for cell in cells if cell.attack != "adaptive"]
    signs = {(c.cell.method, c.cell.dataset): analysis.masking_signs(c, knowing, others) for c in knowing}
    found = [f"{DEFENCES[m].full_title} ({d}): {analysis.masking_sentence(s)}" for (m, d), s in signs.items() if any(s)]
    if found or not signs:
        return " ".join(found)
    checked = {question for s in signs.values() for question, sign in zip(analysis.QUESTIONS, s) if sign is not None}
    return f"No sign of masking in the last column. Checked: {' '.join(q for q in analysis.QUESTIONS if q in checked)}"


def _count_cell(count: analysis.CorrectCount | None, n: int) -> str:
    if count is None:
        return "–"
    fewer = f"<small>n = {count.n}</small>" if count.n != n else ""
    return f"<b>{count.percent:.0f}</b>{fewer}"


def _comparison_text(lead: dict[str, int], n: int) -> str:
    parts = []
    for about, chosen in (
        ("above Ensemble", [a for a in lead if lead[a] > 0]),
        ("level with it", [a for a in lead if lead[a] == 0]),
        ("below it", [a for a in lead if lead[a] < 0]),
    ):
        listed = ", ".join(
            f"{ATTACKS[a].column_title} ({lead[a]:+d})".replace("-", "−") if lead[a] else ATTACKS[a].column_title
            for a in sorted(chosen, key=lambda a: -abs(lead[a]))
        )
        if listed:
            parts.append(f"{about}: {listed}")
    return (
        f"In pictures of {n}, RITA is {escape('; '.join(parts))}. Differences of a few pictures are within chance. "
        "Most of the protection comes from the crops, which Ensemble has as well."
    )
