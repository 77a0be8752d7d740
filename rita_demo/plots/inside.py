"""Inside one decision, clean beside attacked on one scale: cost and plan of a class, and who carries mass.

A column is the same crop on both sides: views stand in the delivered picture's order, surest
first.  What is left out keeps its place and is grey.
"""

from __future__ import annotations

import numpy as np

from rita_demo.plots.costs import class_tick, shown_classes
from rita_demo.plots.figure import Figure
from rita_demo.plots.names import percent, safe, short, sides_of
from rita_demo.plots.plan import REACH, moved_shares, view_order
from rita_demo.plots.theme import COLOURS, DIVERGING, SIDES, axis, fades, finish, note, veils
from rita_demo.records import Side, Story

RISING: list[list[float | str]] = [[0.0, COLOURS["surface"]], [1.0, COLOURS["quiet"]]]
LEFT, LEFT_NARROW = 170, 104


def cost_matrix(
    story: Story, side: str, k: int, *, selected: tuple[int, int | None] | None = None
) -> Figure:
    """C of class ``k``: cosine distance of every view (across) to every prompt (down); darker costs more.

    Returns:
        A figure whose cells carry ``customdata = (view, atom, cost, times even)``.
    """
    atoms = _atoms(story, k)
    both = [np.asarray(getattr(story, s).trace.prompt.cost, float)[k][:, atoms] for s in SIDES]
    low, high = min(float(c.min()) for c in both), max(float(c.max()) for c in both)
    cost = both[list(SIDES).index(side)]
    scale = {"zmin": low, "zmax": max(high, low + 1e-6), "colorscale": RISING}
    head = f"cost: from {cost.min():.3f} to {cost.max():.3f} (cosine distance)"
    return _matrix(story, side, k, "cost_matrix", cost, scale, {"nticks": 4}, head, selected)


def plan_matrix(
    story: Story, side: str, k: int, *, selected: tuple[int, int | None] | None = None
) -> Figure:
    """T of class ``k`` over the product of its marginals (T N M / rho with even weights): 1 is even.

    Returns:
        A figure whose cells carry ``customdata = (view, atom, cost, times even)``.
    """
    times = times_even(story, side, k)[:, _atoms(story, k)]
    seen = times[np.isfinite(times)]
    scale = {"zmin": -REACH, "zmax": REACH, "colorscale": DIVERGING}
    ticks = {"tickvals": [-2, -1, 0, 1, 2], "ticktext": ["≤¼×", "½×", "1×", "2×", "≥4×"]}
    head = f"plan: cells carry {seen.min():.2f} to {seen.max():.2f} times an even share"
    colour = np.clip(np.log2(np.maximum(times, 1e-9)), -REACH, REACH)
    return _matrix(story, side, k, "plan_matrix", colour, scale, ticks, head, selected)


def times_even(story: Story, side: str, k: int) -> np.ndarray:
    """(N, M): the plan over the product of its marginals; NaN where something is left out."""
    moved = getattr(story, side).trace.prompt
    product = np.outer(np.asarray(moved.row_weight)[k], np.asarray(moved.column_weight)[k])
    plan = np.asarray(moved.plan, float)[k]
    return np.where(product > 0, plan / np.maximum(product, 1e-30), np.nan)


def _atoms(story: Story, k: int) -> np.ndarray:
    """The prompts of a class, also those that are left out; padding is none."""
    return np.flatnonzero(np.asarray(story.bank.weight)[k] > 0)


def _matrix(
    story: Story, side: str, k: int, kind: str, values: np.ndarray, scale: dict, ticks: dict,
    head: str, selected: tuple[int, int | None] | None,
) -> Figure:  # fmt: skip
    views, atoms = view_order(story.attacked, "entropy"), _atoms(story, k)
    times = times_even(story, side, k)[:, atoms]
    shown = np.where(np.isfinite(times), values, np.nan)[views].T
    data, text = _cells(story, side, k, views, atoms, times)
    figure = Figure()
    figure.add_heatmap(
        z=[[None if np.isnan(v) else float(v) for v in row] for row in shown],
        x=list(range(len(views))), y=list(range(len(atoms)))[::-1], xgap=1, ygap=1,
        customdata=data, text=text, hovertemplate="%{text}<extra></extra>", hoverongaps=True,
        colorbar={"thickness": 8, "x": 1.01, "outlinewidth": 0,
                  "tickfont": {"size": 11, "color": COLOURS["quiet"]}} | ticks,
        **scale,
    )  # fmt: skip
    title = f'<b style="color:{SIDES[side]["colour"]}">{SIDES[side]["title"]}</b>  {head}'
    sentences = story.bank.prompts[k]
    return finish(
        figure,
        kind=kind,
        alt=f"{SIDES[side]['title']} picture, {story.bank.names[k]}, {head}.",
        pickable=True,
        wrap=[0],
        narrow=_narrow(sentences, atoms),
        annotations=[note(title, 0, 1, yshift=6, xshift=8 - LEFT)],
        shapes=_frame(views, atoms, selected),
        plot_bgcolor=COLOURS["faint"],
        margin={"l": LEFT, "r": 52, "t": 34, "b": 28},
        xaxis=_across(len(views)),
        yaxis=_down([short(sentences[m], 24) for m in atoms]),
    )


