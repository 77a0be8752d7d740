"""The figures of measurements: ablations of stored runs, the component table, printed beside measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any

from rita_demo import analysis, measuring, plots
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
MOST_HERE = 3  # measured cells beside a printed one
RECOMMENDED_WORDS = "recommended settings"
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


def measured_cells(session: Session) -> dict[MeasuredCell, str]:
    """The measurements of the chosen run, then those that came with this copy: cell -> its settings in words.

    Those with the recommended settings come first.
    """
    found: dict[MeasuredCell, str] = {}
    for point in session.figures.points:
        special = measuring.special_of(point)
        words = ", ".join(f"{name}={value}" for name, value in special.items())
        found.setdefault(_as_told(point.cell), words or RECOMMENDED_WORDS)
    for path in measured.files():
        try:
            for cell in measured.read(path):  # such a file says no more of them
                found.setdefault(cell, f"settings {cell.settings}, {path.name}")
        except DataError:  # a damaged table must not hide the others
            continue
    return dict(sorted(found.items(), key=lambda item: item[1] != RECOMMENDED_WORDS))


def _as_told(cell: MeasuredCell) -> MeasuredCell:
    """The columns alone: a run's cells carry more, which neither compares nor hashes the same."""
    return MeasuredCell(**{field.name: getattr(cell, field.name) for field in fields(MeasuredCell)})


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
    settings = measured_cells(session)
    index = measuring.indexed(settings)
    body = "".join(
        _row(cell, measuring.beside(cell, index), settings) for cell in cells[:MOST_ROWS]
    )
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


def _row(
    cell: PrintedCell, mine: Sequence[MeasuredCell], settings: Mapping[MeasuredCell, str]
) -> str:
    attack = "clean" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
    remark = f"<small class='misprint'>⚠ {escape(cell.remark)}</small>" if cell.remark else ""
    here = "".join(_here(cell, one, settings[one]) for one in mine[:MOST_HERE])
    if len(mine) > MOST_HERE:
        here += f"<small>and {len(mine) - MOST_HERE} more</small>"
    return (
        f"<tr><td>{escape(cell.table)}</td><td>{escape(cell.backbone)}</td><th scope='row'>"
        f"{escape(cell.method)}</th><td>{escape(cell.dataset)}</td><td>{escape(attack)}</td>"
        f"<td><b>{cell.accuracy:.1f} %</b>{remark}</td><td>{here or '–'}</td></tr>"
    )


def _here(cell: PrintedCell, one: MeasuredCell, settings: str) -> str:
    """A measured cell: which backbone it is of comes first, it is what a reader mistakes most easily."""
    same = measuring.same_backbone(cell.backbone, one)
    backbone = f"{'same backbone' if same else 'another backbone'}: {clean(one.backbone)}"
    attack = [] if one.attack == "none" else [f"{one.steps} steps"]
    if one.attack != "none" and cell.budget and not one.budget:
        attack.append("no limit on strength")
    about = [
        backbone,
        f"{clean(one.dataset)} {clean(one.split)}",
        f"memory {one.protocol}",
        *attack,
    ]
    return (
        f"<div>{_accuracy(one)}<small>{escape(', '.join([*about, clean(settings)]))}</small></div>"
    )
