"""Features of attacked pictures beside those of their views, coloured by true class."""

from collections.abc import Sequence

import numpy as np

from rita_demo.plots.figure import Figure, Spec
from rita_demo.plots.labels import escaped, legend
from rita_demo.plots.theme import COLOURS, annotation, axis, class_style, finalise, message_figure, stacked_panels
from rita_demo.records.measurement import CloudPoints

#: axes of a panel -> the kinds of points that it shows
PANELS = {("x", "y"): ("clean", "attacked", "prompt"), ("x2", "y2"): ("view", "cached", "prompt")}
MARKERS: dict[str, Spec] = {
    "clean": {"size": 7, "opacity": 0.85},
    "attacked": {"size": 9, "opacity": 0.85},
    "view": {"size": 5, "opacity": 0.6},
    "cached": {"size": 12, "symbol": "circle-open"},
    "prompt": {"size": 13, "symbol": "bowtie", "line": {"width": 1, "color": COLOURS["surface"]}},
}
MOST_IN_LEGEND = 100  # classes: more do not differ in colour and shape
PICTURE_SIZE = 0.08  # of the plane's width and height
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
    pictures: Sequence[str] = (),
) -> Figure:
    """Left the attacked pictures, hollow the clean ones, right their views, in one plane with the same axes.

    The index of a class among those present gives its colour and shape. Rings are cached views, bow ties mean prompts.
    Marks carry ``customdata = (point, hover text)`` and can be selected by lasso.

    Args:
        points: P points at ``positions`` (P, 2), in the plane; ``names`` of the K classes, ``ids`` of the pictures.
        projection: "PCA" or "UMAP", and a remark on it.
        k: the selected class; the others are grey.
        picture: a line leads from this clean picture over the attacked one to its cached views.
        pictures: addresses of the delivered pictures, which then lie under their marks, which are smaller; () for marks alone.
    """
    if not len(positions):
        return message_figure("No pictures were collected yet.")
    present = np.unique(points.label[points.picture >= 0]).tolist()
    look = {label: class_style(place) for place, label in enumerate(present)}
    data = [[i, _hover_text(points, i, names, ids)] for i in range(len(positions))]
    figure, path = Figure(), _path(points, picture)
    for (x, y), kinds in PANELS.items():
        for kind in kinds:
            here = np.flatnonzero((points.kind == kind) & np.isin(points.label, present))
            if len(here):
                labels = points.label[here].tolist()
                shades = [COLOURS["faint"] if k not in (None, one) else look[one][1] for one in labels]
                symbols = [look[one][2] + "-open" * (kind == "clean") for one in labels]
                marker: Spec = {"color": shades, "symbol": symbols} | MARKERS[kind]
                if pictures and kind == "attacked":
                    marker |= {"size": 6, "opacity": 1}
                figure.add_marks(
                    x=positions[here, 0],
                    y=positions[here, 1],
                    xaxis=x,
                    yaxis=y,
                    name=kind,
                    marker=marker | ({"line": {"width": 2.5, "color": shades}} if kind == "cached" else {}),
                    customdata=[data[i] for i in here],
                )
        _add_path(figure, positions, path, data, {"xaxis": x, "yaxis": y})
    low, high = positions.min(0), positions.max(0)
    edge = 0.06 * np.maximum(high - low, 1e-9)
    across, up = np.stack([low - edge, high + edge], 1).tolist()
    bare = {"showticklabels": False, "showgrid": False, "showline": True, "mirror": True}
    counts = {kind: int((points.kind == kind).sum()) for kind in KIND_TITLES}
    classes = len(present)
    selected = f" Selected: {names[k]}." if k is not None else ""
    numbers = "The table below has the separability of the classes in numbers."
    below = legend((look[k][1], look[k][3], escaped(names[k], 30)) for k in present[:MOST_IN_LEGEND])
    if len(present) > MOST_IN_LEGEND:
        below += f", and {len(present) - MOST_IN_LEGEND} more classes"
    hollow = ", hollow: the clean ones" * (points.pictures_name != "clean pictures")
    return finalise(
        figure,
        kind=f"cloud {projection[:4]}",
        marks=("point",),
        select=True,
        legend_below=below,
        alt=f"{projection}: {counts['attacked']} {points.pictures_name} of {classes} classes on the left{hollow}, "
        f"{counts['view']} of their views and {counts['cached']} views in the memory on the right.{selected} {numbers}",
        narrow=stacked_panels([0.54, 1], [0, 0.46]) | {"margin.t": 84, "margin.b": 88},
        images=_images(points, positions, high - low, pictures, k),
        annotations=[
            annotation(f"<b>(a)</b> {points.pictures_name}{hollow}", 0, 1, yshift=3),
            annotation("<b>(b)</b> their views, and the memory", 0.515, 1, yshift=3),
            annotation(projection, 0, 0, yshift=-22, yanchor="top"),
            annotation(_legend(path, "cached" in points.kind), 0, 1, yshift=24),
        ],
        wrap=[2, 3],
        margin={"l": 8, "r": 8, "t": 50, "b": 62},
        xaxis=axis(domain=[0, 0.485], anchor="y", range=across, **bare),
        yaxis=axis(domain=[0, 1], anchor="x", range=up, **bare),
        xaxis2=axis(domain=[0.515, 1], anchor="y2", range=across, **bare),
        yaxis2=axis(domain=[0, 1], anchor="x2", range=up, **bare),
    )


