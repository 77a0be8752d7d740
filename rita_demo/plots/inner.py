"""What happened on the way to a decision: Sinkhorn's residuals, and the prompt update."""

from __future__ import annotations

import numpy as np

from rita_demo.plots.costs import class_tick, shown_classes
from rita_demo.plots.figure import Figure
from rita_demo.plots.names import safe, short, sides_of
from rita_demo.plots.plan import view_order
from rita_demo.plots.theme import COLOURS, SIDES, axis, fades, finish, note, patch
from rita_demo.records import Descent, Story


def sinkhorn_residuals(story: Story) -> Figure:
    """Largest marginal error at each of Sinkhorn's checks, log scale; prompts solid, memory dotted.

    Returns:
        One line per side and transport, named ``"clean prompts"``, ``"clean memory"``, ...
    """
    figure = Figure()
    limit = float(story.settings.sinkhorn_tolerance)
    alt = []
    for name in sides_of(story):
        trace = getattr(story, name).trace
        for what, moved in (("prompts", trace.prompt), ("memory", trace.cache_transport)):
            if moved is None or not len(moved.residual):
                continue
            checks = [int(c) for c in np.asarray(moved.checks)]
            figure.add_scatter(
                x=checks, y=[max(float(r), 1e-12) for r in np.asarray(moved.residual)],
                name=f"{name} {what}", mode="lines+markers",
                line={"color": SIDES[name]["colour"], "width": 2,
                      "dash": "solid" if what == "prompts" else "dot"},
                marker={"size": 6, "symbol": "circle" if name == "clean" else "diamond"},
                hovertemplate=f"{SIDES[name]['title']}, {what}, iteration %{{x}}: %{{y:.2e}}<extra></extra>",
            )  # fmt: skip
            alt.append(f"{SIDES[name]['title']}, {what}: {moved.outcome}")
    line = {"color": COLOURS["quiet"], "width": 1, "dash": "dash"}
    rule = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": limit, "y1": limit}
    key = "  ".join(
        patch(v["colour"], "●" if name == "clean" else "◆", name) for name, v in SIDES.items()
    )
    return finish(
        figure, kind="sinkhorn", alt=". ".join(alt), shapes=[rule | {"line": line}], wrap=[0],
        annotations=[note(f"{key}   ━ prompts  ┄ memory   dashed: tolerance {limit:g}", 0, 1, yshift=6)],
        margin={"l": 58, "r": 14, "t": 34, "b": 44}, narrow={"margin.t": 52},
        xaxis=axis(title="iteration", rangemode="tozero", nticks=6),
        yaxis=axis(type="log", title="largest marginal error", exponentformat="power", dtick=1),
    )  # fmt: skip


def sinkhorn_costs(story: Story, k: int, ways: dict[str, Descent]) -> Figure:
    """``<T, C>`` of class ``k`` at each of Sinkhorn's iterations, per unit of moved mass.

    Args:
        story: names the class.
        k: class number.
        ways: ``"clean prompts"``, ``"attacked memory"``, ... -> how Sinkhorn came to the plan.

    Returns:
        One line per way, named by it, with ``customdata`` lambda and the column error.
    """
    figure = Figure()
    said = []
    for name, way in ways.items():
        if not len(way.checks):
            continue
        side, what = name.split()
        look, cost = SIDES[side], [float(v) for v in np.asarray(way.cost)]
        figure.add_scatter(
            x=[int(c) for c in np.asarray(way.checks)], y=cost, name=name, mode="lines+markers",
            line={"color": look["colour"], "width": 2, "dash": "solid" if what == "prompts" else "dot"},
            marker={"size": 6, "symbol": "circle" if side == "clean" else "diamond"},
            customdata=[[float(at), float(off)] for at, off in zip(way.level, way.residual, strict=True)],
            hovertemplate=f"{look['title']}, {what}, iteration %{{x}}: cost %{{y:.5f}} (cosine distance)"
            "<br>at λ = %{customdata[0]:.4g}, column error %{customdata[1]:.1e}<extra></extra>",
        )  # fmt: skip
        said.append(f"{name} from {cost[0]:.4f} to {cost[-1]:.4f} in {int(way.checks[-1])} steps")
    title = f"<b>{short(story.bank.names[k], 30)}</b>   ━ prompts  ┄ memory   ● clean  ◆ attacked"
    return finish(
        figure, kind="sinkhorn_costs", wrap=[0], annotations=[note(title, 0, 1, yshift=6)],
        alt=f"Cost of {story.bank.names[k]} while Sinkhorn ran: {'; '.join(said)}.",
        margin={"l": 70, "r": 14, "t": 34, "b": 44}, narrow={"margin.t": 52},
        xaxis=axis(title="iteration", rangemode="tozero", nticks=6),
        yaxis=axis(title="cost (cosine distance)", nticks=5, tickformat=".3f"),
    )  # fmt: skip


