"""What the prompt update of one decision changed: entropies and costs, before and after."""

import numpy as np

from rita_demo.figures.decision.cells import view_axis, view_order
from rita_demo.figures.decision.costs import class_label, shown_classes
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, sides_of
from rita_demo.figures.shapes import category_axis, segments
from rita_demo.figures.theme import COLOURS, SIDE_STYLES, annotation, axis, dim_marks, finalise
from rita_demo.records import Run


def _add_changes(
    figure: Figure, side: str, axes: str, places: list[float], data: list[list], hover: str, markers: list, line: tuple
) -> None:
    """Marks before and after (columns 1 and 2 of ``data``), joined by lines (colour, width); ``axes``: that of the places,
    the other."""
    ends = [[row[column] for row in data] for column in (1, 2)]
    figure.add_line(*line, **dict(zip(axes, (segments(places, places), segments(*ends)), strict=True)))
    for when, marker, values in zip(("before", "after"), markers, ends, strict=True):
        marks = dict(zip(axes, (places, values), strict=True))
        figure.add_marks(hover, **marks, customdata=data, marker=marker, name=f"{side} {when}")


def entropy_change(run: Run, changes: dict[str, tuple[np.ndarray, np.ndarray]], *, view: int | None = None) -> Figure:
    """Entropy of every view before (ring) and after (dot) the prompt update, joined by a line; one scale.

    Views are in the order of their entropy on the delivered picture; with a selected ``view`` the others are grey.
    ``changes``: side -> entropies (N,) before and after, in nats. Two marker traces per side, ``"clean before"``,
    ``"clean after"``, ..., with ``customdata = (view, before, after)``."""
    order = view_order(run.attacked)
    figure = Figure()
    for number, (name, (before, after)) in enumerate(changes.items()):
        style = SIDE_STYLES[name]
        places = [i + (0.0 if len(changes) == 1 else 0.36 * number - 0.18) for i in range(len(order))]
        data = [[int(n), float(before[n]), float(after[n])] for n in order]
        colours = [style["colour"] if view in (None, int(n)) else COLOURS["other"] for n in order]
        markers = [{"symbol": style["symbol"] + kind, "size": 6, "color": colours} for kind in ("-open", "")]
        line = style["colour"] if view is None else COLOURS["other"]
        hover = f"{style['title']}, view %{{customdata[0]}}: %{{customdata[1]:.3f}} → %{{customdata[2]:.3f}} nats"
        _add_changes(figure, name, "xy", places, data, hover, markers, (line, 1))
    most = float(np.log(max(len(run.class_prompts.names), 2)))
    moved = {n: float(np.mean(after - before)) for n, (before, after) in changes.items()}
    summary = "; ".join(f"{n} {v:+.3f} nats on average" for n, v in moved.items()).replace("-", "−")
    return finalise(
        figure,
        kind="entropy_change",
        marks=("view",),
        alt=f"Entropy of {len(order)} views before and after the prompt update: {summary}.",
        annotations=[annotation(f"○◇ before  ●◆ after (● clean ◆ attacked): {summary}", 0, 1, yshift=6, xshift=-50)],
        margin={"l": 58, "r": 14, "t": 30, "b": 34},
        xaxis=view_axis(len(order), range=[-0.7, len(order) - 0.3]),
        yaxis=axis(range=[-0.05 * most, 1.03 * most], title="entropy (nats)", nticks=5),
    )


def cost_change(run: Run, *, k: int | None = None) -> Figure:
    """d_OT of each class before (ring) and after (dot) the prompt update, joined by a line; both sides, one scale.

    Two marker traces per side, ``"clean before"``, ``"clean after"``, ..., with
    ``customdata = (class, before, after, hover text)``."""
    classes = shown_classes(run, k, 8)
    names, sides = run.class_prompts.names, sides_of(run)
    figure = Figure()
    for number, name in enumerate(sides):
        trace, style = getattr(run, name).trace, SIDE_STYLES[name]
        lift = 0.0 if len(sides) == 1 else 0.17 - 0.34 * number
        rows = [len(classes) - 1 - i + lift for i in range(len(classes))]
        data: list[list] = []
        for c in classes:
            one, two = (float(t.distance[c]) for t in (trace.untuned_prompt_transport, trace.prompt_transport))
            data.append([c, one, two, f"{escaped(names[c], 40)}, {name}: {one:.4f} → {two:.4f} ({two - one:+.4f})"])
        ring = {"size": 8, "color": COLOURS["surface"], "line": {"color": style["colour"], "width": 2}}
        both = {"symbol": style["symbol"], "opacity": dim_marks(classes, k)}
        markers = [both | ring, both | {"size": 9, "color": style["colour"]}]
        _add_changes(figure, name, "yx", rows, data, "%{customdata[3]}", markers, (style["colour"], 2))
    return finalise(
        figure,
        kind="before_after",
        marks=("k",),
        alt=f"Transport cost of {len(classes)} classes before and after the prompt update.",
        annotations=[annotation("○◇ before  ●◆ after  (● clean  ◆ attacked)", 0, 1, yshift=6, xshift=-122)],
        margin={"l": 130, "r": 14, "t": 30, "b": 44},
        xaxis=axis(title="d<sub>OT</sub> (cosine distance, not from 0)", nticks=5),
        yaxis=category_axis([class_label(run, c, 16) for c in classes], top_first=True, size=12, edge=0.1),
    )
