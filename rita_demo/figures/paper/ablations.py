"""Ablations: accuracy against one setting, from stored measurements."""

from collections.abc import Sequence

from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, legend
from rita_demo.figures.shapes import accuracy_axis, accuracy_bars, accuracy_text, ticks, vertical_line
from rita_demo.figures.theme import COLOURS, GLYPHS, annotation, axis, finalise, message_figure
from rita_demo.records.measurement import AblationSweep

#: cache protocol -> dash, and the dash as a character
PROTOCOLS = {"off": ("dot", "┈"), "reset": ("dash", "╌"), "stream": ("solid", "─")}
MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "hexagon")  # filled or open
NBSP = "\u00a0"
MAX_NAMED_LINES = 12  # lines in one figure
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
    figure, entries, parts = Figure(), [], []
    for number, line in enumerate(shown):
        cell, name = line.cells[0], _line_title(line)
        clean = cell.attack == "none" and line.setting != "budget"
        role = "clean" if clean else "attack"
        dash, dash_glyph = PROTOCOLS.get(cell.protocol, ("solid", "─"))
        symbol = MARKERS[(datasets.index(cell.dataset) + (len(line.others) and number)) % len(MARKERS)]
        symbol += "" if clean else "-open"
        entries.append((role, dash_glyph + GLYPHS[symbol], name.replace(" ", NBSP)))
        measured = list(zip(map(_value, line.values), line.cells, strict=True))
        parts.append(f"{name}: " + ", ".join(f"{value}: {c.accuracy:.1f} %" for value, c in measured))
        figure.add_marks(
            "%{customdata[0]}",
            x=[place[v] + DODGE * (number - (len(shown) - 1) / 2) for v in line.values],
            y=[c.accuracy for c in line.cells],
            mode="lines+markers",
            name=name,
            cliponaxis=False,
            line={"color": COLOURS[role], "width": 2, "dash": dash},
            marker={"symbol": symbol, "size": 8, "color": COLOURS[role]},
            error_y=accuracy_bars(line.cells, COLOURS[role]),
            customdata=[[f"{escaped(title)} = {value}, {c.attack_text}: {accuracy_text(c)}"] for value, c in measured],
        )
    cells = [cell for line in shown for cell in line.cells]
    texts = [_value(value) + "<br>recommended" * (value == recommended) for value in values]
    return finalise(
        figure,
        kind=f"sweep {title}",
        alt=f"Accuracy against {title}. {'; '.join(parts)}.",
        annotations=[annotation(legend(entries), 0, 1, yshift=8, xshift=-48)],
        shapes=[vertical_line(place[v], "axis", layer="below") for v in values if v == recommended],
        margin={"l": 58, "r": 12, "t": 40, "b": 62},
        xaxis=axis(title=title, range=[-0.3, len(values) - 0.7], **ticks(place.values(), texts)),
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
