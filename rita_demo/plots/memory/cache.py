"""The cache's share in a decision, and the effect of Procrustes on one class's cached views."""

import math
from typing import Any

import numpy as np

from rita_demo.plots.decision.costs import shown_classes
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped
from rita_demo.plots.shapes import outlined, row_band
from rita_demo.plots.theme import COLOURS, annotation, axis, category_axis, finalise
from rita_demo.records import ProcrustesPlane, Run, Trace

ARC_RADIUS = 0.3  # radius of the arc that shows the rotation
#: field of the record, colour, marker and legend of each stage
STAGES: tuple[tuple[str, str, str, str], ...] = (
    ("before", COLOURS["cache"], "circle-open", "○ before"),
    ("smallest", COLOURS["defence"], "diamond", "◆ smallest rotation"),
    ("svd", COLOURS["quiet"], "x-thin", "× SVD"),
)


def cache_distances(run: Run, empty: Trace, selected: int | None = None, *, full: Trace | None = None) -> Figure:
    """d_cOT of the delivered picture with the cache (purple) and with an empty one (grey ring), per class.

    Marks carry ``customdata = (class, d_cOT, views in the cache, name)``.

    Args:
        run: its delivered picture was decided with the cache.
        empty: the same picture decided with an empty cache.
        selected: a class to mark with a band.
        full: the same picture decided with another cache than the run's.
    """
    full = full or run.attacked.trace
    shown, names = shown_classes(run, selected, 10), run.class_prompts.names
    place = {k: len(shown) - 1 - i for i, k in enumerate(shown)}
    distances = [[float(trace.cache_distance[k]) for k in shown] for trace in (empty, full)]
    figure, changes = Figure(), []
    for k, then, now in zip(shown, *distances, strict=True):
        line = {"color": COLOURS["cache"], "width": 2}
        figure.add_scatter(x=[then, now], y=[place[k]] * 2, mode="lines", hoverinfo="skip", line=line)
        if abs(now - then) >= 5e-5:
            changes.append(f"{names[k]} {now:.4f} instead of {then:.4f}")
    for trace, distance, name, colour, symbol in (
        (empty, distances[0], "empty memory", COLOURS["quiet"], "circle-open"),
        (full, distances[1], "with the memory", COLOURS["cache"], "diamond"),
    ):
        figure.add_marks(
            f"%{{customdata[3]}}<br>{name}: d_cOT %{{x:.4f}}, %{{customdata[2]}} views held",
            x=distance,
            y=[place[k] for k in shown],
            name=name,
            customdata=[[k, d, int(trace.cache.count[k]), escaped(names[k])] for k, d in zip(shown, distance)],
            marker=outlined(symbol, colour, 10),
        )
    legend = f'<span style="color:{COLOURS["cache"]}">◆ with the memory</span>   ○ with an empty one'
    alt = f"Cost of the memory with and without its views: {'; '.join(changes)}."
    return finalise(
        figure,
        kind="cache_distances",
        alt=alt if changes else "The memory changes no class's cost.",
        pickable=True,
        hovermode="closest",
        annotations=[annotation(legend, 0, 1, yshift=8, xshift=-120)],
        shapes=row_band(None if selected is None else place.get(selected)),
        margin={"l": 130, "r": 16, "t": 34, "b": 44},
        xaxis=axis(title="cost in the memory (cosine distance)", nticks=6),
        yaxis=category_axis([escaped(names[k], 16) for k in reversed(shown)]),
    )