def _narrow(sentences: tuple[str, ...], atoms: np.ndarray) -> dict:
    return {
        "margin.l": LEFT_NARROW, "margin.t": 52, "data.0.xgap": 0, "annotations.0.xshift": 8 - LEFT_NARROW,
        "yaxis.ticktext": [short(sentences[m], 14) for m in atoms],
    }  # fmt: skip


def _cells(
    story: Story, side: str, k: int, views: np.ndarray, atoms: np.ndarray, times: np.ndarray
) -> tuple[list, list]:
    cost = np.asarray(getattr(story, side).trace.prompt.cost, float)[k]
    data, text = [], []
    for j, m in enumerate(atoms.tolist()):
        sentence = safe(story.bank.prompts[k][m], 60)
        row, said = [], []
        for n in views.tolist():
            share = float(times[n, j])
            left = np.isnan(share)
            row.append([n, m, float(cost[n, m]), -1.0 if left else share])
            carried = "left out: it carries nothing" if left else f"{share:.3f} × an even share"
            said.append(
                f"view {n} → “{sentence}”<br>cost {cost[n, m]:.4f} (cosine distance)<br>{carried}"
            )
        data.append(row)
        text.append(said)
    return data, text


def _across(count: int) -> dict:
    title = "views, surest of the delivered picture first"
    return axis(range=[-0.5, count - 0.5], showgrid=False, tickvals=[], title=title)


def _down(labels: list[str]) -> dict:
    count = len(labels)
    return axis(
        range=[-0.5, count - 0.5], showgrid=False, ticks="", tickvals=list(range(count))[::-1],
        ticktext=labels, tickfont={"size": 12 if count <= 12 else 8, "color": COLOURS["text"]},
    )  # fmt: skip


def _frame(
    views: np.ndarray, rows: np.ndarray, selected: tuple[int, int | None] | None
) -> list[dict]:
    """A frame around the chosen cell, or around the chosen view's whole column; other columns go pale."""
    if selected is None or selected[0] not in views:
        return []
    i = int(np.flatnonzero(views == selected[0])[0])
    line = {"line": {"color": COLOURS["text"], "width": 2}, "fillcolor": "rgba(0,0,0,0)"}
    box = {"type": "rect", "x0": i - 0.5, "x1": i + 0.5, "y0": -0.5, "y1": len(rows) - 0.5} | line
    if selected[1] is not None and selected[1] in rows:
        row = len(rows) - 1 - int(np.flatnonzero(rows == selected[1])[0])
        box |= {"y0": row - 0.5, "y1": row + 0.5}
    return [*veils(i, len(views)), box]


