"""Measurements as bars: accuracies in groups (steps of the prompt update by budget, methods by backbone), run time."""

from collections.abc import Sequence
from typing import Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.labels import escaped, legend, method_colour
from rita_demo.figures.shapes import (
    accuracy_axis,
    accuracy_bars,
    accuracy_text,
    category_axis,
    label_width,
    percent_ticks,
    ticks,
)
from rita_demo.figures.theme import COLOURS, annotation, axis, finalise, message_figure
from rita_demo.records import MeasuredCell
from rita_demo.records.measurement import AccuracyChart, RunTime

GAP = 0.2  # of a group's width, between groups
#: Patterns of bars in one colour, and the same as characters.
PATTERNS = (("", "■"), ("/", "▨"), ("x", "▩"), ("-", "▤"), ("|", "▥"), (".", "░"))
NBSP = "\u00a0"
#: The names of groups are tilted where they do not fit side by side.
TILTED: Spec = {"tickangle": None, "autotickangles": [0, -40, -60], "automargin": True}
PARTS = (("views", "other", "cutting and encoding the views"), ("own", "defence", "the method itself"))
HALO = 3  # pixels, width of the light line below an interval
PALEST = 0.3  # opacity of the first of several bars in one colour


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