def entropy_change(
    story: Story, changes: dict[str, tuple[np.ndarray, np.ndarray]], *, view: int | None = None
) -> Figure:
    """Entropy of every view before (ring) and after (dot) the prompt update, joined; one scale.

    A chosen view keeps its colour, the others go grey.

    Args:
        story: names the order: the delivered picture's, surest first.
        changes: side -> entropies (N,) before and after, in nats.
        view: the chosen view.

    Returns:
        Per side two marker traces named ``"clean before"``, ``"clean after"``, ..., with
        ``customdata = (view, before, after)``.
    """
    order = view_order(story.attacked, "entropy")
    figure = Figure()
    for number, (name, (before, after)) in enumerate(changes.items()):
        lift = 0.0 if len(changes) == 1 else 0.36 * number - 0.18
        places = [i + lift for i in range(len(order))]
        data = [[int(n), float(before[n]), float(after[n])] for n in order]
        colours = [
            SIDES[name]["colour"] if view in (None, int(n)) else COLOURS["other"] for n in order
        ]
        joined = [v for d in data for v in (d[1], d[2], None)]
        figure.add_scatter(
            x=[v for x in places for v in (x, x, None)], y=joined, mode="lines", hoverinfo="skip",
            line={"color": COLOURS["other"] if view is not None else SIDES[name]["colour"], "width": 1},
        )  # fmt: skip
        hover = f"{SIDES[name]['title']}, view %{{customdata[0]}}: %{{customdata[1]:.3f}} → %{{customdata[2]:.3f}} nats<extra></extra>"
        solid = "circle" if name == "clean" else "diamond"
        for when, symbol, at in (("before", f"{solid}-open", 1), ("after", solid, 2)):
            figure.add_scatter(
                x=places, y=[d[at] for d in data], mode="markers", customdata=data, hovertemplate=hover,
                marker={"symbol": symbol, "size": 6, "color": colours}, name=f"{name} {when}",
            )  # fmt: skip
    most = float(np.log(max(len(story.bank.names), 2)))
    moved = {n: float(np.mean(after - before)) for n, (before, after) in changes.items()}
    said = "; ".join(f"{n} {v:+.3f} nats on average" for n, v in moved.items())
    return finish(
        figure, kind="entropy_change", pickable=True, hovermode="closest", wrap=[0],
        alt=f"Entropy of {len(order)} views before and after the prompt update: {said}.",
        annotations=[note(f"○◇ before  ●◆ after (● clean ◆ attacked): {said}", 0, 1, yshift=6)],
        margin={"l": 58, "r": 14, "t": 30, "b": 34}, narrow={"margin.t": 48},
        xaxis=axis(range=[-0.7, len(order) - 0.3], tickvals=[], showgrid=False,
                   title="views, surest of the delivered picture first"),
        yaxis=axis(range=[-0.05 * most, 1.03 * most], title="entropy (nats)", nticks=5),
    )  # fmt: skip


def tuning_loss(story: Story) -> Figure:
    """The prompt update's loss in nats before every step and after the last, for both sides.

    Returns:
        One line per side, named by it; empty sides (no update) have none.
    """
    figure = Figure()
    for name in sides_of(story):
        loss = [float(v) for v in np.asarray(getattr(story, name).trace.tuning.loss)]
        if loss:
            look = SIDES[name]
            figure.add_scatter(
                x=list(range(len(loss))), y=loss, name=name, mode="lines+markers+text",
                text=[""] * (len(loss) - 1) + [f"  {look['title'].lower()} {loss[-1]:.3f}"],
                textposition="middle right", line={"color": look["colour"], "width": 2},
                textfont={"color": look["colour"]}, cliponaxis=False,
                marker={"size": 7, "symbol": "circle" if name == "clean" else "diamond"},
                hovertemplate="step %{x}: %{y:.4f} nats<extra></extra>",
            )  # fmt: skip
    last = max((len(trace["x"]) - 1 for trace in figure.traces), default=0)
    return finish(
        figure, kind="tuning_loss", margin={"l": 58, "r": 110, "t": 12, "b": 44},
        alt=f"Loss of the prompt update over {last} steps.",
        xaxis=axis(range=[-0.15, max(last, 1) + 0.15], dtick=1 if last <= 10 else 5, title="step of the prompt update"),
        yaxis=axis(title="loss (nats)", nticks=5),
    )  # fmt: skip


