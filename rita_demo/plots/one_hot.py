"""Definition 15 drawn: how far pictures and remembered views are from a one-hot answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import percent, safe
from rita_demo.plots.theme import COLOURS, GLYPHS, axis, empty, finish, note, patch
from rita_demo.surveys import OneHot

#: field of the record -> words (of the pictures: the record's own), colour, line, mark.
LINES = {
    "original": ("", "attack", "solid", "x"),
    "cached": ("views in the memory, as filed", "cache", "dash", "circle"),
    "cached_true": ("the same by true class", "cache", "dot", "circle-open"),
}
POINTS = 160  # of a density curve


def one_hot(
    one: OneHot,
    density: Callable[[np.ndarray, np.ndarray], np.ndarray | None],
    selected: int | None = None,
) -> Figure:
    """Left the density over the classes with every class as a tick, right the classes one by one.

    Each density is divided by its own maximum: what the memory is filed under crowds at 0 nats, a
    thousand times as dense as the pictures, whose curve could not be seen beside it.

    Args:
        density: values and places -> the curve (``analysis.density``); None where there are too few.
        selected: a class that is marked.

    Returns:
        A figure whose marks carry ``customdata = (class, words)``.
    """
    finite = np.concatenate([getattr(one, name) for name in LINES])
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return empty("The memory holds nothing that could be compared.")
    top = float(finite.max()) * 1.08 + 1e-3
    at = np.linspace(0, top, POINTS)
    figure = Figure()
    for row, (name, (_, colour, dash, symbol)) in enumerate(LINES.items()):
        words = _line(one, name)
        values = getattr(one, name)
        here = np.union1d(at, values[np.isfinite(values)])  # a spike is narrower than a step
        curve = density(values, here)
        if curve is not None:
            figure.add_scatter(
                x=here, y=curve / curve.max(), mode="lines", name=words, hoverinfo="skip",
                line={"color": COLOURS[colour], "width": 2, "dash": dash},
            )  # fmt: skip
        ks = np.flatnonzero(np.isfinite(values))
        figure.add_scatter(
            x=values[ks], y=[-0.06 * (row + 1)] * len(ks), yaxis="y3", mode="markers",
            name=f"ticks: {words}", customdata=[[int(k), _words(one, int(k))] for k in ks],
            hovertemplate="%{customdata[1]}<extra></extra>",
            marker={"symbol": symbol, "size": [12 if k == selected else 7 for k in ks],
                    "color": COLOURS[colour], "opacity": 0.8},
        )  # fmt: skip
    figure.add_scatter(
        x=[0, top], y=[0, top], xaxis="x2", yaxis="y2", mode="lines", hoverinfo="skip", name="equal",
        line={"color": COLOURS["axis"], "width": 1},
    )  # fmt: skip
    for name in ("cached_true", "cached"):
        _scatter(figure, one, name, selected)
    key = "   ".join(
        patch(COLOURS[c], GLYPHS[symbol], f"{_median(m)} {_line(one, name)}")
        for (name, (_, c, _, symbol)), m in zip(LINES.items(), one.medians)
    )
    shared = {"range": [0, top], "title": "KL to one-hot (nats, 0 is best)"}
    return finish(
        figure,
        kind="one_hot",
        alt=spoken(one),
        pickable=True,
        hovermode="closest",
        wrap=[0],
        narrow={"xaxis.domain": [0, 1], "xaxis2.domain": [0, 1], "yaxis.domain": [0.7, 1],
                "yaxis3.domain": [0.56, 0.69], "yaxis2.domain": [0, 0.4], "annotations.1.x": 0,
                "annotations.1.y": 0.4, "margin.t": 76},
        annotations=[note(f"medians: {key}", 0, 1, yshift=6),
                     note("below the line: closer to one-hot in the memory", 0.58, 0.93, yshift=4)],
        margin={"l": 44, "r": 12, "t": 40, "b": 46},
        xaxis=axis(domain=[0, 0.47], anchor="y3", **shared),
        yaxis=axis(domain=[0.24, 0.92], range=[0, 1.1], anchor="x", showticklabels=False,
                   title="density, each to its own height"),
        yaxis3=axis(domain=[0, 0.22], range=[-0.22, 0], anchor="x", visible=False),
        xaxis2=axis(domain=[0.58, 1], anchor="y2", range=[0, top], title=f"{one.whole} (nats)"),
        yaxis2=axis(domain=[0, 0.92], anchor="x2", range=[0, top], title="views in the memory (nats)"),
    )  # fmt: skip


def _scatter(figure: Figure, one: OneHot, name: str, selected: int | None) -> None:
    _, colour, _, symbol = LINES[name]
    words = _line(one, name)
    values = getattr(one, name)
    ks = np.flatnonzero(np.isfinite(values) & np.isfinite(one.original))
    shades = [COLOURS[colour] if selected in (None, k) else COLOURS["other"] for k in ks]
    figure.add_scatter(
        x=one.original[ks], y=values[ks], xaxis="x2", yaxis="y2", mode="markers", name=words,
        customdata=[[int(k), _words(one, int(k))] for k in ks],
        hovertemplate="%{customdata[1]}<extra></extra>",
        marker={"symbol": symbol, "size": [13 if k == selected else 8 for k in ks], "color": shades,
                "line": {"width": 1, "color": shades}},
    )  # fmt: skip


def _line(one: OneHot, name: str) -> str:
    return LINES[name][0] or one.whole


def _words(one: OneHot, k: int) -> str:
    parts = [
        f"{_line(one, name)}: {_median(float(getattr(one, name)[k]))}"
        for name in LINES
        if np.isfinite(getattr(one, name)[k])
    ]
    return "<br>".join([safe(one.names[k], 60), *parts])


def _median(value: float) -> str:
    return f"{value:.2f} nats" if np.isfinite(value) else "–"


def spoken(one: OneHot) -> str:
    """What the comparison says, in one sentence per way of counting."""
    if not one.classes:
        return "No class has both a picture and a view in the memory."
    said = (
        f"KL to one-hot, median over {one.classes} classes: {_median(one.medians[0])} for the {one.whole}, "
        f"{_median(one.medians[1])} for the views in the memory; closer in "
        f"{percent(one.improved)} of the classes."
    )
    if one.classes_true:
        said += (
            f" Counted by what the pictures really show: {_median(one.medians[2])}, closer in "
            f"{percent(one.improved_true)} of {one.classes_true}."
        )
    return said
