"""Sinkhorn's convergence and the prompt update of one decision."""

from typing import Any

import numpy as np

from rita_demo.plots.decision.cells import view_axis, view_order
from rita_demo.plots.decision.costs import class_label, shown_classes
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, legend_entry, sides_of
from rita_demo.plots.shapes import category_axis, limit_line, segments, side_bar
from rita_demo.plots.theme import COLOURS, GLYPHS, SIDE_STYLES, annotation, axis, dim_marks, finalise
from rita_demo.records import Run, SinkhornHistory
from rita_demo.settings.setting import number_text


def sinkhorn_residuals(run: Run) -> Figure:
    """Largest marginal error at each of Sinkhorn's checks, log scale; prompts solid, cache dotted.

    One line per side and transport, named ``"clean prompts"``, ``"clean memory"``, ..."""
    figure, alt = Figure(), []
    limit = float(run.settings.sinkhorn_tolerance)
    for side in sides_of(run):
        trace = getattr(run, side).trace
        for what, solved in (("prompts", trace.prompt_transport), ("memory", trace.cache_transport)):
            if solved is not None and len(solved.residual):
                residual = np.maximum(np.asarray(solved.residual, float), 1e-12)
                _add_history(figure, f"{side} {what}", solved.checks, residual, ": %{y:.2e}")
                alt.append(f"{SIDE_STYLES[side]['title']}, {what}: {solved.outcome}")
    legend = "  ".join(legend_entry(look["colour"], GLYPHS[look["symbol"]], side) for side, look in SIDE_STYLES.items())
    y = axis(type="log", title="largest marginal error", exponentformat="power", dtick=1)
    head = f"{legend}   ━ prompts  ┄ memory   dashed: tolerance {number_text(limit)}"
    return _finalise_history(figure, "sinkhorn", ". ".join(alt), head, 58, y, shapes=[limit_line(limit, 1)])


def sinkhorn_costs(run: Run, k: int, histories: dict[str, SinkhornHistory]) -> Figure:
    """``<T, C>`` of class ``k`` at each of Sinkhorn's iterations, per unit of moved mass.

    One line per history, with its name and ``customdata = (lambda, column error)``. ``histories``: ``"clean prompts"``,
    ``"attacked memory"``, ... -> the history of that transport."""
    figure, summary = Figure(), []
    for name, one in histories.items():
        if len(one.checks):
            cost, data = np.asarray(one.cost, float), np.stack([one.entropy_weight, one.residual], 1).astype(float)
            at = "at λ = %{customdata[0]:.4g}, column error %{customdata[1]:.1e}"
            _add_history(
                figure, name, one.checks, cost, f": cost %{{y:.5f}} (cosine distance)<br>{at}", customdata=data
            )
            summary.append(f"{name} from {cost[0]:.4f} to {cost[-1]:.4f} in {int(one.checks[-1])} steps")
    name = run.class_prompts.names[k]
    alt = f"Cost of {name} during Sinkhorn's iterations: {'; '.join(summary)}."
    head = f"<b>{escaped(name, 30)}</b>   ━ prompts  ┄ memory   ● clean  ◆ attacked"
    y = axis(title="cost (cosine distance)", nticks=5, tickformat=".3f")
    return _finalise_history(figure, "sinkhorn_costs", alt, head, 70, y)


def _add_history(figure: Figure, name: str, checks: np.ndarray, y: np.ndarray, hover: str, **trace: Any) -> None:
    """A line over Sinkhorn's iterations; ``name`` is the side and ``prompts`` or ``memory``."""
    side, what = name.split()
    style = SIDE_STYLES[side]
    figure.add_marks(
        f"{style['title']}, {what}, iteration %{{x}}{hover}",
        x=checks,
        y=y,
        name=name,
        mode="lines+markers",
        line={"color": style["colour"], "width": 2, "dash": "solid" if what == "prompts" else "dot"},
        marker={"size": 6, "symbol": style["symbol"]},
        **trace,
    )


