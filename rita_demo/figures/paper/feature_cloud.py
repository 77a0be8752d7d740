"""Features of clean and attacked pictures and of their crops in one plane, coloured by true class."""

from collections.abc import Sequence

import numpy as np

from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.labels import escaped, legend
from rita_demo.figures.theme import COLOURS, annotation, axis, class_style, finalise, message_figure
from rita_demo.records.measurement import CloudPoints

#: Kinds of points that are drawn, the lowest first; a class has its colour and its shape in all of them.
MARKERS: dict[str, Spec] = {
    "view": {"size": 5, "opacity": 0.5},
    "clean": {"size": 11, "opacity": 1, "line": {"width": 1, "color": COLOURS["surface"]}},
    "attacked": {"size": 10, "opacity": 1, "line": {"width": 2}},
}
SIGNS = {"clean": "●", "attacked": "○", "view": "•"}
MOST_IN_LEGEND = 20  # classes: more do not differ in colour and shape for a reader
ISLAND = 38  # pixels, width of the shade around a point
PAGE = (852, 610)  # pixels of the plane on the page, for which the class names are placed
PICTURE_SIDE, LABEL_HEIGHT = 40, 44  # pixels of it
LETTER_WIDTH = 16  # of a name on a phone, in pixels of the page: there it covers more of the plane


def feature_cloud(
    points: CloudPoints,
    positions: np.ndarray,
    names: Sequence[str],
    *,
    projection: str,
    k: int | None = None,
    picture: int | None = None,
    point: int | None = None,
    ids: Sequence[str] = (),
    pictures: Sequence[str] | None = None,
) -> Figure:
    """Clean pictures are full, attacked ones hollow, crops small.

    The index of a class among those present gives its colour and shape. Marks carry ``customdata = (point, hover text)`` and can
    be selected by lasso.

    Args:
        points: P points at ``positions`` (P, 2), in the plane; ``names`` of the K classes, ``ids`` of the pictures.
        projection: "PCA" or "UMAP", and a remark on it.
        k: the selected class; the others are grey.
        picture: a line leads from this clean picture to the attacked one, and its crops are ringed. ``point``: one of its
            points, with a larger ring.
        pictures: class names stand beside their points, each with its picture here (an address, "" for none); None for print:
            the legend has them.
    """
    if not len(positions):
        return message_figure("No pictures were collected yet.")
    drawn = np.isin(points.kind, list(MARKERS))
    present = np.unique(points.label[drawn]).tolist()
    look = {label: class_style(place) for place, label in enumerate(present)}
    shade = {one: COLOURS["faint"] if k not in (None, one) else look[one][1] for one in present}
    figure = Figure()
    for one in present:
        here = drawn & (points.label == one)
        island: Spec = {"size": ISLAND, "color": shade[one], "opacity": 1, "line": {"width": 0}}
        figure.add_scatter(
            **{"x": positions[here, 0], "y": positions[here, 1], "mode": "markers", "marker": island, "opacity": 0.1},
            **{"hoverinfo": "skip", "name": "island", "unselected": {"marker": {"opacity": 1}}},
        )
    for kind, marker in MARKERS.items():
        here = np.flatnonzero(points.kind == kind)
        labels = points.label[here].tolist()
        figure.add_marks(
            x=positions[here, 0],
            y=positions[here, 1],
            name=kind,
            marker={
                "color": [shade[one] for one in labels],
                "symbol": [look[one][2] + "-open" * (kind == "attacked") for one in labels],
            }
            | marker,
            customdata=[[i, _hover_text(points, i, names, ids)] for i in here.tolist()],
        )
    _add_story(figure, points, positions, picture, point)
    low, high = positions[drawn].min(0), positions[drawn].max(0)
    edge = 0.07 * np.maximum(high - low, 1e-9)
    place = (positions[drawn] - low + edge) / (high - low + 2 * edge)
    notes, images = [], []
    if pictures is not None:
        for one, (x, y, right) in _label_places(points, place, drawn, names).items():
            has_picture = bool(pictures[one])
            shift = (PICTURE_SIDE + 8) * has_picture / PAGE[0]
            notes.append(
                annotation(
                    f"<b>{escaped(names[one], 20)}</b>",
                    *(x - shift if right else x + shift, y),
                    xanchor="right" if right else "left",
                    yanchor="middle",
                    font={"size": 12, "color": shade[one]},
                )
            )
            if has_picture:
                across, up = (PICTURE_SIDE / length for length in PAGE)
                where = {"xref": "paper", "yref": "paper", "x": x, "y": y, "sizex": across, "sizey": up}
                at = {"xanchor": "right" if right else "left", "yanchor": "middle", "layer": "above"}
                images.append({"source": pictures[one], "opacity": 1 if k in (None, one) else 0.3, **where, **at})
    across, up = np.stack([low - edge, high + edge], 1).tolist()
    bare = {"showticklabels": False, "showgrid": False, "showline": False}
    counts = {kind: int((points.kind == kind).sum()) for kind in MARKERS}
    below = legend((look[one][1], look[one][3], escaped(names[one], 30)) for one in present[:MOST_IN_LEGEND])
    if len(present) > MOST_IN_LEGEND:
        below += f", and {len(present) - MOST_IN_LEGEND} more classes"
    selected = f" Selected: {names[k]}." if k is not None else ""
    return finalise(
        figure,
        kind=f"cloud {projection[:4]}",
        marks=("point",),
        select=True,
        legend_below=f"{legend(('text', SIGNS[kind], title) for kind, title in kind_titles(points).items())}   {below}",
        alt=f"{projection} {counts['clean']} clean pictures of {len(present)} classes, the same as delivered "
        f"({points.pictures_name}), and {counts['view']} crops of these.{selected}",
        annotations=notes,
        images=images,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        xaxis=axis(range=across, **bare),
        yaxis=axis(range=up, **bare),
    )