def procrustes_plane(one: ProcrustesPlane, name: str, selected: int | None = None) -> Figure:
    """A class's cached views before and after the rotation, in the plane of both mean directions.

    The circle has radius 1; a view on it lies wholly in the plane. The arc is the rotation. Both solutions rotate the
    mean onto the prompts' direction; the hover text gives their movement outside the plane. Marks carry
    ``customdata = (slot, distance moved outside the plane)``.

    Args:
        one: the class's views in the plane. name: name of the class.
        selected: a slot to draw large; the others are grey.
    """
    figure = Figure()
    _add_directions(figure, one)
    faint = {"color": COLOURS["faint"], "width": 1}
    for (x0, y0), (x1, y1) in zip(one.before.tolist(), one.smallest.tolist()):
        figure.add_scatter(x=[x0, x1], y=[y0, y1], mode="lines", hoverinfo="skip", line=faint)
    _add_views(figure, one, selected)
    lowest = min(-0.25, float(min(getattr(one, s)[:, 1].min() for s, *_ in STAGES)) - 0.1)
    left = min(-0.1, float(one.mean[0]), float(one.before[:, 0].min())) - 0.05
    along, across = (f"({100 * float(share):.0f} % before)" for share in one.share[0])
    circle = {"type": "circle", "x0": -1, "x1": 1, "y0": -1, "y1": 1, "layer": "below"}
    return finalise(
        figure,
        kind="procrustes_plane",
        alt=f"{len(one.before)} cached views of {name}: their mean is rotated by {math.degrees(one.angle):.0f} degrees "
        f"onto the prompts. Outside this plane the smallest rotation moves them by "
        f"{float(one.moved_smallest.max()):.2f}, the SVD by {float(one.moved_svd.max()):.2f}.",
        pickable=True,
        hovermode="closest",
        annotations=_plane_annotations(one, name),
        shapes=[circle | {"line": {"color": COLOURS["axis"], "width": 1}}],
        margin={"l": 52, "r": 12, "t": 34, "b": 48},
        xaxis=axis(range=[left, 1.12], title=f"along the prompts’ mean direction {along}", constrain="domain"),
        yaxis=axis(
            range=[lowest, 1.12], title=f"across it, towards the views {across}", scaleanchor="x", constrain="domain"
        ),
        narrow={"xaxis.title.text": f"along the prompts’ mean {along}", "yaxis.title.text": f"across it {across}"},
    )


def _add_directions(figure: Figure, one: ProcrustesPlane) -> None:
    """Both mean directions, and the arc of the rotation between them."""
    for end, colour, dash in ((one.mean, COLOURS["cache"], "dot"), ((1.0, 0.0), COLOURS["text"], "solid")):
        line = {"color": colour, "width": 2, "dash": dash}
        figure.add_scatter(x=[0, float(end[0])], y=[0, float(end[1])], mode="lines", hoverinfo="skip", line=line)
    turn = np.linspace(one.angle, 0.0, 40)
    figure.add_scatter(
        x=ARC_RADIUS * np.cos(turn),
        y=ARC_RADIUS * np.sin(turn),
        mode="lines+markers",
        name="rotation",
        hoverinfo="skip",
        line={"color": COLOURS["defence"], "width": 2},
        marker={"symbol": "arrow", "angleref": "previous", "color": COLOURS["defence"], "size": [0] * 39 + [11]},
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
    legend = "   ".join(f'<span style="color:{c}">{w}</span>' for _, c, _, w in STAGES)
    x, y = (float(v) for v in one.mean)
    right = x > 0.6  # no space outside the circle: inside, above the line
    prompts, angle = f"prompts of {escaped(name, 20)}", f"{math.degrees(one.angle):.0f}°"
    middle = (ARC_RADIUS * math.cos(one.angle / 2), ARC_RADIUS * math.sin(one.angle / 2))

    def inside(text: str, x: float, y: float, role: str, size: int = 12, **more: Any) -> dict:
        return annotation(text, x, y, xref="x", yref="y", font={"size": size, "color": COLOURS[role]}, **more)

    anchor = "right" if right else "left"
    return [
        annotation(legend, 0, 1, yshift=8, xshift=-40),
        inside(prompts, 0.96, 0, "text", xanchor="right", yanchor="top", yshift=-3),
        inside("mean of the cached views", x - 0.06 * right, y, "cache", yshift=5, xanchor=anchor),
        inside(angle, *middle, "defence", 13, xshift=4),
    ]
