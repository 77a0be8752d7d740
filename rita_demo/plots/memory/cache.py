"""The cache's share in a decision, and the effect of Procrustes on one class's cached views."""

import math
from typing import Any

import numpy as np

from rita_demo.plots.decision.costs import shown_classes
from rita_demo.plots.figure import Figure, Spec
from rita_demo.plots.labels import escaped
from rita_demo.plots.shapes import category_axis, outlined, row_band
from rita_demo.plots.theme import COLOURS, annotation, axis, finalise
from rita_demo.records import ProcrustesPlane, Run, Trace

MIN_CHANGE = 5e-5  # a smaller change of a cosine distance rounds to nothing
ARC_RADIUS = 0.3  # radius of the arc that shows the rotation
#: field of the record, colour, marker and legend of each stage
STAGES: tuple[tuple[str, str, str, str], ...] = (
    ("before", COLOURS["cache"], "circle-open", "○ before"),
    ("smallest", COLOURS["defence"], "diamond", "◆ smallest rotation"),
    ("svd", COLOURS["quiet"], "x-thin", "× SVD"),
)


def cache_distances(run: Run, empty: Trace, selected: int | None = None, *, full: Trace | None = None) -> Figure:
    """d_cOT of the delivered picture with the cache (purple) and with an empty one (grey ring), per class.

    ``empty``: the delivered picture of the run decided with an empty cache; ``full``: with another cache than the run's;
    ``selected``: a class to mark with a band. The class that changes most is always shown. Marks carry ``customdata = (class, d_cOT, views in the cache, name)``."""
    full = full or run.attacked.trace
    change = np.abs(np.asarray(full.cache_distance) - np.asarray(empty.cache_distance))
    most = [int(change.argmax())] if change.max() >= MIN_CHANGE else []
    shown, names = list(dict.fromkeys([*shown_classes(run, selected, 10), *most])), run.class_prompts.names
    place = {k: len(shown) - 1 - i for i, k in enumerate(shown)}
    then, now = (np.asarray(trace.cache_distance, float)[shown].tolist() for trace in (empty, full))
    figure, changes = Figure(), []
    for k, *ends in zip(shown, then, now, strict=True):
        figure.add_line(COLOURS["cache"], 2, x=ends, y=[place[k]] * 2)
        if abs(ends[1] - ends[0]) >= MIN_CHANGE:
            changes.append(f"{names[k]} {ends[1]:.4f} instead of {ends[0]:.4f}")
    for trace, distance, name, marker in (
        (empty, then, "empty memory", outlined("circle-open", COLOURS["quiet"], 10)),
        (full, now, "with the memory", outlined("diamond", COLOURS["cache"], 10)),
    ):
        figure.add_marks(
            f"%{{customdata[3]}}<br>{name}: d_cOT %{{x:.4f}}, %{{customdata[2]}} views held",
            x=distance,
            y=list(place.values()),
            name=name,
            customdata=[[k, d, int(trace.cache.count[k]), escaped(names[k])] for k, d in zip(shown, distance)],
            marker=marker,
        )
    words = f'<span style="color:{COLOURS["cache"]}">◆ with the memory</span>   ○ with an empty one'
    alt = f"Cost of the memory with and without its views: {'; '.join(changes)}."
    return finalise(
        figure,
        kind="cache_distances",
        alt=alt if changes else "None of the classes shown changes.",
        pickable=True,
        annotations=[annotation(words, 0, 1, yshift=8, xshift=-120)],
        shapes=row_band(None if selected is None else place.get(selected)),
        margin={"l": 130, "r": 16, "t": 34, "b": 44},
        xaxis=axis(title="cost in the memory (cosine distance)", nticks=6),
        yaxis=category_axis([escaped(names[k], 16) for k in reversed(shown)]),
    )


