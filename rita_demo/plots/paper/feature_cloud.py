"""Features of attacked pictures beside those of their views, coloured by true class."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, legend_entry
from rita_demo.plots.theme import COLOURS, annotation, axis, class_style, finalise, message_figure, stacked_panels
from rita_demo.records.measurement import CloudPoints

#: axes of a panel -> the kinds of points that it shows
PANELS = {("x", "y"): ("attacked", "prompt"), ("x2", "y2"): ("view", "cached", "prompt")}
MARKERS: dict[str, dict[str, Any]] = {
    "attacked": {"size": 9, "opacity": 0.85},
    "view": {"size": 5, "opacity": 0.6},
    "cached": {"size": 12, "symbol": "circle-open"},
    "prompt": {"size": 13, "symbol": "bowtie", "line": {"width": 1, "color": COLOURS["surface"]}},
}
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
    Marks carry ``customdata = (point, hover text)`` and can be selected by lasso.

    Args:
        points: P points. positions: (P, 2), in the plane. names: of the K classes.
        projection: "PCA" or "UMAP", and a remark on it.
        k: the selected class; the others are grey.
        picture: a line leads from this clean picture over the attacked one to its cached views.
        ids: names of the pictures, for the hover text.
    """
    if not len(positions):
        return message_figure("No pictures were collected yet.")
    present = np.unique(points.label[points.picture >= 0]).tolist()
    look = {label: class_style(place) for place, label in enumerate(present)}
    data = [[i, _hover_text(points, i, names, ids)] for i in range(len(positions))]
    legs = _path(points, picture)
    figure = Figure()
    for (x, y), kinds in PANELS.items():
        for kind in kinds:
            here = np.flatnonzero((points.kind == kind) & np.isin(points.label, present))
            if len(here):
                labels = points.label[here].tolist()
                shades = [COLOURS["faint"] if k not in (None, one) else look[one][1] for one in labels]
                marker = {"color": shades, "symbol": [look[one][2] for one in labels]} | MARKERS[kind]
                figure.add_marks(
                    x=positions[here, 0],
                    y=positions[here, 1],
                    xaxis=x,
                    yaxis=y,
                    name=kind,
                    marker=marker | ({"line": {"width": 2.5, "color": shades}} if kind == "cached" else {}),
                    customdata=[data[i] for i in here],
                )
        _add_path(figure, positions, legs, data, {"xaxis": x, "yaxis": y})
    low, high = positions.min(0), positions.max(0)
    edge = 0.06 * np.maximum(high - low, 1e-9)
    (left, bottom), (right, top) = (low - edge).tolist(), (high + edge).tolist()
    bare = {"showticklabels": False, "ticks": "", "showgrid": False, "showline": True, "mirror": True}
    across, up = {"range": [left, right]} | bare, {"range": [bottom, top], "domain": [0, 1]} | bare
    return finalise(
        figure,
        kind=f"cloud {projection[:4]}",
        alt=_alt_text(points, names, projection, k),
        pickable=True,
        select=True,
        narrow=stacked_panels([0.54, 1], [0, 0.46]) | {"margin.t": 84, "margin.b": 88},
        legend_below="   ".join(legend_entry(look[k][1], look[k][3], escaped(names[k], 30)) for k in present),
        annotations=[
            annotation(f"<b>(a)</b> {points.pictures_name}", 0, 1, yshift=3),
            annotation("<b>(b)</b> their views, and the memory", 0.515, 1, yshift=3),
            annotation(projection, 0, 0, yshift=-22, yanchor="top"),
            annotation(_legend(legs, "cached" in points.kind), 0, 1, yshift=24),
        ],
        wrap=[2, 3],
        margin={"l": 8, "r": 8, "t": 50, "b": 62},
        xaxis=axis(domain=[0, 0.485], anchor="y", **across),
        yaxis=axis(anchor="x", **up),
        xaxis2=axis(domain=[0.515, 1], anchor="y2", **across),
        yaxis2=axis(anchor="x2", **up),
    )


def _path(points: CloudPoints, picture: int | None) -> list[tuple[int, int, str, str]]:
    """Start, end, colour and dash of the lines from the clean to the attacked picture, and on to its cached views."""
    clean, attacked, held = (
        np.flatnonzero((points.kind == kind) & (points.picture == picture)).tolist()
        for kind in ("clean", "attacked", "cached")
    )
    if not clean or not attacked:
        return []
    return [(clean[0], attacked[0], "attack", "solid"), *((attacked[0], one, "cache", "dash") for one in held)]


def _add_path(
    figure: Figure,
    positions: np.ndarray,
    legs: list[tuple[int, int, str, str]],
    data: list[list],
    panel: dict[str, str],
) -> None:
    for start, end, role, dash in legs:
        x, y = positions[[start, end]].T
        figure.add_line(COLOURS[role], 2, dash, x=x, y=y, name="path", **panel)
    if legs:
        ends = [legs[0][0], *(end for _, end, *_ in legs)]
        roles = ["clean", *(role for *_, role, _ in legs)]
        symbols = {"clean": "circle", "attack": "x", "cache": "diamond"}
        figure.add_marks(
            x=positions[ends, 0].tolist(),
            y=positions[ends, 1].tolist(),
            name="path ends",
            customdata=[data[i] for i in ends],
            marker={
                "size": 14,
                "symbol": [symbols[role] for role in roles],
                "color": [COLOURS[role] for role in roles],
                "line": {"width": 2, "color": COLOURS["surface"]},
            },
            **panel,
        )


def _legend(legs: list[tuple[int, int, str, str]], cached: bool) -> str:
    """The legend of the drawn shapes and lines that belong to no class."""
    parts = [legend_entry(COLOURS["text"], "○", KIND_TITLES["cached"])] if cached else []
    parts.append(legend_entry(COLOURS["text"], "⋈", KIND_TITLES["prompt"]))
    if legs:
        moved = f"from the {KIND_TITLES['clean']} to the {KIND_TITLES['attacked']}"
        parts.append(legend_entry(COLOURS["attack"], "━", moved))
    if len(legs) > 1:
        parts.append(legend_entry(COLOURS["cache"], "┅", "and on to its views in the memory"))
    return "   ".join(parts)


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
