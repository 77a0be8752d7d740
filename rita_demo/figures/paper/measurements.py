"""Measurements: accuracies in bars (methods by backbone, printed beside measured) and against one setting; run time."""

import math
from collections.abc import Sequence
from typing import Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.labels import escaped, legend, method_colour
from rita_demo.figures.shapes import category_axis, label_width, percent_ticks, ticks, vertical_line
from rita_demo.figures.theme import COLOURS, GLYPHS, annotation, axis, finalise, message_figure
from rita_demo.records import MeasuredCell
from rita_demo.records.measurement import AblationSweep, AccuracyChart, RunTime

MAX_TICKS = 8  # of an axis of accuracies
GAP = 0.2  # of a group's width, between groups
#: Patterns of bars in one colour, and the same as characters.
PATTERNS = (("", "■"), ("/", "▨"), ("x", "▩"), ("-", "▤"), ("|", "▥"), (".", "░"))
NBSP = "\u00a0"
#: The names of groups are tilted where they do not fit side by side.
TILTED: Spec = {"tickangle": None, "autotickangles": [0, -40, -60], "automargin": True}
PARTS = (("views", "other", "cutting and encoding the views"), ("own", "defence", "the method itself"))
HALO = 3  # pixels, width of the light line below an interval
PALEST = 0.3  # opacity of the first of several bars in one colour
#: cache protocol -> dash, and the dash as a character
PROTOCOLS = {"off": ("dot", "┈"), "reset": ("dash", "╌"), "stream": ("solid", "─")}
MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "hexagon")  # filled or open
MAX_NAMED_LINES = 12  # lines in one figure
DODGE = 0.05  # distance of two lines' marks, of that between two values


def accuracy_axis(cells: Sequence[MeasuredCell], *, from_zero: bool = False) -> Spec:
    """A vertical axis of accuracies in percent, as long as the cells' intervals need. It starts at 0 for bars
    (``from_zero``); where it starts higher its title says so."""
    for step in (5, 10, 25):  # both ends are rounded outwards to multiples of it
        low = 0 if from_zero else max(math.floor(min(cell.low for cell in cells) / step) * step, 0)
        high = min(math.ceil(max(cell.high for cell in cells) / step) * step, 100)
        if high - low <= MAX_TICKS * step:
            break
    title = "accuracy (right of n)" + (f", axis from {low} %" if low else "")
    return axis(range=[low - 0.5, high + 0.5], title=title, **percent_ticks(*range(low, high + 1, step)))


def accuracy_text(cell: MeasuredCell) -> str:
    """A measured accuracy as hover text."""
    return f"{cell.accuracy:.1f} % right ({cell.low:.1f} to {cell.high:.1f}), n = {cell.n}"


def accuracy_bars(cells: Sequence[MeasuredCell], colour: str) -> Spec:
    """Wilson's 95 % intervals of measured accuracies as error bars."""
    return {
        "type": "data",
        "symmetric": False,
        "thickness": 1,
        "width": 0,
        "color": colour,
        "array": [cell.high - cell.accuracy for cell in cells],
        "arrayminus": [cell.accuracy - cell.low for cell in cells],
    }