def procrustes_plane(one: ProcrustesPlane, name: str, selected: int | None = None) -> Figure:
    """A class's cached views before and after the rotation, in the plane of both mean directions.

    The circle has radius 1; a view on it lies wholly in the plane. The arc is the rotation. Both solutions rotate the
    mean onto the prompts' direction; the hover text gives their movement outside the plane. A ``selected`` slot is large,
    the others are grey. Marks carry ``customdata = (slot, distance moved outside the plane)``."""
    figure = Figure()
    figure.add_line(COLOURS["cache"], 2, "dot", x=[0, one.mean[0]], y=[0, one.mean[1]])
    figure.add_line(COLOURS["text"], 2, x=[0, 1], y=[0, 0])
    turn = np.linspace(one.angle, 0.0, 40)
    head = {"symbol": "arrow", "angleref": "previous", "color": COLOURS["defence"], "size": [0] * 39 + [11]}
    arc = {"x": ARC_RADIUS * np.cos(turn), "y": ARC_RADIUS * np.sin(turn), "mode": "lines+markers", "marker": head}
    figure.add_line(COLOURS["defence"], 2, name="rotation", **arc)
    for (x0, y0), (x1, y1) in zip(one.before, one.smallest):
        figure.add_line(COLOURS["faint"], 1, x=[x0, x1], y=[y0, y1])
    _add_views(figure, one, selected)
    lowest = min(-0.25, float(min(getattr(one, s)[:, 1].min() for s, *_ in STAGES)) - 0.1)
    left = min(-0.1, float(one.mean[0]), float(one.before[:, 0].min())) - 0.05
    along, across = (f"({100 * float(share):.0f} % before)" for share in one.share[0])
    circle = {"type": "circle", "x0": -1, "x1": 1, "y0": -1, "y1": 1, "layer": "below"}
    return finalise(
        figure,
        kind="procrustes_plane",
        alt=f"{len(one.before)} cached view{'s' * (len(one.before) > 1)} of {name}: their mean is rotated by {math.degrees(one.angle):.0f} degrees "
        f"onto the prompts. Outside this plane the smallest rotation moves them by "
        f"{float(one.moved_smallest.max()):.2f}, the SVD by {float(one.moved_svd.max()):.2f}.",
        pickable=True,
        annotations=_plane_annotations(one, name),
        shapes=[circle | {"line": {"color": COLOURS["axis"], "width": 1}}],
        margin={"l": 52, "r": 12, "t": 34, "b": 48},
        xaxis=axis(range=[left, 1.12], title=f"along the prompts’ mean direction {along}", constrain="domain"),
        yaxis=axis(
            range=[lowest, 1.12], title=f"across it, towards the views {across}", scaleanchor="x", constrain="domain"
        ),
        narrow={"xaxis.title.text": f"along the prompts’ mean {along}", "yaxis.title.text": f"across it {across}"},
    )


def _add_views(figure: Figure, one: ProcrustesPlane, selected: int | None) -> None:
    """Every view at each stage; the selected one large, the others grey."""
    moved = {"before": np.zeros(len(one.before)), "smallest": one.moved_smallest, "svd": one.moved_svd}
    slots = range(len(one.before))
    for stage, colour, symbol, words in STAGES:
        points = getattr(one, stage)
        tones = [colour if selected in (None, j) else COLOURS["other"] for j in slots]
        figure.add_marks(
            f"slot %{{customdata[0]}}, {words[2:]}<br>moved outside this plane by %{{customdata[1]:.3f}}",
            x=points[:, 0],
            y=points[:, 1],
            name=stage,
            customdata=[[j, float(m)] for j, m in enumerate(moved[stage])],
            marker=outlined(symbol, tones, [15 if j == selected else 10 for j in slots]),
        )


def _plane_annotations(one: ProcrustesPlane, name: str) -> list[dict]:
    words = "   ".join(f'<span style="color:{c}">{w}</span>' for _, c, _, w in STAGES)
    x, y = one.mean.tolist()
    right = x > 0.6  # no space outside the circle: inside, above the line
    middle = (ARC_RADIUS * math.cos(one.angle / 2), ARC_RADIUS * math.sin(one.angle / 2))

    def inside(text: str, x: float, y: float, role: str, size: int = 12, **more: Any) -> dict:
        return annotation(text, x, y, xref="x", yref="y", font={"size": size, "color": COLOURS[role]}, **more)

    at: Spec = {"yshift": 5, "xanchor": "right" if right else "left"}
    return [
        annotation(words, 0, 1, yshift=8, xshift=-40),
        inside(f"prompts of {escaped(name, 20)}", 0.96, 0, "text", xanchor="right", yanchor="top", yshift=-3),
        inside("mean of the cached views", x - 0.06 * right, y, "cache", **at),
        inside(f"{math.degrees(one.angle):.0f}°", *middle, "defence", 13, xshift=4),
    ]
