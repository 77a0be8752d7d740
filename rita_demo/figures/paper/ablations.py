"""Ablations: accuracy against one setting, from stored measurements."""

from collections.abc import Sequence
from itertools import pairwise

from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped
from rita_demo.figures.shapes import accuracy_axis, accuracy_bars, accuracy_text, ticks, vertical_line
from rita_demo.figures.theme import COLOURS, GLYPHS, annotation, axis, finalise, message_figure
from rita_demo.records import MeasuredCell
from rita_demo.records.measurement import AblationSweep

#: cache protocol -> dash, and the dash as a character
PROTOCOLS = {"off": ("dot", "┈"), "reset": ("dash", "╌"), "stream": ("solid", "─")}
MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "hexagon")  # filled or open
MAX_NAMED_LINES = 12  # lines in one figure
LABELS_PER_AXIS = 14  # labels of lines that fit above each other
LETTER_WIDTH = 5.4  # pixels of a label's letter
DODGE = 0.05  # distance of two lines' marks, of that between two values


def sweep_lines(lines: Sequence[AblationSweep], title: str, *, recommended: object = None) -> Figure:
    """One line per dataset, attack and cache protocol; bars are Wilson's 95 % intervals, filled marks clean.

    The values are in order at equal distances, because some settings are not numbers. Marks carry
    ``customdata = (hover text,)``.

    At most ``MAX_NAMED_LINES`` are drawn. ``title``: of the axis; ``recommended``: the recommended value, marked by a
    thin line where it was measured."""
    if not lines:
        return message_figure("No run varies this setting yet. Measure it with the button, or with evaluate.")
    shown = lines[:MAX_NAMED_LINES]
    values = sorted({value for line in shown for value in line.values}, key=lambda v: (isinstance(v, str), v))
    place = {value: number for number, value in enumerate(values)}
    datasets = list(dict.fromkeys(line.cells[0].dataset for line in shown))
    figure, labels, parts = Figure(), [], []
    for number, line in enumerate(shown):
        cell, name = line.cells[0], _line_title(line)
        clean = cell.attack == "none" and line.setting != "budget"
        colour = COLOURS["clean" if clean else "attack"]
        dash, dash_glyph = PROTOCOLS.get(cell.protocol, ("solid", "─"))
        symbol = MARKERS[(datasets.index(cell.dataset) + (len(line.others) and number)) % len(MARKERS)]
        symbol += "" if clean else "-open"
        measured = list(zip(map(_value, line.values), line.cells, strict=True))
        parts.append(f"{name}: " + ", ".join(f"{value}: {c.accuracy:.1f} %" for value, c in measured))
        figure.add_marks(
            "%{customdata[0]}",
            x=[place[v] + DODGE * (number - (len(shown) - 1) / 2) for v in line.values],
            y=[c.accuracy for c in line.cells],
            mode="lines+markers",
            name=name,
            cliponaxis=False,
            line={"color": colour, "width": 2, "dash": dash},
            marker={"symbol": symbol, "size": 8, "color": colour},
            error_y=accuracy_bars(line.cells, colour),
            customdata=[[f"{escaped(title)} = {value}, {c.attack_text}: {accuracy_text(c)}"] for value, c in measured],
        )
        look = {"xshift": 18, "yanchor": "middle", "font": {"size": 11, "color": colour}}
        at = {"xref": "x", "yref": "y", "name": dash_glyph + GLYPHS[symbol]}
        labels.append(annotation(name, len(values) - 1, line.cells[-1].accuracy, **at, **look))
    cells = [cell for line in shown for cell in line.cells]
    _spread_labels(labels, cells)
    narrow, shapes = _narrow_legend(labels), []
    width = 30 + LETTER_WIDTH * max(len(label["text"]) for label in labels)
    if recommended in place:
        x = place[recommended]
        shapes = [vertical_line(x, "axis", xref="x", layer="below")]
        labels.append(annotation("recommended", x, 1, xref="x", yshift=2, xanchor="center"))
    return finalise(
        figure,
        kind=f"sweep {title}",
        alt=f"Accuracy against {title}. {'; '.join(parts)}.",
        annotations=labels,
        shapes=shapes,
        narrow=narrow,
        margin={"l": 58, "r": width, "t": 30, "b": 48},
        xaxis=axis(title=title, range=[-0.3, len(values) - 0.7], **ticks(place.values(), map(_value, values))),
        yaxis=accuracy_axis(cells),
    )


def _line_title(line: AblationSweep) -> str:
    """The data, attack and cache protocol of a line, and the other settings in which the lines differ."""
    cell = line.cells[0]
    attack = [] if line.setting == "budget" else ["clean" if cell.attack == "none" else cell.attack_text]
    others = [f"{name}={_value(value)}" for name, value in line.others]
    return escaped(", ".join([cell.dataset, *attack, cell.protocol_text, *others]), 70)


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spread_labels(labels: list[dict], cells: Sequence[MeasuredCell]) -> None:
    """Move the labels of the lines apart where they would overlap."""
    low, high = accuracy_axis(cells)["range"]
    gap = (high - low) / LABELS_PER_AXIS
    ends = sorted(labels, key=lambda n: n["y"])
    for below, above in pairwise(ends):
        above["y"] = max(above["y"], below["y"] + gap)
    highest = high  # labels above the axis are not drawn
    for one in reversed(ends):
        one["y"] = min(one["y"], highest)
        highest = one["y"] - gap


def _narrow_legend(labels: list[dict]) -> dict:
    """In a narrow view the labels are a list below the axis, each after the mark of its line."""
    found: dict = {"margin.r": 14, "margin.b": 62 + 15 * len(labels)}
    corner = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xshift": -44, "yanchor": "middle"}
    for row, label in enumerate(labels):
        at = corner | {"yshift": -58 - 15 * row, "text": f"{label['name']} {label['text']}"}
        found |= {f"annotations.{row}.{key}": value for key, value in at.items()}
    return found
