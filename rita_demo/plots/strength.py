"""How strong is which strength: accuracy against the attack's budget, from measured cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rita_demo.plots.figure import Figure
from rita_demo.plots.theme import METHODS, axis, empty, finish, method_keys, note, percents
from rita_demo.records import MeasuredCell

DATASETS = {
    "caltech101": "Caltech101, 100 classes",
    "dtd": "DTD, 47 classes",
    "dtd:present": "DTD, 13 classes",
}
SQUARES = {"picture": "attack on the picture", "model": "attack on the model's square"}


def strength_curves(measured: Mapping[str, Sequence[MeasuredCell]]) -> Figure:
    """Small panels, a dataset per column and an attacked square per row.

    Lines are the methods; full lines the attack with the fewest steps, thin ones with more. A bar
    at each mark is Wilson's 95 % interval. Budget 0 is the clean accuracy.

    Args:
        measured: square -> its cells; cells of other attacks than none and PGD are left out.

    Returns:
        A figure whose marks carry ``customdata = (words,)``.
    """
    squares = [name for name in SQUARES if measured.get(name)]
    cells = [cell for name in squares for cell in measured[name]]
    datasets = [name for name in DATASETS if any(cell.dataset == name for cell in cells)]
    if not datasets:
        return empty("No measurements of the attack's strength came with this copy.")
    figure = Figure()
    layout: dict[str, Any] = {}
    notes = []
    for row, square in enumerate(squares):
        for column, dataset in enumerate(datasets):
            number = row * len(datasets) + column
            suffix = str(number + 1) if number else ""
            here = [cell for cell in measured[square] if cell.dataset == dataset]
            _lines(figure, here, suffix)
            left, top = column / len(datasets), 1 - row / len(squares)
            right, bottom = left + 0.92 / len(datasets), top - 0.78 / len(squares)
            layout["xaxis" + suffix] = axis(
                range=[-0.4, 8.9], tickvals=[0, 1, 2, 4, 8], domain=[left, right],
                anchor="y" + suffix, title="budget in 1/255 (largest change of a pixel)",
            )  # fmt: skip
            layout["yaxis" + suffix] = axis(
                range=[-3, 103], domain=[bottom, top - 0.08], anchor="x" + suffix,
                **percents(0, 50, 100),
            )  # fmt: skip
            title = f"<b>{DATASETS[dataset]}</b>, {SQUARES[square]}, n = {max(c.n for c in here)}"
            notes.append(note(title, left, top - 0.08, yshift=2))
    steps = sorted({cell.steps for cell in cells if cell.attack == "pgd"})
    key = "accuracy: " + method_keys(cell.method for cell in cells)
    if len(steps) > 1:
        key += f"   (full: PGD-{steps[0]}, thin: PGD-{steps[-1]})"
    return finish(
        figure,
        kind="strength_curves",
        alt=_spoken(measured, squares),
        annotations=[*notes, note(key, 0, 1, yshift=8)],
        margin={"l": 48, "r": 12, "t": 34, "b": 40},
        **layout,
    )


def _lines(figure: Figure, cells: Sequence[MeasuredCell], suffix: str) -> None:
    """The methods' lines of one panel."""
    steps = sorted({cell.steps for cell in cells if cell.attack == "pgd"})
    for method, look in METHODS.items():
        for count in steps:
            line = _line(cells, method, count)
            if len(line) < 2:
                continue
            first = count == steps[0]
            figure.add_scatter(
                x=[cell.budget if cell.attack == "pgd" else 0 for cell in line],
                y=[cell.accuracy for cell in line],
                error_y={
                    "type": "data", "symmetric": False, "thickness": 1, "width": 0,
                    "array": [cell.high - cell.accuracy for cell in line],
                    "arrayminus": [cell.accuracy - cell.low for cell in line],
                    "color": look["colour"], "visible": first,
                },
                xaxis="x" + suffix, yaxis="y" + suffix, mode="lines+markers",
                name=f"{look['title']}, PGD-{count}",
                line={"color": look["colour"], "width": 2 if first else 1,
                      "dash": look["dash"] if first else "dot"},
                marker={"symbol": look["symbol"], "size": 8 if first else 5},
                customdata=[[_words(cell)] for cell in line],
                hovertemplate="%{customdata[0]}<extra></extra>", cliponaxis=False,
            )  # fmt: skip


def _line(cells: Sequence[MeasuredCell], method: str, steps: int) -> list[MeasuredCell]:
    """Clean accuracy and the attacked ones of that many steps, by budget."""
    chosen = [
        cell
        for cell in cells
        if cell.method == method
        and (cell.attack == "none" or (cell.attack == "pgd" and cell.steps == steps))
    ]
    return sorted(chosen, key=lambda cell: cell.budget if cell.attack == "pgd" else 0)


def _words(cell: MeasuredCell) -> str:
    attack = f"PGD-{cell.steps} at {cell.budget}/255" if cell.attack == "pgd" else "no attack"
    return (
        f"{METHODS[cell.method]['title']}, {attack}: {cell.accuracy:.0f} % right "
        f"({cell.low:.0f} to {cell.high:.0f}), n = {cell.n}"
    )


def _spoken(measured: Mapping[str, Sequence[MeasuredCell]], squares: Sequence[str]) -> str:
    parts = [
        f"{DATASETS.get(cell.dataset, cell.dataset)}, {SQUARES[square]}: {_words(cell)}"
        for square in squares
        for cell in measured[square]
        if cell.method in METHODS and cell.attack in ("none", "pgd")
    ]
    return "; ".join(parts) + "."