def _images(
    points: CloudPoints, positions: np.ndarray, extent: np.ndarray, pictures: Sequence[str], k: int | None
) -> list[Spec]:
    """The delivered pictures at their points, those of other classes than ``k`` pale."""
    if not pictures:
        return []
    width, height = (PICTURE_SIZE * np.maximum(extent, 1e-9)).tolist()
    shared = {"xref": "x", "yref": "y", "sizex": width, "sizey": height, "xanchor": "center", "yanchor": "middle"}
    found = []
    for i in np.flatnonzero(points.kind == "attacked").tolist():
        x, y = positions[i].tolist()
        opacity = 1 if k in (None, points.label[i]) else 0.2
        own = {"source": pictures[points.picture[i]], "x": x, "y": y, "opacity": opacity, "layer": "below"}
        found.append(shared | own)
    return found


def _path(points: CloudPoints, picture: int | None) -> list[tuple[int, str]]:
    """Points on the way of a picture, each with its role: clean, attacked, and its cached views."""
    mine = points.picture == picture
    kinds = ("clean", "clean"), ("attacked", "attack"), ("cached", "cache")
    path = [(i, role) for kind, role in kinds for i in np.flatnonzero((points.kind == kind) & mine).tolist()]
    return path if {"clean", "attack"} <= {role for _, role in path} else []


def _add_path(
    figure: Figure, positions: np.ndarray, path: list[tuple[int, str]], data: list[list], panel: dict[str, str]
) -> None:
    for number, (end, role) in enumerate(path[1:]):
        x, y = positions[[path[min(number, 1)][0], end]].T  # to the attacked picture, and from there on
        figure.add_line(COLOURS[role], 2, "dash" if number else "solid", x=x, y=y, name="path", **panel)
    if path:
        x, y = positions[[i for i, _ in path]].T
        symbols = {"clean": "circle", "attack": "x", "cache": "diamond"}
        marker = {
            "size": 14,
            "symbol": [symbols[role] for _, role in path],
            "color": [COLOURS[role] for _, role in path],
        }
        marker["line"] = {"width": 2, "color": COLOURS["surface"]}
        figure.add_marks(x=x, y=y, name="path ends", customdata=[data[i] for i, _ in path], marker=marker, **panel)


def _legend(path: list[tuple[int, str]], cached: bool) -> str:
    """The legend of the drawn shapes and lines that belong to no class."""
    entries = [("text", "○", KIND_TITLES["cached"])] if cached else []
    entries.append(("text", "⋈", KIND_TITLES["prompt"]))
    if path:
        entries.append(("attack", "━", f"from the {KIND_TITLES['clean']} to the {KIND_TITLES['attacked']}"))
    if len(path) > 2:
        entries.append(("cache", "┅", "and on to its views in the memory"))
    return legend(entries)


def _hover_text(points: CloudPoints, i: int, names: Sequence[str], ids: Sequence[str]) -> str:
    kind, name = str(points.kind[i]), escaped(names[int(points.label[i])], 60)
    text = f"{KIND_TITLES[kind]}, {'filed under ' if kind == 'cached' else ''}{name}"
    picture = int(points.picture[i])
    return f"{text}<br>{escaped(ids[picture], 60)}" if 0 <= picture < len(ids) else text
