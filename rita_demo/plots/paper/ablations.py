"""Ablations: accuracy against one setting, from stored measurements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped
from rita_demo.plots.shapes import accuracy_bars, vertical_line
from rita_demo.plots.theme import COLOURS, annotation, axis, finalise, message_figure, percent_ticks
from rita_demo.records import MeasuredCell
from rita_demo.records.measurement import AblationSweep

DASHES = {"off": "dot", "reset": "dash", "stream": "solid"}
DASH_GLYPHS = {"off": "┈", "reset": "╌", "stream": "─"}  # the same as characters
MARKER_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "hexagon")
MARKER_GLYPHS = {
    shape + kind: mark
    for kind, marks in (("", "●■◆▲▼⬢"), ("-open", "○□◇△▽⬡"))
    for shape, mark in zip(MARKER_SYMBOLS, marks, strict=True)
}
MAX_NAMED_LINES = 12  # lines in one figure


def sweep_lines(lines: Sequence[AblationSweep], title: str, *, recommended: object = None) -> Figure:
    """One line per dataset, attack and cache protocol; bars are Wilson's 95 % intervals, filled marks clean.

    The values are in order at equal distances, because some settings are not numbers.

    Args:
        lines: the sweeps; at most ``MAX_NAMED_LINES`` are drawn.
        title: of the axis.
        recommended: the recommended value, marked by a thin line where it was measured.

    Returns:
        A figure whose marks carry ``customdata = (hover text,)``.
    """
    if not lines:
        return message_figure("No run varies this setting yet. Measure it with the button, or with evaluate.")
    shown = lines[:MAX_NAMED_LINES]
    found = {value for line in shown for value in line.values}
    values = sorted(found, key=lambda v: (isinstance(v, str), v))
    place = {value: number for number, value in enumerate(values)}
    datasets = list(dict.fromkeys(line.cells[0].dataset for line in shown))
    figure, keys = Figure(), []
    for number, line in enumerate(shown):
        cell = line.cells[0]
        clean = cell.attack == "none" and line.setting != "budget"
        colour = COLOURS["clean" if clean else "attack"]
        shape = (datasets.index(cell.dataset) + (len(line.others) and number)) % len(MARKER_SYMBOLS)
        symbol = MARKER_SYMBOLS[shape] + ("" if clean else "-open")
        figure.add_scatter(
            x=[place[v] for v in line.values],
            y=[c.accuracy for c in line.cells],
            mode="lines+markers",
            name=line_title(line),
            cliponaxis=False,
            line={"color": colour, "width": 2, "dash": DASHES.get(cell.protocol, "solid")},
            marker={"symbol": symbol, "size": 8, "color": colour},
            error_y=accuracy_bars(line.cells, colour),
            customdata=[[_hover_text(title, v, c)] for v, c in zip(line.values, line.cells)],
            hovertemplate="%{customdata[0]}<extra></extra>",
        )
        keys.append(
            annotation(
                line_title(line),
                len(values) - 1,
                line.cells[-1].accuracy,
                xref="x",
                yref="y",
                name=DASH_GLYPHS.get(cell.protocol, "─") + MARKER_GLYPHS[symbol],
                xshift=10,
                yanchor="middle",
                font={"size": 11, "color": colour},
            )
        )
    shapes = []
    if recommended in place:
        x = place[recommended]
        shapes = [vertical_line(x, "axis", xref="x", layer="below")]
        keys.append(annotation("recommended", x, 1, xref="x", yshift=2, xanchor="center"))
    return finalise(
        figure,
        kind=f"sweep {title}",
        alt=_alt_text(shown, title),
        hovermode="closest",
        annotations=_spread_labels(keys),
        shapes=shapes,
        narrow=_narrow_legend(keys),
        margin={"l": 54, "r": 270, "t": 30, "b": 48},
        xaxis=axis(
            title=title,
            range=[-0.3, len(values) - 0.7],
            tickvals=list(place.values()),
            ticktext=[_value(v) for v in values],
        ),
        yaxis=axis(range=[-3, 103], title="accuracy (right of n)", **percent_ticks(0, 25, 50, 75, 100)),
    )


def line_title(line: AblationSweep) -> str:
    """The data, attack and cache protocol of a line, and the other settings in which the lines differ."""
    cell = line.cells[0]
    attack = "clean" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
    memory = {"off": "memory off", "reset": "memory reset", "stream": "memory kept"}
    parts = [cell.dataset, memory.get(cell.protocol, cell.protocol)]
    if line.setting != "budget":
        parts.insert(1, attack)
    parts += [f"{name}={_value(value)}" for name, value in line.others]
    return escaped(", ".join(parts), 70)


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spread_labels(notes: list[dict]) -> list[dict]:
    """Move the line labels apart where they would overlap (7 % of accuracy)."""
    ends = sorted((n for n in notes if n["yref"] == "y"), key=lambda n: n["y"])
    for below, above in pairwise(ends):
        above["y"] = max(above["y"], below["y"] + 7)
    highest = 100.0  # labels above the axis are not drawn
    for one in reversed(ends):
        one["y"] = min(one["y"], highest)
        highest = one["y"] - 7
    return notes


def _narrow_legend(notes: list[dict]) -> dict:
    """In a narrow view the line labels are a list below the axis, each after the mark of its line."""
    found: dict = {"margin.r": 14}
    names = [number for number, one in enumerate(notes) if one["yref"] == "y"]
    for row, number in enumerate(names):
        at = {
            "xref": "paper",
            "yref": "paper",
            "x": 0,
            "y": 0,
            "xshift": -44,
            "yshift": -58 - 15 * row,
            "yanchor": "middle",
            "text": f"{notes[number]['name']} {notes[number]['text']}",
        }
        found |= {f"annotations.{number}.{key}": value for key, value in at.items()}
    return found | {"margin.b": 62 + 15 * len(names)}


def _hover_text(title: str, value: object, cell: MeasuredCell) -> str:
    attack = "no attack" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
    return (
        f"{escaped(title)} = {_value(value)}, {attack}: {cell.accuracy:.1f} % right "
        f"({cell.low:.1f} to {cell.high:.1f}), n = {cell.n}"
    )


def _alt_text(lines: Sequence[AblationSweep], title: str) -> str:
    parts = [
        f"{line_title(line)}: " + ", ".join(f"{_value(v)}: {c.accuracy:.1f} %" for v, c in zip(line.values, line.cells))
        for line in lines
    ]
    return f"Accuracy against {title}. " + "; ".join(parts) + "."