def view_mass(
    story: Story, side: str, *, k: int | None = None, view: int | None = None, top: int = 10
) -> Figure:
    """Which share of its own mass each view (across) moves to each class (down), 0 to 100 %.

    Below rho = 1 a class leaves out what fits it worst: the views it lives on are dark.

    Returns:
        A figure whose cells carry ``customdata = (view, class, share)``.
    """
    one: Side = getattr(story, side)
    classes = np.array(shown_classes(story, k, top))
    views = view_order(story.attacked, "entropy")
    there = np.asarray(one.trace.view_weight, float) > 0
    share = np.stack([moved_shares(one, int(c)) for c in classes])
    names = [safe(story.bank.names[c], 40) for c in classes]
    figure = Figure()
    figure.add_heatmap(
        z=[[float(row[n]) if there[n] else None for n in views] for row in share],
        x=list(range(len(views))), y=list(range(len(classes)))[::-1], xgap=1, ygap=1, zmin=0, zmax=1,
        colorscale=[[0.0, COLOURS["surface"]], [1.0, COLOURS["defence"]]],
        customdata=[[[int(n), int(c), float(share[i, n])] for n in views] for i, c in enumerate(classes)],
        text=[[f"{names[i]}: {percent(share[i, n], 1)} of view {n} moves" if there[n]
               else f"view {n} is left out" for n in views] for i in range(len(classes))],
        hovertemplate="%{text}<extra></extra>",
        colorbar={"thickness": 8, "x": 1.01, "outlinewidth": 0, "tickvals": [0, 0.5, 1],
                  "ticktext": ["0 %", "50 %", "100 %"], "tickfont": {"size": 11, "color": COLOURS["quiet"]}},
    )  # fmt: skip
    rho = percent(float(one.trace.prompt.mass))
    head = f'<b style="color:{SIDES[side]["colour"]}">{SIDES[side]["title"]}</b>  '
    head += f"share of each view that moves, ρ = {rho}"
    return finish(
        figure,
        kind="view_mass",
        alt=f"{SIDES[side]['title']} picture: which share of each view moves to each of {len(classes)} classes.",
        pickable=True,
        wrap=[0],
        narrow={
            "margin.l": 112,
            "annotations.0.xshift": -104,
            "yaxis.ticktext": [class_tick(story, int(c), 13) for c in classes],
        },
        annotations=[note(head, 0, 1, yshift=6, xshift=8 - 130)],
        shapes=_frame(views, classes, None if view is None else (view, k)),
        plot_bgcolor=COLOURS["faint"],
        margin={"l": 130, "r": 52, "t": 34, "b": 28},
        xaxis=_across(len(views)),
        yaxis=_down([class_tick(story, int(c), 16) for c in classes]),
    )


def prompt_shares(story: Story, k: int, *, atom: int | None = None) -> Figure:
    """What each prompt of class ``k`` adds to its cost: mass it receives times what reaching it costs.

    Returns:
        A figure whose bars carry ``customdata = (atom, mass share, mean cost, words)``.
    """
    atoms = _atoms(story, k)
    figure = Figure()
    for name in sides_of(story):
        moved = getattr(story, name).trace.prompt
        plan = np.asarray(moved.plan, float)[k] / float(moved.mass)
        mass = plan.sum(0)
        adds = (plan * np.asarray(moved.cost, float)[k]).sum(0)
        data = [[int(m), float(mass[m]), float(adds[m] / max(mass[m], 1e-30)),
                 f"“{safe(story.bank.prompts[k][m], 60)}”<br>"
                 f"{SIDES[name]['title'].lower()}: {percent(mass[m], 1)} of the mass, adds {adds[m]:.4f}"]
                for m in atoms]  # fmt: skip
        pattern = {"shape": "/", "bgcolor": COLOURS["surface"], "fgcolor": SIDES[name]["colour"]}
        marker = {"color": SIDES[name]["colour"], "opacity": fades(atoms.tolist(), atom)}
        figure.add_bar(
            y=list(range(len(atoms)))[::-1], x=[float(adds[m]) for m in atoms], orientation="h",
            name=name, customdata=data, hovertemplate="%{customdata[3]}<extra></extra>",
            marker=marker | ({"pattern": pattern} if name == "attacked" else {}),
            text=[f"{percent(mass[m])} of the mass" if mass[m] > 0 else "left out" for m in atoms],
            textposition="outside", textfont={"size": 11, "color": COLOURS["quiet"]},
            cliponaxis=False,
        )  # fmt: skip
    most = max(float(max(trace["x"])) for trace in figure.traces)
    labels = [short(story.bank.prompts[k][m], 24) for m in atoms]
    row = [len(atoms) - 1 - i for i, m in enumerate(atoms) if m == atom]
    shape = {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "layer": "below",
        "fillcolor": COLOURS["grid"],
    }
    return finish(
        figure, kind="prompt_shares", pickable=True, barmode="group",
        alt=f"What each of {len(atoms)} prompts of {story.bank.names[k]} adds to its transport cost.",
        shapes=[shape | {"line": {"width": 0}, "y0": r - 0.5, "y1": r + 0.5} for r in row],
        narrow={"margin.l": LEFT_NARROW, "xaxis.range": [0, 2.2 * max(most, 1e-6)],
                "yaxis.ticktext": [short(story.bank.prompts[k][m], 14) for m in atoms]},
        margin={"l": LEFT, "r": 20, "t": 12, "b": 42},
        xaxis=axis(range=[0, 1.45 * max(most, 1e-6)], nticks=4, title="adds to the cost (cosine distance)"),
        yaxis=_down(labels),
    )  # fmt: skip
