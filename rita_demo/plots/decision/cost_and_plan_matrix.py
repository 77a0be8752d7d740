"""One decision, clean beside attacked on one scale: cost and plan of a class, moved mass, shares of the prompts.

A column is the same crop on both sides: views are ordered by their entropy on the delivered picture. Excluded views and
prompts keep their place and are grey.
"""

from typing import Any

import numpy as np

from rita_demo.plots.decision.cells import (
    MASS_SCALE,
    MASS_TICKS,
    PLAN_SCALE,
    add_cells,
    colour_bar,
    cost_scale,
    moved_shares,
    plan_colours,
    position,
    ratio_to_product_plan,
    row_axis,
    selection_shapes,
    side_title,
    view_axis,
    view_order,
)
from rita_demo.plots.decision.costs import class_label, shown_classes
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, percent, sides_of
from rita_demo.plots.shapes import row_band, side_bar
from rita_demo.plots.theme import COLOURS, SIDE_STYLES, annotation, axis, dim_marks, finalise
from rita_demo.records import ImageResult, Run

LEFT_MARGIN, LEFT_MARGIN_NARROW = 170, 104

Cell = tuple[int, int | None]  # view, and prompt or None


def cost_matrix(run: Run, side: str, k: int, *, selected: Cell | None = None) -> Figure:
    """C of class ``k``: cosine distance of every view (across) to every prompt (down); darker costs more.

    Cells carry ``customdata = (view, atom, cost, ratio to an even share)``.
    """
    atoms = _valid_prompts(run, k)
    costs = {s: np.asarray(getattr(run, s).trace.prompt_transport.cost, float)[k][:, atoms] for s in SIDE_STYLES}
    cost = costs[side]
    head = f"cost: from {cost.min():.3f} to {cost.max():.3f} (cosine distance)"
    return _matrix(run, side, k, "cost_matrix", cost, cost_scale(list(costs.values())), head, selected)


def plan_matrix(run: Run, side: str, k: int, *, selected: Cell | None = None) -> Figure:
    """T of class ``k`` over the product of its marginals (T N M / rho with uniform weights): 1 is even.

    Cells carry ``customdata = (view, atom, cost, ratio to an even share)``.
    """
    ratio = ratio_to_product_plan(run, side, k)[:, _valid_prompts(run, k)]
    bar = colour_bar(tickvals=[-2, -1, 0, 1, 2], ticktext=["≤¼×", "½×", "1×", "2×", "≥4×"])
    head = f"plan: {np.nanmin(ratio):.2f} to {np.nanmax(ratio):.2f} times an even share"
    return _matrix(run, side, k, "plan_matrix", plan_colours(ratio), PLAN_SCALE | {"colorbar": bar}, head, selected)


def _valid_prompts(run: Run, k: int) -> np.ndarray:
    """The prompts of a class without padding; excluded ones are among them."""
    return np.flatnonzero(np.asarray(run.class_prompts.weight)[k] > 0)


def _matrix(
    run: Run, side: str, k: int, kind: str, values: np.ndarray, scale: dict[str, Any], head: str, selected: Cell | None
) -> Figure:
    views, atoms, sentences = view_order(run.attacked), _valid_prompts(run, k), run.class_prompts.prompts[k]
    cost = np.asarray(getattr(run, side).trace.prompt_transport.cost, float)[k]
    ratio = ratio_to_product_plan(run, side, k)
    z: list[list] = [[] for _ in atoms]
    data: list[list] = [[] for _ in atoms]
    text: list[list] = [[] for _ in atoms]
    for j, m in enumerate(atoms.tolist()):
        sentence = escaped(sentences[m], 60)
        for n in views.tolist():
            excluded = bool(np.isnan(ratio[n, m]))
            carried = "left out: it carries nothing" if excluded else f"{ratio[n, m]:.3f} × an even share"
            z[j].append(None if excluded else float(values[n, j]))
            data[j].append([n, m, float(cost[n, m]), -1.0 if excluded else float(ratio[n, m])])
            text[j].append(f"view {n} → “{sentence}”<br>cost {cost[n, m]:.4f} (cosine distance)<br>{carried}")
    figure = Figure()
    add_cells(figure, z, customdata=data, text=text, hoverongaps=True, **scale)
    labels = [[escaped(sentences[m], letters) for m in atoms] for letters in (24, 14)]
    shapes = selection_shapes(views, atoms, selected)
    alt = f", {run.class_prompts.names[k]}, {head}"
    narrow = {"margin.t": 52, "data.0.xgap": 0}
    return _finalise_cells(figure, side, kind, alt, head, labels, (LEFT_MARGIN, LEFT_MARGIN_NARROW), shapes, **narrow)


