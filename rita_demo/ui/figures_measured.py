"""The figures of measurements: ablations of stored runs, the component table, printed beside measured."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from rita_demo import analysis, plots
from rita_demo.data import measured, paper
from rita_demo.errors import DataError
from rita_demo.plots.figure import Figure
from rita_demo.plots.names import clean
from rita_demo.records import MeasuredCell
from rita_demo.settings import KNOBS, RECOMMENDED
from rita_demo.surveys import MeasuredPoint, PrintedCell
from rita_demo.ui.caption import captioned
from rita_demo.ui.controls import title
from rita_demo.ui.sessions import Session

MOST_ROWS = 150
ALL = "all"
#: What is shown first of the print.
FIRST_FILTERS = {
    "table": "main", "dataset": ALL, "method": ALL, "attack": ALL, "backbone": "ViT-B/32",
}  # fmt: skip
GRID = "tuning_steps"  # the setting that is drawn against the budget


def draw_sweep(session: Session) -> Figure:
    """The ablation of the chosen setting over the chosen run."""
    return captioned(_sweep(session), f"Run: {session.figures.run or 'measured for this copy'}")


def _sweep(session: Session) -> Figure:
    knob, points = session.figures.knob, session.figures.points
    if knob == GRID and (grid := analysis.budget_curves(points, knob)):
        return plots.sweep_lines(grid, "budget of the attack (1/255; 0 is clean)")
    rita = [point for point in points if point.cell.method == "rita"]
    return plots.sweep_lines(
        analysis.sweeps(rita, knob), title(KNOBS[knob]), recommended=getattr(RECOMMENDED, knob)
    )


def component_table(session: Session) -> str:
    """HTML: what each part of the method adds, from the chosen run."""
    table = analysis.components(session.figures.points)
    columns = list(dict.fromkeys(name for row in table.values() for name in row))
    if not columns:
        return (
            "<p class='empty'>This run has no finished measurement. Runs are folders that "
            "<code>evaluate --out</code> wrote; small ones can be measured below.</p>"
        )
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr><th scope='row'>{escape(row)}</th>"
        + "".join(_point(table[row].get(name), row) for name in columns)
        + "</tr>"
        for row in table
    )
    return (
        "<h3>What each part adds</h3><div class='wide' tabindex='0' role='region' aria-label='What each part adds'><table class='verdicts'><thead><tr><th></th>"
        f"{head}</tr></thead><tbody>{body}</tbody></table></div><p class='quiet small'>Accuracy in percent "
        "with Wilson’s 95 % interval and n. Where other settings than the recommended ones were measured, "
        "they stand in the cell. Differences smaller than the intervals are not results.</p>"
    )


def _point(point: MeasuredPoint | None, row: str) -> str:
    if point is None:
        return "<td>–</td>"
    about = next(a for name, _, _, a in analysis.COMPONENTS if name == row)
    other = ", ".join(f"{n}={point.knobs[n]}" for n in analysis.differing(point, about))
    said = f"<small>{escape(other)}</small>" if other else ""
    return f"<td>{_accuracy(point.cell)}{said}</td>"


def _accuracy(cell: MeasuredCell) -> str:
    return f"<b>{cell.accuracy:.1f} %</b><small>{cell.low:.1f} to {cell.high:.1f}, n = {cell.n}</small>"


# --- printed beside measured
def filters() -> dict[str, list[str]]:
    """The choices of every filter, from the print and from what came with this copy."""
    cells = paper.printed()
    found = {
        "table": [c.table for c in cells],
        "dataset": [c.dataset for c in cells],
        "method": [c.method for c in cells],
        "attack": [c.attack for c in cells],
        "backbone": [c.backbone for c in cells],
    }
    return {name: [ALL, *dict.fromkeys(values)] for name, values in found.items()}


def chosen_filters(values: Sequence[Any]) -> dict[str, str]:
    """What a browser sent as filters; anything unknown means all."""
    known = filters()
    return {
        name: value if value in known[name] else ALL
        for name, value in zip(known, values, strict=True)
    }


def measured_cells(session: Session) -> list[MeasuredCell]:
    """The measurements that came with this copy, then those of the chosen run."""
    found: list[MeasuredCell] = []
    for path in measured.files():
        try:
            found += measured.read(path)
        except DataError:  # a damaged table must not hide the others
            continue
    return found + [point.cell for point in session.figures.points]


def paper_table(session: Session) -> str:
    """HTML: printed cells that pass the filters, each with what was measured for the same cell."""
    chosen = FIRST_FILTERS | session.figures.filters
    cells = [
        cell
        for cell in paper.printed()
        if all(value in (ALL, getattr(cell, name)) for name, value in chosen.items())
    ]
    if not cells:
        return "<p class='empty'>No printed cell passes all of these filters. Set one back to “all”.</p>"
    mine: dict[tuple, list[MeasuredCell]] = {}
    for one in measured_cells(session):
        budget = 0 if one.attack == "none" else one.budget
        key = (one.dataset.partition(":")[0], one.method, one.attack, budget)
        mine.setdefault(key, []).append(one)
    body = "".join(_row(cell, mine.get(_key(cell), [])) for cell in cells[:MOST_ROWS])
    more = len(cells) - MOST_ROWS
    rest = (
        f" The first {MOST_ROWS} are shown; narrow the filters to see the others."
        if more > 0
        else ""
    )
    wrong = sum(bool(cell.remark) for cell in cells)
    return (
        f"<p class='quiet small'>{len(cells)} printed cells, {wrong} of them with a remark.{rest}</p>"
        "<div class='wide' tabindex='0' role='region' aria-label='Printed and measured'><table class='verdicts paper'><thead><tr>"
        + "".join(
            f"<th scope='col'>{h}</th>"
            for h in (
                "table",
                "backbone",
                "method",
                "dataset",
                "attack",
                "printed",
                "measured here",
            )
        )
        + f"</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _key(cell: PrintedCell) -> tuple:
    return (
        paper.DATASETS.get(cell.dataset), paper.METHODS.get(cell.method),
        paper.ATTACKS.get(cell.attack), cell.budget or 0,
    )  # fmt: skip


def _row(cell: PrintedCell, mine: Sequence[MeasuredCell]) -> str:
    attack = "clean" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
    remark = f"<small class='misprint'>⚠ {escape(cell.remark)}</small>" if cell.remark else ""
    here = "".join(
        f"<div>{_accuracy(one)}<small>{escape(clean(one.backbone))}, {escape(clean(one.dataset))} "
        f"{escape(clean(one.split))}, memory {escape(one.protocol)}"
        f"{'' if one.attack == 'none' else f', {one.steps} steps'}</small></div>"
        for one in mine[:3]
    )
    if len(mine) > 3:
        here += f"<small>and {len(mine) - 3} more</small>"
    return (
        f"<tr><td>{escape(cell.table)}</td><td>{escape(cell.backbone)}</td><th scope='row'>"
        f"{escape(cell.method)}</th><td>{escape(cell.dataset)}</td><td>{escape(attack)}</td>"
        f"<td><b>{cell.accuracy:.1f} %</b>{remark}</td><td>{here or '–'}</td></tr>"
    )
