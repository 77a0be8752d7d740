"""Features of attacked pictures beside those of their views, coloured by true class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped
from rita_demo.plots.theme import COLOURS, annotation, axis, class_style, finalise, legend_entry, message_figure
from rita_demo.records.measurement import CloudPoints

PANELS = (("attacked", "x", "y"), ("view", "x2", "y2"))
SIZES = {"attacked": 9, "view": 5, "cached": 12, "prompt": 13}
KIND_TITLES = {
    "clean": "clean picture",
    "attacked": "picture as delivered",
    "view": "view of it",
    "cached": "view in the memory",
    "prompt": "mean prompt",
}


def feature_cloud(
    points: CloudPoints,
    positions: np.ndarray,
    names: Sequence[str],
    *,
    projection: str,
    k: int | None = None,
    picture: int | None = None,
    ids: Sequence[str] = (),
) -> Figure:
    """Left the attacked pictures, right their views, in one plane with the same axes.

    The index of a class among those present gives its colour and shape. Rings are cached views, bow ties mean prompts.

    Args:
        points: P points. positions: (P, 2), in the plane. names: of the K classes.
        projection: "PCA" or "UMAP", and a remark on it.
        k: the selected class; the others are grey.
        picture: a line leads from this clean picture over the attacked one to its cached views.
        ids: names of the pictures, for the hover text.

    Returns:
        A figure whose marks carry ``customdata = (point, hover text)`` and can be selected by lasso.
    """
    if not len(positions):
        return message_figure("No pictures were collected yet.")
    present = [int(one) for one in np.unique(points.label[points.picture >= 0])]
    look = {label: class_style(place) for place, label in enumerate(present)}
    figure = Figure()
    for kind, x, y in PANELS:
        shown = (kind, "prompt") if kind == "attacked" else (kind, "cached", "prompt")
        for one in shown:
            here = np.flatnonzero((points.kind == one) & np.isin(points.label, present))
            if len(here):
                figure.add_trace(_add_points(points, positions, names, here, one, look, k, ids, x, y))
        if picture is not None:
            _add_path(figure, points, positions, names, picture, ids, x, y)
    low, high = positions.min(0), positions.max(0)
    edge = 0.06 * np.maximum(high - low, 1e-9)
    rangex = [float(low[0] - edge[0]), float(high[0] + edge[0])]
    rangey = [float(low[1] - edge[1]), float(high[1] + edge[1])]
    bare = {"showticklabels": False, "ticks": "", "showgrid": False, "showline": True, "mirror": True}
    titles = (f"<b>(a)</b> {points.pictures_name}", "<b>(b)</b> their views, and the memory")
    key = _legend(figure, bool((points.kind == "cached").any()))
    below = {
        "xaxis.domain": [0, 1],
        "xaxis2.domain": [0, 1],
        "yaxis.domain": [0.54, 1],
        "yaxis2.domain": [0, 0.46],
        "annotations.1.x": 0,
        "annotations.1.y": 0.46,
        "margin.t": 84,
    }
    return finalise(
        figure,
        kind=f"cloud {projection[:4]}",
        alt=_alt_text(points, names, projection, k),
        pickable=True,
        select=True,
        narrow=below,
        hovermode="closest",
        annotations=[
            annotation(titles[0], 0, 1, yshift=3),
            annotation(titles[1], 0.515, 1, yshift=3),
            annotation(projection, 0, 0, yshift=-22, yanchor="top"),
            annotation(key, 0, 1, yshift=24),
        ],
        wrap=[2, 3],
        margin={"l": 8, "r": 8, "t": 50, "b": 62},
        xaxis=axis(domain=[0, 0.485], range=rangex, anchor="y", **bare),
        yaxis=axis(domain=[0, 1], range=rangey, anchor="x", **bare),
        xaxis2=axis(domain=[0.515, 1], range=rangex, anchor="y2", **bare),
        yaxis2=axis(domain=[0, 1], range=rangey, anchor="x2", **bare),
    )


def _legend(figure: Figure, cached: bool) -> str:
    """The legend of the drawn shapes and lines that belong to no class."""
    lines = {trace["line"]["dash"] for trace in figure.traces if trace["name"] == "path"}
    parts = [legend_entry(COLOURS["text"], "○", KIND_TITLES["cached"])] if cached else []
    parts.append(legend_entry(COLOURS["text"], "⋈", KIND_TITLES["prompt"]))
    if "solid" in lines:
        parts += [
            legend_entry(COLOURS["attack"], "━", f"from the {KIND_TITLES['clean']} to the {KIND_TITLES['attacked']}")
        ]
    if "dash" in lines:
        parts += [legend_entry(COLOURS["cache"], "┅", "and on to its views in the memory")]
    return "   ".join(parts)


def _add_points(
    points: CloudPoints,
    positions: np.ndarray,
    names: Sequence[str],
    here: np.ndarray,
    kind: str,
    style: dict[int, tuple[int, str, str, str]],
    k: int | None,
    ids: Sequence[str],
    x: str,
    y: str,
) -> dict[str, Any]:
    """All marks of one kind in one panel: colour and shape by class, grey unless the class is selected."""
    labels = [int(one) for one in points.label[here]]
    shades = [COLOURS["faint"] if k not in (None, one) else style[one][1] for one in labels]
    marker = {"color": shades, "symbol": [style[one][2] for one in labels], "size": SIZES[kind]}
    if kind == "cached":
        marker |= {"symbol": "circle-open", "line": {"width": 2.5, "color": shades}}
    elif kind == "prompt":
        marker |= {"symbol": "bowtie", "line": {"width": 1, "color": COLOURS["surface"]}}
    else:
        marker |= {"opacity": 0.85 if kind == "attacked" else 0.6}
    return {
        "type": "scatter",
        "x": positions[here, 0],
        "y": positions[here, 1],
        "xaxis": x,
        "yaxis": y,
        "mode": "markers",
        "name": kind,
        "marker": marker,
        "customdata": [[int(i), _hover_text(points, int(i), names, ids)] for i in here],
        "hovertemplate": "%{customdata[1]}<extra></extra>",
    }


def _add_path(
    figure: Figure,
    points: CloudPoints,
    positions: np.ndarray,
    names: Sequence[str],
    picture: int,
    ids: Sequence[str],
    x: str,
    y: str,
) -> None:
    """Lines from the clean to the attacked picture, and from there to each of its cached views."""
    clean, attacked = (
        np.flatnonzero((points.kind == kind) & (points.picture == picture)) for kind in ("clean", "attacked")
    )
    held = np.flatnonzero((points.kind == "cached") & (points.picture == picture))
    if not len(clean) or not len(attacked):
        return
    legs = [(clean[0], attacked[0], COLOURS["attack"], "solid")]
    legs += [(attacked[0], one, COLOURS["cache"], "dash") for one in held]
    for start, end, colour, dash in legs:
        figure.add_scatter(
            x=positions[[start, end], 0],
            y=positions[[start, end], 1],
            xaxis=x,
            yaxis=y,
            mode="lines",
            name="path",
            hoverinfo="skip",
            line={"color": colour, "width": 2, "dash": dash},
        )
    ends = [(clean[0], "clean", "circle"), (attacked[0], "attack", "x")]
    ends += [(one, "cache", "diamond") for one in held]
    figure.add_scatter(
        x=[positions[i, 0] for i, *_ in ends],
        y=[positions[i, 1] for i, *_ in ends],
        xaxis=x,
        yaxis=y,
        mode="markers",
        name="path ends",
        customdata=[[int(i), _hover_text(points, int(i), names, ids)] for i, *_ in ends],
        hovertemplate="%{customdata[1]}<extra></extra>",
        marker={
            "size": 14,
            "symbol": [s for *_, s in ends],
            "color": [COLOURS[c] for _, c, _ in ends],
            "line": {"width": 2, "color": COLOURS["surface"]},
        },
    )


def _hover_text(points: CloudPoints, i: int, names: Sequence[str], ids: Sequence[str]) -> str:
    kind, name = str(points.kind[i]), escaped(names[int(points.label[i])], 60)
    text = f"{KIND_TITLES[kind]}, {'filed under ' if kind == 'cached' else ''}{name}"
    picture = int(points.picture[i])
    return f"{text}<br>{escaped(ids[picture], 60)}" if 0 <= picture < len(ids) else text


def _alt_text(points: CloudPoints, names: Sequence[str], projection: str, k: int | None) -> str:
    counts = {kind: int((points.kind == kind).sum()) for kind in ("attacked", "view", "cached")}
    classes = len(np.unique(points.label[points.kind == "attacked"]))
    selected = f" Selected: {names[k]}." if k is not None else ""
    return (
        f"{projection}: {counts['attacked']} {points.pictures_name} of {classes} classes on the left, "
        f"{counts['view']} of their views and {counts['cached']} views in the memory on the right."
        f"{selected} The table below has the separability of the classes in numbers."
    )