def _finalise_cells(
    figure: Figure,
    side: str,
    kind: str,
    alt: str,
    head: str,
    labels: list[list[str]],
    left: tuple[int, int],
    shapes: list[dict],
    **narrow: Any,
) -> Figure:
    """``labels`` of the rows and ``left`` margin in a wide and in a narrow view."""
    return finalise(
        figure,
        kind=kind,
        alt=f"{SIDE_STYLES[side]['title']} picture{alt}.",
        pickable=True,
        wrap=[0],
        narrow={"margin.l": left[1], "annotations.0.xshift": 8 - left[1], "yaxis.ticktext": labels[1]} | narrow,
        annotations=[annotation(side_title(side, head), 0, 1, yshift=6, xshift=8 - left[0])],
        shapes=shapes,
        plot_bgcolor=COLOURS["faint"],
        margin={"l": left[0], "r": 52, "t": 34, "b": 28},
        xaxis=view_axis(len(figure.traces[0]["x"])),
        yaxis=row_axis(labels[0]),
    )


def view_mass(run: Run, side: str, *, k: int | None = None, view: int | None = None) -> Figure:
    """The share of its own mass that each view (across) moves to each class (down), 0 to 100 %.

    Below rho = 1 every class leaves out the views that cost it most. Cells carry ``customdata = (view, class, share)``.
    """
    one: ImageResult = getattr(run, side)
    classes, views = shown_classes(run, k, 10), view_order(run.attacked)
    used = np.asarray(one.trace.view_weight, float) > 0
    z, data, text = [], [], []
    for c in classes:
        name, share = escaped(run.class_prompts.names[c], 40), moved_shares(one, c)
        z.append([float(share[n]) if used[n] else None for n in views])
        data.append([[int(n), c, float(share[n])] for n in views])
        moves = [f"{name}: {percent(share[n], 1)} of view {n} moves" for n in views]
        text.append([words if used[n] else f"view {n} is left out" for n, words in zip(views, moves, strict=True)])
    figure = Figure()
    add_cells(figure, z, customdata=data, text=text, colorbar=colour_bar(**MASS_TICKS), **MASS_SCALE)
    head = f"share of each view that moves, ρ = {percent(float(one.trace.prompt_transport.mass))}"
    labels = [[class_label(run, c, letters) for c in classes] for letters in (16, 13)]
    shapes = selection_shapes(views, np.array(classes), None if view is None else (view, k))
    alt = f": which share of each view moves to each of {len(classes)} classes"
    return _finalise_cells(figure, side, "view_mass", alt, head, labels, (130, 112), shapes)


def prompt_shares(run: Run, k: int, *, atom: int | None = None) -> Figure:
    """The contribution of each prompt of class ``k`` to the cost: received mass times its mean cost.

    Bars carry ``customdata = (atom, mass share, mean cost, hover text)``.
    """
    atoms, sentences = _valid_prompts(run, k), run.class_prompts.prompts[k]
    figure, most = Figure(), 1e-6
    for name in sides_of(run):
        solved = getattr(run, name).trace.prompt_transport
        plan = np.asarray(solved.plan, float)[k] / float(solved.mass)
        mass, adds = plan.sum(0), (plan * np.asarray(solved.cost, float)[k]).sum(0)
        most = max(most, float(adds[atoms].max()))
        words = f"<br>{SIDE_STYLES[name]['title'].lower()}: "
        text = {m: f"“{escaped(sentences[m], 60)}”{words}{percent(mass[m], 1)} of the mass" for m in atoms}
        figure.add_bar(
            y=list(range(len(atoms)))[::-1],
            x=[float(adds[m]) for m in atoms],
            orientation="h",
            name=name,
            customdata=[
                [int(m), float(mass[m]), float(adds[m] / max(mass[m], 1e-30)), f"{text[m]}, adds {adds[m]:.4f}"]
                for m in atoms
            ],
            hovertemplate="%{customdata[3]}<extra></extra>",
            marker=side_bar(name, opacity=dim_marks(atoms.tolist(), atom)),
            text=[f"{percent(mass[m])} of the mass" if mass[m] > 0 else "left out" for m in atoms],
            textposition="outside",
            textfont={"size": 11, "color": COLOURS["quiet"]},
            cliponaxis=False,
        )
    return finalise(
        figure,
        kind="prompt_shares",
        pickable=True,
        barmode="group",
        alt=f"What each of {len(atoms)} prompts of {run.class_prompts.names[k]} adds to its transport cost.",
        shapes=row_band(position(atoms[::-1], atom)),
        narrow={
            "margin.l": LEFT_MARGIN_NARROW,
            "xaxis.range": [0, 2.2 * most],
            "yaxis.ticktext": [escaped(sentences[m], 14) for m in atoms],
        },
        margin={"l": LEFT_MARGIN, "r": 20, "t": 12, "b": 42},
        xaxis=axis(range=[0, 1.45 * most], nticks=4, title="adds to the cost (cosine distance)"),
        yaxis=row_axis([escaped(sentences[m], 24) for m in atoms]),
    )
