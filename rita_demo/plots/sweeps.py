"""Ablations: accuracy against one setting, from stored measurements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import safe
from rita_demo.plots.theme import COLOURS, axis, empty, finish, note, percents
from rita_demo.records import MeasuredCell
from rita_demo.surveys import Sweep

DASHES = {"off": "dot", "reset": "dash", "stream": "solid"}
RULES = {"off": "┈", "reset": "╌", "stream": "─"}  # the same in words
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "hexagon")
MARKS = {
    shape + kind: mark
    for kind, marks in (("", "●■◆▲▼⬢"), ("-open", "○□◇△▽⬡"))
    for shape, mark in zip(SHAPES, marks, strict=True)
}
MOST = 12  # lines in one figure


def sweep_lines(
    lines: Sequence[Sweep], title: str, *, recommended: object = None, log: bool = False
) -> Figure:
    """One line per dataset, attack and memory; bars are Wilson's 95 % intervals, full marks clean.

    Values stand at even distances, in order, so that settings that are not numbers can be drawn too;
    a thin line marks the recommended value where it was measured.

    Args:
        title: the setting as the axis names it; log is said in the axis title only.

    Returns:
        A figure whose marks carry ``customdata = (words,)``.
    """
    if not lines:
        return empty(
            "No run varies this setting yet. Measure it with the button, or with evaluate."
        )
    shown = lines[:MOST]
    found = {value for line in shown for value in line.values}
    values = sorted(found, key=lambda v: (isinstance(v, str), v))
    place = {value: number for number, value in enumerate(values)}
    datasets = list(dict.fromkeys(line.cells[0].dataset for line in shown))
    figure, keys = Figure(), []
    for number, line in enumerate(shown):
        cell = line.cells[0]
        clean = cell.attack == "none" and line.knob != "budget"
        colour = COLOURS["clean" if clean else "attack"]
        shape = (datasets.index(cell.dataset) + (len(line.others) and number)) % len(SHAPES)
        symbol = SHAPES[shape] + ("" if clean else "-open")
        figure.add_scatter(
            x=[place[v] for v in line.values], y=[c.accuracy for c in line.cells],
            mode="lines+markers", name=label(line), cliponaxis=False,
            line={"color": colour, "width": 2, "dash": DASHES.get(cell.protocol, "solid")},
            marker={"symbol": symbol, "size": 8, "color": colour},
            error_y={"type": "data", "symmetric": False, "thickness": 1, "width": 0, "color": colour,
                     "array": [c.high - c.accuracy for c in line.cells],
                     "arrayminus": [c.accuracy - c.low for c in line.cells]},
            customdata=[[_words(title, v, c)] for v, c in zip(line.values, line.cells)],
            hovertemplate="%{customdata[0]}<extra></extra>",
        )  # fmt: skip
        keys.append(note(label(line), len(values) - 1, line.cells[-1].accuracy, xref="x", yref="y",
                         name=RULES.get(cell.protocol, "─") + MARKS[symbol],
                         xshift=10, yanchor="middle", font={"size": 11, "color": colour}))  # fmt: skip
    shapes = []
    if recommended in place:
        x = place[recommended]
        shapes = [{"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1,
                   "line": {"color": COLOURS["axis"], "width": 1}, "layer": "below"}]  # fmt: skip
        keys.append(note("recommended", x, 1, xref="x", yshift=2, xanchor="center"))
    return finish(
        figure,
        kind=f"sweep {title}",
        alt=_spoken(shown, title),
        hovermode="closest",
        annotations=_apart(keys),
        shapes=shapes,
        narrow=_below(keys),
        margin={"l": 54, "r": 270, "t": 30, "b": 48},
        xaxis=axis(title=title, range=[-0.3, len(values) - 0.7], tickvals=list(place.values()),
                   ticktext=[_value(v) for v in values]),
        yaxis=axis(range=[-3, 103], title="accuracy (right of n)", **percents(0, 25, 50, 75, 100)),
    )  # fmt: skip


def label(line: Sweep) -> str:
    """What a line is measured on, and what else tells it from the others."""
    cell = line.cells[0]
    attack = "clean" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
    memory = {"off": "memory off", "reset": "memory reset", "stream": "memory kept"}
    parts = [cell.dataset, memory.get(cell.protocol, cell.protocol)]
    if line.knob != "budget":
        parts.insert(1, attack)
    parts += [f"{name}={_value(value)}" for name, value in line.others]
    return safe(", ".join(parts), 70)


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _apart(notes: list[dict]) -> list[dict]:
    """The lines' names pushed apart where they would lie on each other (7 % of accuracy)."""
    ends = sorted((n for n in notes if n["yref"] == "y"), key=lambda n: n["y"])
    for below, above in pairwise(ends):
        above["y"] = max(above["y"], below["y"] + 7)
    highest = 100.0  # what leaves the axis is not drawn
    for one in reversed(ends):
        one["y"] = min(one["y"], highest)
        highest = one["y"] - 7
    return notes


def _below(notes: list[dict]) -> dict:
    """In a narrow view the lines' names stand in a list below the axis, with the line's mark before each."""
    found: dict = {"margin.r": 14}
    names = [number for number, one in enumerate(notes) if one["yref"] == "y"]
    for row, number in enumerate(names):
        at = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xshift": -44, "yshift": -58 - 15 * row,
              "yanchor": "middle", "text": f"{notes[number]['name']} {notes[number]['text']}"}  # fmt: skip
        found |= {f"annotations.{number}.{key}": value for key, value in at.items()}
    return found | {"margin.b": 62 + 15 * len(names)}


def _words(title: str, value: object, cell: MeasuredCell) -> str:
    attack = "no attack" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
    return (
        f"{safe(title)} = {_value(value)}, {attack}: {cell.accuracy:.1f} % right "
        f"({cell.low:.1f} to {cell.high:.1f}), n = {cell.n}"
    )


def _spoken(lines: Sequence[Sweep], title: str) -> str:
    parts = [
        f"{label(line)}: "
        + ", ".join(f"{_value(v)}: {c.accuracy:.1f} %" for v, c in zip(line.values, line.cells))
        for line in lines
    ]
    return f"Accuracy against {title}. " + "; ".join(parts) + "."
