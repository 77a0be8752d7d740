"""The paper's motivation: attacked pictures beside their views, coloured by true class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import safe
from rita_demo.plots.theme import COLOURS, axis, class_look, empty, finish, note, patch
from rita_demo.surveys import Marks

PANELS = (("attacked", "x", "y"), ("view", "x2", "y2"))
SIZES = {"attacked": 9, "view": 5, "cached": 12, "prompt": 13}
WORDS = {
    "clean": "clean picture",
    "attacked": "picture as delivered",
    "view": "view of it",
    "cached": "view in the memory",
    "prompt": "mean prompt",
}


def cloud(
    marks: Marks,
    places: np.ndarray,
    names: Sequence[str],
    *,
    how: str,
    k: int | None = None,
    picture: int | None = None,
    ids: Sequence[str] = (),
) -> Figure:
    """Left the attacked pictures, right their views, in the same plane and with the same axes.

    A class's colour and shape are its place among the classes that occur. Rings are views in the
    memory (filed under a class), bow ties mean prompts. With ``k`` the other classes go grey; with
    ``picture`` a line leads from the clean picture over the attacked one to its views in the memory.

    Args:
        marks: P points; places: (P, 2); names: of the K classes; how: "PCA" or "UMAP", and what is to
            be said about it.

    Returns:
        A figure whose marks carry ``customdata = (point, words)``; they can be gathered by lasso.
    """
    if not len(places):
        return empty("No pictures were gathered yet.")
    present = [int(one) for one in np.unique(marks.label[marks.picture >= 0])]
    look = {label: class_look(place) for place, label in enumerate(present)}
    figure = Figure()
    for kind, x, y in PANELS:
        shown = (kind, "prompt") if kind == "attacked" else (kind, "cached", "prompt")
        for one in shown:
            here = np.flatnonzero((marks.kind == one) & np.isin(marks.label, present))
            if len(here):
                figure.add_trace(_dots(marks, places, names, here, one, look, k, ids, x, y))
        if picture is not None:
            _path(figure, marks, places, names, picture, ids, x, y)
    low, high = places.min(0), places.max(0)
    edge = 0.06 * np.maximum(high - low, 1e-9)
    rangex = [float(low[0] - edge[0]), float(high[0] + edge[0])]
    rangey = [float(low[1] - edge[1]), float(high[1] + edge[1])]
    bare = {
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "showline": True,
        "mirror": True,
    }
    titles = (f"<b>(a)</b> {marks.whole}", "<b>(b)</b> their views, and the memory")
    key = _key(figure, bool((marks.kind == "cached").any()))
    below = {"xaxis.domain": [0, 1], "xaxis2.domain": [0, 1], "yaxis.domain": [0.54, 1],
             "yaxis2.domain": [0, 0.46], "annotations.1.x": 0, "annotations.1.y": 0.46,
             "margin.t": 84}  # fmt: skip
    return finish(
        figure,
        kind=f"cloud {how[:4]}",
        alt=_spoken(marks, names, how, k),
        pickable=True,
        select=True,
        narrow=below,
        hovermode="closest",
        annotations=[note(titles[0], 0, 1, yshift=3), note(titles[1], 0.515, 1, yshift=3),
                     note(how, 0, 0, yshift=-22, yanchor="top"),
                     note(key, 0, 1, yshift=24)],
        wrap=[2, 3],
        margin={"l": 8, "r": 8, "t": 50, "b": 62},
        xaxis=axis(domain=[0, 0.485], range=rangex, anchor="y", **bare),
        yaxis=axis(domain=[0, 1], range=rangey, anchor="x", **bare),
        xaxis2=axis(domain=[0.515, 1], range=rangex, anchor="y2", **bare),
        yaxis2=axis(domain=[0, 1], range=rangey, anchor="x2", **bare),
    )  # fmt: skip


def _key(figure: Figure, remembered: bool) -> str:
    """What the shapes and lines that stand for no class mean, those that are drawn."""
    lines = {trace["line"]["dash"] for trace in figure.traces if trace["name"] == "path"}
    parts = [patch(COLOURS["text"], "○", WORDS["cached"])] if remembered else []
    parts.append(patch(COLOURS["text"], "⋈", WORDS["prompt"]))
    if "solid" in lines:
        parts += [
            patch(COLOURS["attack"], "━", f"from the {WORDS['clean']} to the {WORDS['attacked']}")
        ]
    if "dash" in lines:
        parts += [patch(COLOURS["cache"], "┅", "and on to its views in the memory")]
    return "   ".join(parts)


def _dots(
    marks: Marks, places: np.ndarray, names: Sequence[str], here: np.ndarray, kind: str,
    look: dict[int, tuple[int, str, str, str]], k: int | None, ids: Sequence[str], x: str, y: str,
) -> dict[str, Any]:  # fmt: skip
    """All marks of one kind in one panel: colour and shape by class, grey where another is looked at."""
    labels = [int(one) for one in marks.label[here]]
    shades = [COLOURS["faint"] if k not in (None, one) else look[one][1] for one in labels]
    marker = {"color": shades, "symbol": [look[one][2] for one in labels], "size": SIZES[kind]}
    if kind == "cached":
        marker |= {"symbol": "circle-open", "line": {"width": 2.5, "color": shades}}
    elif kind == "prompt":
        marker |= {"symbol": "bowtie", "line": {"width": 1, "color": COLOURS["surface"]}}
    else:
        marker |= {"opacity": 0.85 if kind == "attacked" else 0.6}
    return {
        "type": "scatter",
        "x": places[here, 0], "y": places[here, 1], "xaxis": x, "yaxis": y, "mode": "markers", "name": kind,
        "marker": marker, "customdata": [[int(i), _words(marks, int(i), names, ids)] for i in here],
        "hovertemplate": "%{customdata[1]}<extra></extra>",
    }  # fmt: skip


def _path(
    figure: Figure, marks: Marks, places: np.ndarray, names: Sequence[str], picture: int,
    ids: Sequence[str], x: str, y: str,
) -> None:  # fmt: skip
    """Clean, attacked, and from there to every view of the picture that the memory holds."""
    clean, attacked = (
        np.flatnonzero((marks.kind == kind) & (marks.picture == picture))
        for kind in ("clean", "attacked")
    )
    held = np.flatnonzero((marks.kind == "cached") & (marks.picture == picture))
    if not len(clean) or not len(attacked):
        return
    legs = [(clean[0], attacked[0], COLOURS["attack"], "solid")]
    legs += [(attacked[0], one, COLOURS["cache"], "dash") for one in held]
    for start, end, colour, dash in legs:
        figure.add_scatter(
            x=places[[start, end], 0], y=places[[start, end], 1], xaxis=x, yaxis=y, mode="lines",
            name="path", hoverinfo="skip", line={"color": colour, "width": 2, "dash": dash},
        )  # fmt: skip
    ends = [(clean[0], "clean", "circle"), (attacked[0], "attack", "x")]
    ends += [(one, "cache", "diamond") for one in held]
    figure.add_scatter(
        x=[places[i, 0] for i, *_ in ends], y=[places[i, 1] for i, *_ in ends], xaxis=x, yaxis=y,
        mode="markers", name="path ends",
        customdata=[[int(i), _words(marks, int(i), names, ids)] for i, *_ in ends],
        hovertemplate="%{customdata[1]}<extra></extra>",
        marker={"size": 14, "symbol": [s for *_, s in ends], "color": [COLOURS[c] for _, c, _ in ends],
                "line": {"width": 2, "color": COLOURS["surface"]}},
    )  # fmt: skip


def _words(marks: Marks, i: int, names: Sequence[str], ids: Sequence[str]) -> str:
    kind, name = str(marks.kind[i]), safe(names[int(marks.label[i])], 60)
    said = f"{WORDS[kind]}, {'filed under ' if kind == 'cached' else ''}{name}"
    picture = int(marks.picture[i])
    return f"{said}<br>{safe(ids[picture], 60)}" if 0 <= picture < len(ids) else said


def _spoken(marks: Marks, names: Sequence[str], how: str, k: int | None) -> str:
    counts = {kind: int((marks.kind == kind).sum()) for kind in ("attacked", "view", "cached")}
    classes = len(np.unique(marks.label[marks.kind == "attacked"]))
    looked = f" Looked at: {names[k]}." if k is not None else ""
    return (
        f"{how}: {counts['attacked']} {marks.whole} of {classes} classes on the left, "
        f"{counts['view']} of their views and {counts['cached']} views in the memory on the right."
        f"{looked} The table below says in numbers how far the classes are apart."
    )
