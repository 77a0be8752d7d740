"""Accuracies as groups of bars: the prompt update's steps by budget, the methods by backbone."""

from typing import Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.plots.axes import accuracy_axis
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped
from rita_demo.plots.shapes import accuracy_bars
from rita_demo.plots.theme import COLOURS, annotation, axis, finalise, legend_entry, message_figure, method_colour
from rita_demo.records import MeasuredCell
from rita_demo.records.measurement import AccuracyChart

GAP = 0.2  # of a group's width, between groups
#: Patterns of bars in one colour, and the same as characters.
PATTERNS = (("", "■"), ("/", "▨"), ("x", "▩"), ("-", "▤"), ("|", "▥"), (".", "░"))
NBSP = "\u00a0"
LONG_NAME = 16  # letters of a group's name that do not fit side by side in a narrow figure
TILTED = {"xaxis.tickangle": -40, "xaxis.tickfont.size": 11, "xaxis.title.text": "", "margin.b": 104, "margin.l": 74}
PALEST = 0.3  # opacity of the first of several bars in one colour


def grouped_accuracy(chart: AccuracyChart | None, missing: str) -> Figure:
    """One group of bars per group of the chart, with Wilson's 95 % intervals.

    Bars named after methods have their colours; others are the defence's green, darker from bar to bar. Marks carry
    ``customdata = (hover text,)``.

    Args:
        chart: what was measured, or None. missing: the sentence shown without one.
    """
    if chart is None:
        return message_figure(missing)
    figure, legend, parts, used = Figure(), list[str](), list[str](), list[tuple[str, float]]()
    width = (1 - GAP) / len(chart.series)
    for number, (name, cells) in enumerate(chart.series.items()):
        title, colour, opacity = _style(name, number, len(chart.series))
        pattern, sign = PATTERNS[used.count((colour, opacity)) % len(PATTERNS)]
        used.append((colour, opacity))
        glyph = legend_entry(colour, sign, "").rstrip("\u00a0")
        shown = [(at, cell) for at, cell in enumerate(cells) if cell is not None]
        if not shown:
            continue
        measured = [cell for _, cell in shown]
        figure.add_bar(
            x=[at - (1 - GAP) / 2 + (number + 0.5) * width for at, _ in shown],
            y=[cell.accuracy for cell in measured],
            width=0.92 * width,
            name=title,
            marker=_marker(colour, pattern) | {"opacity": opacity},
            error_y=accuracy_bars(measured, COLOURS["quiet"]),
            customdata=[[f"{escaped(title)}, {chart.groups[at]}: {_percent(cell)}"] for at, cell in shown],
            hovertemplate="%{customdata[0]}<extra></extra>",
        )
        legend.append(f'<span style="opacity:{opacity}">{glyph}</span>{NBSP}{escaped(title).replace(" ", NBSP)}')
        parts += [f"{title}, {chart.groups[at].replace('<br>', ' ')}: {cell.accuracy:.1f} %" for at, cell in shown]
    every = [cell for row in chart.series.values() for cell in row if cell is not None]
    return finalise(
        figure,
        kind=f"bars {chart.axis}",
        alt=f"{chart.description}. Accuracy by {chart.axis}: {'; '.join(parts)}.",
        annotations=[annotation(f"{escaped(chart.description)}:   {'   '.join(legend)}", 0, 1, yshift=8, xshift=-48)],
        wrap=[0],
        narrow={"margin.t": 76} | (TILTED if max(map(len, chart.groups)) > LONG_NAME else {}),
        margin={"l": 58, "r": 12, "t": 48, "b": 64},
        xaxis=axis(
            title=chart.axis,
            range=[-0.5, len(chart.groups) - 0.5],
            tickvals=list(range(len(chart.groups))),
            ticktext=list(chart.groups),
            showgrid=False,
        ),
        yaxis=accuracy_axis(every, from_zero=True),
    )


def _marker(colour: str, pattern: str) -> dict[str, Any]:
    hatched = {"shape": pattern, "bgcolor": COLOURS["surface"], "fgcolor": colour}
    return {"color": colour} | ({"pattern": hatched} if pattern else {})


def _style(name: str, number: int, count: int) -> tuple[str, str, float]:
    if name in DEFENCES:
        return DEFENCES[name].title, method_colour(name), 1.0
    return name, COLOURS["defence"], PALEST + (1 - PALEST) * (number / max(count - 1, 1))


def _percent(cell: MeasuredCell) -> str:
    return f"{cell.accuracy:.1f} % right ({cell.low:.1f} to {cell.high:.1f}), n = {cell.n}"