def grouped_accuracy(chart: AccuracyChart | None, missing: str) -> Figure:
    """One group of bars per group of the chart, with Wilson's 95 % intervals.

    Bars named after methods have their colours; others are the defence's green, darker from bar to bar. Marks carry
    ``customdata = (hover text,)``. ``missing``: the sentence shown without a chart."""
    if chart is None:
        return message_figure(missing)
    figure, entries, parts, used = Figure(), list[str](), list[str](), list[tuple[str, float]]()
    middles: list[tuple[float, MeasuredCell]] = []
    width, count = (1 - GAP) / len(chart.series), len(chart.groups)
    for number, (name, cells) in enumerate(chart.series.items()):
        title, colour, opacity = _style(name, cells, number, len(chart.series))
        pattern, sign = PATTERNS[used.count((colour, opacity)) % len(PATTERNS)]
        used.append((colour, opacity))
        hatched = {"shape": pattern, "bgcolor": COLOURS["surface"], "fgcolor": colour}
        shown = [(at, cell) for at, cell in enumerate(cells) if cell is not None]
        if not shown:
            continue
        measured = [cell for _, cell in shown]
        places = [at - (1 - GAP) / 2 + (number + 0.5) * width for at, _ in shown]
        middles += zip(places, measured)
        figure.add_bar(
            x=places,
            y=[cell.accuracy for cell in measured],
            width=0.92 * width,
            name=title,
            marker={"color": colour, "opacity": opacity} | ({"pattern": hatched} if pattern else {}),
            error_y=accuracy_bars(measured, COLOURS["surface"]) | {"thickness": HALO},
            customdata=[[f"{escaped(title)}, {chart.groups[at]}: {accuracy_text(cell)}"] for at, cell in shown],
            hovertemplate="%{customdata[0]}<extra></extra>",
        )
        mark = f'<span style="opacity:{opacity}"><span style="color:{colour}">{sign}</span></span>'
        entries.append(f"{mark}{NBSP}{escaped(title).replace(' ', NBSP)}")
        parts += [f"{title}, {chart.groups[at].replace('<br>', ' ')}: {cell.accuracy:.1f} %" for at, cell in shown]
    every = [cell for _, cell in middles]
    _add_intervals(figure, [x for x, _ in middles], every)
    return finalise(
        figure,
        kind=f"bars {chart.axis}",
        alt=f"{chart.description}. Accuracy by {chart.axis}: {'; '.join(parts)}. {chart.left_out_text}".rstrip(),
        annotations=[annotation(f"{escaped(chart.description)}:   {'   '.join(entries)}", 0, 1, yshift=8, xshift=-48)],
        margin={"l": 58, "r": 12, "t": 48, "b": 64},
        xaxis=axis(
            title=chart.axis, range=[-0.5, count - 0.5], showgrid=False, **TILTED, **ticks(range(count), chart.groups)
        ),
        yaxis=accuracy_axis(every, from_zero=True),
    )


def _add_intervals(figure: Figure, places: list[float], cells: Sequence[MeasuredCell]) -> None:
    """The intervals above all bars: a line on the light one of each bar is seen on any colour."""
    figure.add_scatter(
        mode="markers",
        name="intervals",
        hoverinfo="skip",
        x=places,
        y=[cell.accuracy for cell in cells],
        marker={"size": 1, "opacity": 0},
        error_y=accuracy_bars(cells, COLOURS["text"]) | {"thickness": 1.3, "width": 3},
    )


def _style(name: str, cells: Sequence[MeasuredCell | None], number: int, count: int) -> tuple[str, str, float]:
    if name in DEFENCES:
        return DEFENCES[name].title, method_colour(name), 1.0
    own = next((cell.title for cell in cells if cell is not None and cell.method == name), "")
    if own:  # a user's own method, which is not loaded
        return own, method_colour(name), 1.0
    return name, COLOURS["defence"], PALEST + (1 - PALEST) * (number / max(count - 1, 1))


