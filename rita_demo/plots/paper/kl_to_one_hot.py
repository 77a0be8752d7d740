"""Definition 15: KL to one-hot of pictures and of cached views."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, percent
from rita_demo.plots.theme import COLOURS, GLYPHS, annotation, axis, finalise, legend_entry, message_figure
from rita_demo.records.measurement import KlToOneHot

#: field of the record -> title (empty: the record's name of the pictures), colour, dash, marker.
LINES = {
    "original": ("", "attack", "solid", "x"),
    "cached": ("views in the memory, as filed", "cache", "dash", "circle"),
    "cached_true": ("the same by true class", "cache", "dot", "circle-open"),
}
CURVE_POINTS = 160  # of a density curve


def kl_to_one_hot(
    one: KlToOneHot, density: Callable[[np.ndarray, np.ndarray], np.ndarray | None], selected: int | None = None
) -> Figure:
    """Left the density over the classes with a tick per class, right one mark per class.

    Each density is divided by its maximum: the cached views lie near 0 nats, up to a thousand times as dense as the
    pictures.

    Args:
        one: the divergences.
        density: values and positions -> curve (``analysis.density``), or None for too few values.
        selected: a class to mark.

    Returns:
        A figure whose marks carry ``customdata = (class, hover text)``.
    """
    finite = np.concatenate([getattr(one, name) for name in LINES])
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return message_figure("The memory holds nothing to compare.")
    top = float(finite.max()) * 1.08 + 1e-3
    figure = Figure()
    for row, name in enumerate(LINES):
        _add_density(figure, one, name, density, np.linspace(0, top, CURVE_POINTS))
        _add_ticks(figure, one, name, -0.06 * (row + 1), selected)
    figure.add_scatter(
        x=[0, top],
        y=[0, top],
        xaxis="x2",
        yaxis="y2",
        mode="lines",
        hoverinfo="skip",
        name="equal",
        line={"color": COLOURS["axis"], "width": 1},
    )
    for name in ("cached_true", "cached"):
        _scatter(figure, one, name, selected)
    legend = "   ".join(
        legend_entry(COLOURS[c], GLYPHS[symbol], f"{_nats(m)} {_line_title(one, name)}")
        for (name, (_, c, _, symbol)), m in zip(LINES.items(), one.medians)
    )
    shared = {"range": [0, top], "title": "KL to one-hot (nats, 0 is best)"}
    return finalise(
        figure,
        kind="one_hot",
        alt=kl_summary(one),
        pickable=True,
        hovermode="closest",
        wrap=[0],
        narrow={
            "xaxis.domain": [0, 1],
            "xaxis2.domain": [0, 1],
            "yaxis.domain": [0.7, 1],
            "yaxis3.domain": [0.56, 0.69],
            "yaxis2.domain": [0, 0.4],
            "annotations.1.x": 0,
            "annotations.1.y": 0.4,
            "margin.t": 76,
        },
        annotations=[
            annotation(f"medians: {legend}", 0, 1, yshift=6),
            annotation("below the line: closer to one-hot in the memory", 0.58, 0.93, yshift=4),
        ],
        margin={"l": 44, "r": 12, "t": 40, "b": 46},
        xaxis=axis(domain=[0, 0.47], anchor="y3", **shared),
        yaxis=axis(
            domain=[0.24, 0.92], range=[0, 1.1], anchor="x", showticklabels=False, title="density (each maximum = 1)"
        ),
        yaxis3=axis(domain=[0, 0.22], range=[-0.22, 0], anchor="x", visible=False),
        xaxis2=axis(domain=[0.58, 1], anchor="y2", range=[0, top], title=f"{one.pictures_name} (nats)"),
        yaxis2=axis(domain=[0, 0.92], anchor="x2", range=[0, top], title="views in the memory (nats)"),
    )


def _add_density(
    figure: Figure, one: KlToOneHot, name: str, density: Callable[..., np.ndarray | None], at: np.ndarray
) -> None:
    values, (_, colour, dash, _) = getattr(one, name), LINES[name]
    x = np.union1d(at, values[np.isfinite(values)])  # a peak can be narrower than a step
    curve = density(values, x)
    if curve is not None:
        figure.add_scatter(
            x=x,
            y=curve / curve.max(),
            mode="lines",
            name=_line_title(one, name),
            hoverinfo="skip",
            line={"color": COLOURS[colour], "width": 2, "dash": dash},
        )


def _add_ticks(figure: Figure, one: KlToOneHot, name: str, height: float, selected: int | None) -> None:
    values, (_, colour, _, symbol) = getattr(one, name), LINES[name]
    ks = np.flatnonzero(np.isfinite(values))
    size = [12 if k == selected else 7 for k in ks]
    figure.add_scatter(
        x=values[ks],
        y=[height] * len(ks),
        yaxis="y3",
        mode="markers",
        name=f"ticks: {_line_title(one, name)}",
        customdata=[[int(k), _hover_text(one, int(k))] for k in ks],
        hovertemplate="%{customdata[1]}<extra></extra>",
        marker={"symbol": symbol, "size": size, "color": COLOURS[colour], "opacity": 0.8},
    )


def _scatter(figure: Figure, one: KlToOneHot, name: str, selected: int | None) -> None:
    _, colour, _, symbol = LINES[name]
    title = _line_title(one, name)
    values = getattr(one, name)
    ks = np.flatnonzero(np.isfinite(values) & np.isfinite(one.original))
    shades = [COLOURS[colour] if selected in (None, k) else COLOURS["other"] for k in ks]
    figure.add_scatter(
        x=one.original[ks],
        y=values[ks],
        xaxis="x2",
        yaxis="y2",
        mode="markers",
        name=title,
        customdata=[[int(k), _hover_text(one, int(k))] for k in ks],
        hovertemplate="%{customdata[1]}<extra></extra>",
        marker={
            "symbol": symbol,
            "size": [13 if k == selected else 8 for k in ks],
            "color": shades,
            "line": {"width": 1, "color": shades},
        },
    )


def _line_title(one: KlToOneHot, name: str) -> str:
    return LINES[name][0] or one.pictures_name


def _hover_text(one: KlToOneHot, k: int) -> str:
    parts = [
        f"{_line_title(one, name)}: {_nats(float(getattr(one, name)[k]))}"
        for name in LINES
        if np.isfinite(getattr(one, name)[k])
    ]
    return "<br>".join([escaped(one.names[k], 60), *parts])


def _nats(value: float) -> str:
    return f"{value:.2f} nats" if np.isfinite(value) else "–"


def kl_summary(one: KlToOneHot) -> str:
    """The comparison in one sentence per way of counting."""
    if not one.classes:
        return "No class has both a picture and a view in the memory."
    summary = (
        f"KL to one-hot, median over {one.classes} classes: {_nats(one.medians[0])} for the {one.pictures_name}, "
        f"{_nats(one.medians[1])} for the views in the memory; closer in "
        f"{percent(one.improved)} of the classes."
    )
    if one.classes_true:
        summary += (
            f" Counted by the true class of the pictures: {_nats(one.medians[2])}, closer in "
            f"{percent(one.improved_true)} of {one.classes_true}."
        )
    return summary