def _finalise_history(figure: Figure, kind: str, alt: str, head: str, left: int, y: dict, **layout: Any) -> Figure:
    return finalise(
        figure,
        kind=kind,
        alt=alt,
        annotations=[annotation(head, 0, 1, yshift=6)],
        margin={"l": left, "r": 14, "t": 34, "b": 44},
        narrow_top=52,
        xaxis=axis(title="iteration", rangemode="tozero", nticks=6),
        yaxis=y,
        **layout,
    )


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
        annotations=[annotation(f"○◇ before  ●◆ after (● clean ◆ attacked): {summary}", 0, 1, yshift=6)],
        margin={"l": 58, "r": 14, "t": 30, "b": 34},
        narrow_top=48,
        xaxis=view_axis(len(order), range=[-0.7, len(order) - 0.3]),
        yaxis=axis(range=[-0.05 * most, 1.03 * most], title="entropy (nats)", nticks=5),
    )


def tuning_loss(run: Run) -> Figure:
    """The prompt update's loss in nats before every step and after the last, one line per side that has an update."""
    figure = Figure()
    for name in sides_of(run):
        loss, style = [float(v) for v in getattr(run, name).trace.tuning.loss], SIDE_STYLES[name]
        if loss:
            figure.add_marks(
                "step %{x}: %{y:.4f} nats",
                x=list(range(len(loss))),
                y=loss,
                name=name,
                mode="lines+markers+text",
                text=[""] * (len(loss) - 1) + [f"  {style['title'].lower()} {loss[-1]:.3f}"],
                textposition="middle right",
                line={"color": style["colour"], "width": 2},
                textfont={"color": style["colour"]},
                cliponaxis=False,
                marker={"size": 7, "symbol": style["symbol"]},
            )
    last = max((len(trace["x"]) - 1 for trace in figure.traces), default=0)
    return finalise(
        figure,
        kind="tuning_loss",
        margin={"l": 58, "r": 110, "t": 12, "b": 44},
        alt=f"Loss of the prompt update over {last} step{'s' * (last != 1)}.",
        xaxis=axis(range=[-0.15, max(last, 1) + 0.15], dtick=1 if last <= 10 else 5, title="step of the prompt update"),
        yaxis=axis(title="loss (nats)", nticks=5),
    )


def context_movement(run: Run) -> Figure:
    """L2 change of each prompt's context in the update, in token-embedding units: bars per side, prompts from 1."""
    figure, sides = Figure(), sides_of(run)
    for name in sides:
        moved = np.asarray(getattr(run, name).trace.tuning.movement, float)
        hover = f"{name}, prompt %{{x}}: %{{y:.4f}} (L2, token embeddings)<extra></extra>"
        figure.add_bar(x=np.arange(len(moved)) + 1, y=moved, name=name, marker=side_bar(name), hovertemplate=hover)
    legend = " ".join(legend_entry(SIDE_STYLES[n]["colour"], "■" if n == "clean" else "▨", n) for n in sides)
    return finalise(
        figure,
        kind="context_movement",
        barmode="group",
        annotations=[annotation(legend, 0, 1, yshift=4)],
        alt="How far each prompt's context moved.",
        margin={"l": 58, "r": 14, "t": 28, "b": 44},
        xaxis=axis(title="prompt", dtick=1, showgrid=False),
        yaxis=axis(title="L2, token embeddings", nticks=5, rangemode="tozero"),
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
        annotations=[annotation("○◇ before  ●◆ after  (● clean  ◆ attacked)", 0, 1, yshift=6)],
        margin={"l": 130, "r": 14, "t": 30, "b": 44},
        narrow={"margin.l": 112, "yaxis.ticktext": [class_label(run, c, 13) for c in classes]},
        xaxis=axis(title="d<sub>OT</sub> (cosine distance, not from 0)", nticks=5),
        yaxis=category_axis([class_label(run, c, 16) for c in classes], top_first=True, size=12, edge=0.1),
    )