def printed_beside_measured(pairs: Sequence[Any], missing: str) -> Figure:
    """Two bars a pair: what the paper prints, pale, and what was measured, in the colour of its method with its interval.
    ``pairs``: lines of :func:`rita_demo.evaluation.report.printed.beside`. ``missing``: the sentence shown without a pair."""
    if not pairs:
        return message_figure(missing)
    figure, measured = Figure(), [one.cell for one in pairs]
    places, texts = list(range(len(pairs))), []
    for one in pairs:
        attack = "no attack" if one.attack == "none" else f"{one.attack} {one.budget}/255"
        texts.append(f"{one.method}, {attack}")
    hover = [
        f"{text}: printed {one.printed:.1f} % ({one.backbone}), measured {accuracy_text(one.cell)} ({escaped(one.model)})"
        for text, one in zip(texts, pairs)
    ]
    colours = [method_colour(cell.method) for cell in measured]
    for name, shift, values, look in (
        ("printed", -0.2, [one.printed for one in pairs], {"color": COLOURS["other"]}),
        ("measured", 0.2, [one.accuracy for one in measured], {"color": colours}),
    ):
        figure.add_bar(
            x=[place + shift for place in places],
            y=values,
            width=0.36,
            name=name,
            marker=look,
            customdata=[[text] for text in hover],
            hovertemplate="%{customdata[0]}<extra></extra>",
            error_y=accuracy_bars(measured, COLOURS["surface"]) | {"thickness": HALO} if name == "measured" else None,
        )
    _add_intervals(figure, [place + 0.2 for place in places], measured)
    titles = [text.replace(", ", "<br>") for text in texts]
    words = legend(
        (("other", "■", "printed in the paper"), ("text", "■", "measured here, with Wilson’s 95 % interval"))
    )
    return finalise(
        figure,
        kind="paper",
        alt=f"Accuracy, printed beside measured. {'; '.join(hover)}.",
        annotations=[annotation(words, 0, 1, yshift=8, xshift=-48)],
        margin={"l": 58, "r": 12, "t": 40, "b": 56},
        xaxis=axis(range=[-0.6, len(pairs) - 0.4], showgrid=False, **TILTED, **ticks(places, titles)),
        yaxis=axis(range=[0, 100.5], title="accuracy (right of n)", **percent_ticks(*range(0, 101, 25))),
    )


def time_text(seconds: float) -> str:
    """Two digits that count: 0.00043 -> "0.43 ms", 0.031 -> "31 ms", 0.9 -> "900 ms", 1.23 -> "1.2 s"."""
    value, unit = (seconds, "s") if seconds >= 0.995 else (1000 * seconds, "ms")
    return f"{float(f'{value:.2g}'):.0f} {unit}" if value >= 9.95 else f"{value:#.2g} {unit}"


def run_times(times: Sequence[RunTime], about: str) -> Figure:
    """A row per method, fastest on top: the seconds of its views and its own, end to end.

    Marks carry ``customdata = (hover text,)``. ``about``: what was measured, plain text."""
    if not times:
        return message_figure("No measured run has times. Measure one with evaluate.")
    rows = sorted(times, key=lambda one: one.views + one.own, reverse=True)
    titles = [DEFENCES[one.method].title if one.method in DEFENCES else one.title for one in rows]
    seconds = [one.views + one.own for one in rows]
    figure, data, parts = Figure(), [], []
    words = f"{about}:   {legend((role, '■', name) for _, role, name in PARTS)}"
    notes = [annotation(words, 0, 1, yshift=8, xshift=-label_width(titles))]
    for row, (one, title, total) in enumerate(zip(rows, titles, seconds, strict=True)):
        data.append([f"{title}: views {time_text(one.views)}, method {time_text(one.own)}, n = {one.n}"])
        notes.append(annotation(time_text(total), total, row, xref="x", yref="y", xshift=4, yanchor="middle"))
        parts.append(f"{title} {time_text(total)}")
    for field, role, name in PARTS:
        figure.add_bar(
            orientation="h",
            x=[getattr(one, field) for one in rows],
            y=list(range(len(rows))),
            base=[one.views if field == "own" else 0 for one in rows],
            width=0.7,
            name=name,
            marker={"color": COLOURS[role]},
            customdata=data,
            hovertemplate="%{customdata[0]}<extra></extra>",
        )
    return finalise(
        figure,
        kind="run time",
        alt=f"{about}. Time per picture: {'; '.join(parts)}.",
        annotations=notes,
        barmode="overlay",
        margin={"l": label_width(titles), "r": 12, "t": 40, "b": 46},
        xaxis=axis(title="median seconds, without the attack", range=[0, 1.3 * seconds[0]]),
        yaxis=category_axis(titles),
    )


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
