"""The cache's share in a decision, and the effect of Procrustes on one class's cached views."""

from __future__ import annotations

import math

import numpy as np

from rita_demo.plots.decision.costs import shown_classes
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped
from rita_demo.plots.shapes import row_band
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

    Args:
        run: its delivered picture was decided with the cache.
        empty: the same picture decided with an empty cache.
        selected: a class to mark with a band.
        full: the same picture decided with another cache than the run's.

    Returns:
        A figure whose marks carry ``customdata = (class, d_cOT, views in the cache, name)``.
    """
    full = full or run.attacked.trace
    shown, names = shown_classes(run, selected, 10), run.class_prompts.names
    place = {k: len(shown) - 1 - i for i, k in enumerate(shown)}
    figure = Figure()
    for k in shown:
        pair = [float(empty.cache_distance[k]), float(full.cache_distance[k])]
        figure.add_scatter(
            x=pair, y=[place[k]] * 2, mode="lines", hoverinfo="skip", line={"color": COLOURS["cache"], "width": 2}
        )
    for trace, name, colour, symbol in (
        (empty, "empty memory", COLOURS["quiet"], "circle-open"),
        (full, "with the memory", COLOURS["cache"], "diamond"),
    ):
        distance = [float(trace.cache_distance[k]) for k in shown]
        figure.add_scatter(
            x=distance,
            y=[place[k] for k in shown],
            mode="markers",
            name=name,
            customdata=[[k, d, int(trace.cache.count[k]), escaped(names[k])] for k, d in zip(shown, distance)],
            marker={"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2, "color": colour}},
            hovertemplate=f"%{{customdata[3]}}<br>{name}: d_cOT %{{x:.4f}}, "
            "%{customdata[2]} views held<extra></extra>",
        )
    legend = f'<span style="color:{COLOURS["cache"]}">◆ with the memory</span>   ○ with an empty one'
    return finalise(
        figure,
        kind="cache_distances",
        alt=_alt_text(run, full, empty, shown),
        pickable=True,
        hovermode="closest",
        annotations=[annotation(legend, 0, 1, yshift=8, xshift=-120)],
        shapes=row_band(None if selected is None else place.get(selected)),
        margin={"l": 130, "r": 16, "t": 34, "b": 44},
        xaxis=axis(title="d<sub>cOT</sub> (cosine distance)", nticks=6),
        yaxis=category_axis([escaped(names[k], 16) for k in reversed(shown)]),
    )


def _alt_text(run: Run, full: Trace, empty: Trace, shown: list[int]) -> str:
    pairs = [(k, float(full.cache_distance[k]), float(empty.cache_distance[k])) for k in shown]
    parts = [
        f"{run.class_prompts.names[k]} {now:.4f} instead of {then:.4f}"
        for k, now, then in pairs
        if abs(now - then) >= 5e-5
    ]
    if not parts:
        return "The memory changes no class's cost."
    return "Cost of the memory with and without its views: " + "; ".join(parts) + "."


def procrustes_plane(one: ProcrustesPlane, name: str, selected: int | None = None) -> Figure:
    """A class's cached views before and after the rotation, in the plane of both mean directions.

    The circle has radius 1; a view on it lies wholly in the plane. The arc is the rotation. Both solutions rotate the
    mean onto the prompts' direction; the hover text gives their movement outside the plane.

    Args:
        one: the class's views in the plane.
        name: name of the class.
        selected: a slot to draw large; the others are grey.

    Returns:
        A figure whose marks carry ``customdata = (slot, distance moved outside the plane)``.
    """
    figure = Figure()
    _add_directions(figure, one)
    for (x0, y0), (x1, y1) in zip(one.before.tolist(), one.smallest.tolist()):
        figure.add_scatter(
            x=[x0, x1], y=[y0, y1], mode="lines", hoverinfo="skip", line={"color": COLOURS["faint"], "width": 1}
        )
    _add_views(figure, one, selected)
    lowest = min(-0.25, float(min(getattr(one, s)[:, 1].min() for s, *_ in STAGES)) - 0.1)
    left = min(-0.1, float(one.mean[0]), float(one.before[:, 0].min())) - 0.05
    across, along = (f"{100 * float(one.share[0, i]):.0f} %" for i in (1, 0))
    outline = {"line": {"color": COLOURS["axis"], "width": 1}}
    return finalise(
        figure,
        kind="procrustes_plane",
        alt=_plane_alt_text(one, name),
        pickable=True,
        hovermode="closest",
        annotations=_plane_annotations(one, name),
        shapes=[{"type": "circle", "x0": -1, "x1": 1, "y0": -1, "y1": 1, "layer": "below"} | outline],
        margin={"l": 52, "r": 12, "t": 34, "b": 48},
        xaxis=axis(range=[left, 1.12], title=f"along the prompts’ mean direction ({along} before)", constrain="domain"),
        yaxis=axis(
            range=[lowest, 1.12],
            title=f"across it, towards the views ({across} before)",
            scaleanchor="x",
            constrain="domain",
        ),
        narrow={
            "xaxis.title.text": f"along the prompts’ mean ({along} before)",
            "yaxis.title.text": f"across it ({across} before)",
        },
    )


def _add_directions(figure: Figure, one: ProcrustesPlane) -> None:
    """Both mean directions, and the arc of the rotation between them."""
    for end, colour, dash in ((one.mean, COLOURS["cache"], "dot"), ((1.0, 0.0), COLOURS["text"], "solid")):
        figure.add_scatter(
            x=[0, float(end[0])],
            y=[0, float(end[1])],
            mode="lines",
            hoverinfo="skip",
            line={"color": colour, "width": 2, "dash": dash},
        )
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
    for stage, colour, symbol, words in STAGES:
        points = getattr(one, stage)
        near = [selected in (None, j) for j in range(len(points))]
        tones = [colour if here else COLOURS["other"] for here in near]
        figure.add_scatter(
            x=points[:, 0],
            y=points[:, 1],
            mode="markers",
            name=stage,
            customdata=[[j, float(m)] for j, m in enumerate(moved[stage])],
            marker={
                "symbol": symbol,
                "color": tones,
                "line": {"color": tones, "width": 2},
                "size": [15 if j == selected else 10 for j in range(len(points))],
            },
            hovertemplate=f"slot %{{customdata[0]}}, {words[2:]}<br>moved outside this plane by "
            "%{customdata[1]:.3f}<extra></extra>",
        )


def _plane_annotations(one: ProcrustesPlane, name: str) -> list[dict]:
    legend = "   ".join(f'<span style="color:{c}">{w}</span>' for _, c, _, w in STAGES)
    middle = ARC_RADIUS * np.array([math.cos(one.angle / 2), math.sin(one.angle / 2)])
    inside = {"xref": "x", "yref": "y"}
    x, y = (float(v) for v in one.mean)
    right = x > 0.6  # no space outside the circle: inside, above the line
    return [
        annotation(legend, 0, 1, yshift=8, xshift=-40),
        annotation(
            f"prompts of {escaped(name, 20)}",
            0.96,
            0,
            xanchor="right",
            yanchor="top",
            yshift=-3,
            font={"size": 12, "color": COLOURS["text"]},
            **inside,
        ),
        annotation(
            "mean of the cached views",
            x - 0.06 * right,
            y,
            yshift=5,
            xanchor="right" if right else "left",
            font={"size": 12, "color": COLOURS["cache"]},
            **inside,
        ),
        annotation(
            f"{math.degrees(one.angle):.0f}°",
            float(middle[0]),
            float(middle[1]),
            xshift=4,
            font={"size": 13, "color": COLOURS["defence"]},
            **inside,
        ),
    ]


def _plane_alt_text(one: ProcrustesPlane, name: str) -> str:
    return (
        f"{len(one.before)} cached views of {name}: their mean is rotated by "
        f"{math.degrees(one.angle):.0f} degrees onto the prompts. Outside this plane the smallest rotation "
        f"moves them by {float(one.moved_smallest.max()):.2f}, the SVD by {float(one.moved_svd.max()):.2f}."
    )