def kind_titles(points: CloudPoints) -> dict[str, str]:
    """Kind of mark -> what it is of."""
    if points.pictures_name == "attacked pictures":
        return {"clean": "clean", "attacked": "attacked", "view": "crop of the attacked picture"}
    return {"clean": "clean", "attacked": "as delivered", "view": "crop of the delivered picture"}


def _add_story(
    figure: Figure, points: CloudPoints, positions: np.ndarray, picture: int | None, point: int | None
) -> None:
    """The way of a picture from clean to attacked, and rings around its crops and the chosen ``point``."""
    mine = {kind: np.flatnonzero((points.kind == kind) & (points.picture == picture)) for kind in MARKERS}
    if picture is None or not (len(mine["clean"]) and len(mine["attacked"])):
        return
    x, y = positions[[mine["clean"][0], mine["attacked"][0]]].T
    figure.add_line(COLOURS["text"], 2, "dot", x=x, y=y, name="path")
    chosen = mine["attacked"][0] if point is None else point
    for name, some, size in (("its crops", mine["view"], 9), ("chosen", [chosen], 22)):
        x, y = positions[np.array(some)].T
        ring = {"symbol": "circle-open", "size": size, "color": COLOURS["text"], "line": {"width": 2}}
        figure.add_scatter(x=x, y=y, mode="markers", name=name, hoverinfo="skip", marker=ring)


def _label_places(
    points: CloudPoints, place: np.ndarray, drawn: np.ndarray, names: Sequence[str]
) -> dict[int, tuple[float, float, bool]]:
    """Where the name of each class stands in the plane (0 to 1), and whether it ends there: beside its middle clean picture,
    where it covers the fewest points and no other name. ``place`` (P, 2) of the drawn points."""
    where = place * PAGE
    label, kind = points.label[drawn], points.kind[drawn]
    taken: list[np.ndarray] = []  # left, bottom, right, top
    places = {}
    for one in np.unique(label).tolist():
        clean = where[(label == one) & (kind == "clean")]
        if not len(clean):
            continue
        middle = clean[np.linalg.norm(clean[:, None] - clean[None], axis=2).sum(1).argmin()]
        wide = PICTURE_SIDE + 12 + LETTER_WIDTH * min(len(names[one]), 20)
        best: tuple[float, np.ndarray, bool] | None = None
        for away in (48, 72, 100, 140):
            for turn in np.arange(0, 2 * np.pi, np.pi / 8):
                x, y = middle + away * np.array([np.cos(turn), np.sin(turn)])
                right = bool(np.cos(turn) < -0.1)
                box = np.array([x - wide if right else x, y - LABEL_HEIGHT / 2, x if right else x + wide, y])
                box[3] += LABEL_HEIGHT / 2
                inside = ((where > box[:2] - 4) & (where < box[2:] + 4)).all(1).sum()
                outside = (box[:2] < 4).any() or (box[2:] > np.array(PAGE) - 4).any()
                covered = any((box[:2] < other[2:]).all() and (other[:2] < box[2:]).all() for other in taken)
                price = float(inside + away / 20 + 1000 * (outside + covered))
                if best is None or price < best[0]:
                    best = price, box, right
        assert best is not None
        _, box, right = best
        taken.append(box)
        places[one] = (float(box[2 if right else 0] / PAGE[0]), float((box[1] + box[3]) / 2 / PAGE[1]), right)
    return places


def _hover_text(points: CloudPoints, i: int, names: Sequence[str], ids: Sequence[str]) -> str:
    text = f"{escaped(names[int(points.label[i])], 60)}, {kind_titles(points)[str(points.kind[i])]}"
    picture = int(points.picture[i])
    return f"{text}<br>{escaped(ids[picture], 60)}" if 0 <= picture < len(ids) else text