def context_movement(story: Story) -> Figure:
    """How far each prompt's context moved in the update: L2, in token-embedding units.

    Returns:
        Bars per side whose x are the prompts' numbers, from 1 as everywhere on the page.
    """
    figure = Figure()
    for name in sides_of(story):
        moved = [float(v) for v in np.asarray(getattr(story, name).trace.tuning.movement)]
        colour = SIDES[name]["colour"]
        pattern = {"shape": "/", "bgcolor": COLOURS["surface"], "fgcolor": colour}
        figure.add_bar(
            x=list(range(1, len(moved) + 1)), y=moved, name=name,
            marker={"color": colour} | ({"pattern": pattern} if name == "attacked" else {}),
            hovertemplate=f"{name}, prompt %{{x}}: %{{y:.4f}} (L2, token embeddings)<extra></extra>",
        )  # fmt: skip
    key = " ".join(
        patch(SIDES[n]["colour"], "■" if n == "clean" else "▨", n) for n in sides_of(story)
    )
    return finish(
        figure, kind="context_movement", barmode="group", annotations=[note(key, 0, 1, yshift=4)],
        alt="How far each prompt's context moved.", margin={"l": 58, "r": 14, "t": 28, "b": 44},
        xaxis=axis(title="prompt", dtick=1, showgrid=False),
        yaxis=axis(title="L2, token embeddings", nticks=5, rangemode="tozero"),
    )  # fmt: skip


def before_after(story: Story, *, k: int | None = None, top: int = 8) -> Figure:
    """d_OT of each class before (ring) and after (dot) the prompt update, joined; both sides, one scale.

    Returns:
        Per side two marker traces, named ``"clean before"``, ``"clean after"``, ..., with
        ``customdata = (class, before, after, words)``.
    """
    classes = shown_classes(story, k, top)
    names = story.bank.names
    figure = Figure()
    sides = sides_of(story)
    for number, name in enumerate(sides):
        trace, colour = getattr(story, name).trace, SIDES[name]["colour"]
        one, two = (np.asarray(t.distance, float) for t in (trace.prompt_before, trace.prompt))
        lift = 0.0 if len(sides) == 1 else 0.17 - 0.34 * number
        rows = [len(classes) - 1 - i + lift for i in range(len(classes))]
        data = [[c, float(one[c]), float(two[c]),
                 f"{safe(names[c], 40)}, {name}: {one[c]:.4f} → {two[c]:.4f} ({two[c] - one[c]:+.4f})"]
                for c in classes]  # fmt: skip
        figure.add_scatter(
            x=[v for d in data for v in (d[1], d[2], None)], y=[v for r in rows for v in (r, r, None)],
            mode="lines", line={"color": colour, "width": 2}, hoverinfo="skip",
        )  # fmt: skip
        shape = "circle" if name == "clean" else "diamond"
        ring = {
            "symbol": shape,
            "size": 8,
            "color": COLOURS["surface"],
            "line": {"color": colour, "width": 2},
            "opacity": fades(classes, k),
        }
        dot = {"symbol": shape, "size": 9, "color": colour, "opacity": fades(classes, k)}
        for when, marker, place in (("before", ring, 1), ("after", dot, 2)):
            figure.add_scatter(
                x=[d[place] for d in data], y=rows, mode="markers", marker=marker, customdata=data,
                name=f"{name} {when}", hovertemplate="%{customdata[3]}<extra></extra>",
            )  # fmt: skip
    ticks = [class_tick(story, c, 16) for c in classes]
    narrow = {"margin.l": 112, "yaxis.ticktext": [class_tick(story, c, 13) for c in classes]}
    return finish(
        figure, kind="before_after", pickable=True, hovermode="closest",
        alt=f"Transport cost of {len(classes)} classes before and after the prompt update.",
        annotations=[note("○◇ before  ●◆ after  (● clean  ◆ attacked)", 0, 1, yshift=6)],
        margin={"l": 130, "r": 14, "t": 30, "b": 44}, narrow=narrow,
        xaxis=axis(title="d<sub>OT</sub> (cosine distance, not from 0)", nticks=5),
        yaxis=axis(range=[-0.6, len(classes) - 0.4], tickvals=list(range(len(classes)))[::-1], ticktext=ticks,
                   showgrid=False, tickfont={"color": COLOURS["text"], "size": 12}),
    )  # fmt: skip
