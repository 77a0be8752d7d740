"""One decision, clean beside attacked on one scale: cost and plan of a class, moved mass, shares of the prompts.

A column is the same crop on both sides: views are ordered by their entropy on the delivered picture. Excluded views and
prompts keep their place and are grey.
"""

from typing import Any

import numpy as np

from rita_demo.plots.decision.cells import (
    MASS_SCALE,
    PLAN_SCALE,
    add_cells,
    cell_data,
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
from rita_demo.plots.figure import Figure, Spec
from rita_demo.plots.labels import escaped, percent, sides_of
from rita_demo.plots.shapes import add_hit_area, percent_ticks, row_band, side_bar
from rita_demo.plots.theme import COLOURS, SIDE_STYLES, annotation, axis, dim_marks, finalise
from rita_demo.records import ImageResult, Run

LEFT_MARGIN, LEFT_MARGIN_HEATMAP, LEFT_MARGIN_NARROW = 170, 190, 104  # they hold the prompts
FLAT_TOLERANCE = 0.05  # a plan whose every cell is this close to an even share is called flat
HEATMAP_DOMAIN, STRIP_DOMAIN = (0.30, 1.0), (0.0, 0.20)  # the two panels, as shares of the height


def plan_heatmap(run: Run, side: str, k: int, *, selected: tuple[int, int] | None = None) -> Figure:
    """T times N times M over rho of class ``k`` on a diverging scale around 1 (an even share), and each view's mass.

    The strip below shows the share of every view's mass that moves; with rho < 1 it can be 0. Cells carry
    ``customdata = (view, atom, ratio to an even share, cost, mass)``, bars ``(view, -1, share moved)``. The ``selected``
    (view, atom) is framed, the other views are dimmed; atom -1 frames the view in the strip only."""
    one: ImageResult = getattr(run, side)
    views, atoms, names = view_order(one), _moved_prompts(one, k), run.class_prompts.names
    labels = [[escaped(run.class_prompts.prompts[k][m], letters) for m in atoms] for letters in (60, 26, 14)]
    figure, moved = Figure(), moved_shares(one, k)[views]
    _draw_plan(figure, run, side, k, labels[0])
    bar = {"color": COLOURS["defence"], "line": {"width": 0}}
    figure.add_bar(x=list(range(len(views))), y=100 * moved, yaxis="y2", marker=bar, hoverinfo="skip")
    data = [[int(n), -1, float(share)] for n, share in zip(views, moved, strict=True)]
    add_hit_area(figure, 100, data, "view %{customdata[0]}: %{customdata[2]:.1%} of its mass moves", yaxis="y2")
    shapes = selection_shapes(views, atoms, selected)
    if selected is not None and shapes:
        shapes.insert(-1, shapes[-1] | {"y0": 0, "y1": 100, "yref": "y2"})  # in the strip
        if selected[1] not in atoms:
            shapes.pop()
    verdict = flatness(run, side, k)
    title = f"<b>{escaped(names[k], 30)}</b>, {SIDE_STYLES[side]['title'].lower()} picture. "
    return finalise(
        figure,
        kind="plan_heatmap",
        alt=f"Transport plan of {names[k]}, {side} picture. {verdict}",
        marks=("view", "atom"),
        wrap=[0],
        narrow={
            "margin": {"l": LEFT_MARGIN_NARROW, "r": 10, "t": 96, "b": 70},
            "data.0.xgap": 0,
            "data.0.colorbar.orientation": "h",
            "data.0.colorbar.len": 1.0,
            "data.0.colorbar.x": 0.5,
            "data.0.colorbar.y": -0.34,
            "yaxis.tickfont.size": 11,
            "yaxis.ticktext": labels[2],
            "annotations.0.xshift": 8 - LEFT_MARGIN_NARROW,
        },
        annotations=[
            annotation(title + verdict, 0, 1, yshift=6, xshift=8 - LEFT_MARGIN_HEATMAP),
            annotation("share of each view that moves", 0, STRIP_DOMAIN[1], yshift=3),
        ],
        shapes=shapes,
        bargap=0.15,
        barmode="overlay",
        margin={"l": LEFT_MARGIN_HEATMAP, "r": 64, "t": 58, "b": 34},
        xaxis=view_axis(len(views), "views, most confident (lowest entropy) first", anchor="y2"),
        yaxis=row_axis(labels[1], 8, domain=HEATMAP_DOMAIN),
        yaxis2=axis(range=[0, 100], domain=STRIP_DOMAIN, anchor="x", fixedrange=True, **percent_ticks(0, 100)),
    )


def _moved_prompts(one: ImageResult, k: int) -> np.ndarray:
    """The prompts of a class that take part in the transport: no padding, no excluded ones."""
    return np.flatnonzero(np.asarray(one.trace.prompt_transport.column_weight)[k] > 0)


def _draw_plan(figure: Figure, run: Run, side: str, k: int, labels: list[str]) -> None:
    one: ImageResult = getattr(run, side)
    solved, confidence, views, atoms = (
        one.trace.prompt_transport,
        one.trace.confidence,
        view_order(one),
        _moved_prompts(one, k),
    )
    parts = (
        np.nan_to_num(ratio_to_product_plan(run, side, k)),
        *(np.asarray(x, float)[k] for x in (solved.cost, solved.plan)),
    )
    ratio, cost, plan = (part[np.ix_(views, atoms)].T for part in parts)
    answers = [escaped(run.class_prompts.names[int(confidence.label[n])], 30) for n in views]
    texts = [
        f"view {n}: answer {answer}, entropy {confidence.entropy[n]:.2f} nats" for n, answer in zip(views, answers)
    ]
    add_cells(
        figure,
        plan_colours(ratio),
        "%{text}<br>%{customdata[2]:.3f} × an even share<br>cost %{customdata[3]:.4f} (cosine distance)",
        **PLAN_SCALE,
        customdata=cell_data(views, atoms, ratio, cost, plan),
        text=[[f"{text}<br>“{label}”" for text in texts] for label in labels],
        colorbar=colour_bar(
            len=HEATMAP_DOMAIN[1] - HEATMAP_DOMAIN[0],
            y=sum(HEATMAP_DOMAIN) / 2,
            thickness=10,
            tickvals=[-2, -1, 0, 1, 2],
            ticktext=["≤¼×", "½×", "1× even", "2×", "≥4×"],
        ),
    )


def flatness(run: Run, side: str, k: int) -> str:
    """One or two sentences on how far the plan is from an even one, and why."""
    one: ImageResult = getattr(run, side)
    even = np.nan_to_num(ratio_to_product_plan(run, side, k)[:, _moved_prompts(one, k)])
    off = float(np.abs(even - 1).max())
    weight, rho = run.settings.entropy_weight, float(one.trace.prompt_transport.mass)
    if off < FLAT_TOLERANCE:
        return (
            f"Flat: every cell is within {percent(max(off, 1e-4), 2 if off < 0.01 else 1)} of an even share. "
            f"λ\u00a0=\u00a0{weight:g} is large compared with the differences in cost: the distance is the mean cost over "
            "views and prompts."
        )
    words = f"Cells carry from {even.min():.2f} to {even.max():.2f} times an even share (λ\u00a0=\u00a0{weight:g})."
    if off < 0.3:
        words = f"Nearly even. {words}"
    if rho < 1:
        unused = int((moved_shares(one, k) < 0.05).sum())
        words += f" Only {percent(rho)} of the mass must move: {unused} of {len(even)} views are left out."
    return words


def cost_matrix(run: Run, side: str, k: int, view: int | None = None, atom: int | None = None) -> Figure:
    """C of class ``k``: cosine distance of every view (across) to every prompt (down); darker costs more.

    Cells carry ``customdata = (view, atom, cost, ratio to an even share)``."""
    atoms = _valid_prompts(run, k)
    costs = {s: np.asarray(getattr(run, s).trace.prompt_transport.cost, float)[k][:, atoms] for s in SIDE_STYLES}
    cost = costs[side]
    head = f"cost: from {cost.min():.3f} to {cost.max():.3f} (cosine distance)"
    return _matrix(run, side, k, "cost_matrix", cost, cost_scale(list(costs.values())), head, (view, atom))


def plan_matrix(run: Run, side: str, k: int, view: int | None = None, atom: int | None = None) -> Figure:
    """T of class ``k`` over the product of its marginals (T N M / rho with uniform weights): 1 is even.

    Cells carry ``customdata = (view, atom, cost, ratio to an even share)``."""
    ratio = ratio_to_product_plan(run, side, k)[:, _valid_prompts(run, k)]
    bar = colour_bar(tickvals=[-2, -1, 0, 1, 2], ticktext=["≤¼×", "½×", "1×", "2×", "≥4×"])
    head = f"plan: {np.nanmin(ratio):.2f} to {np.nanmax(ratio):.2f} times an even share"
    return _matrix(run, side, k, "plan_matrix", plan_colours(ratio), PLAN_SCALE | {"colorbar": bar}, head, (view, atom))


def _valid_prompts(run: Run, k: int) -> np.ndarray:
    """The prompts of a class without padding; excluded ones are among them."""
    return np.flatnonzero(np.asarray(run.class_prompts.weight)[k] > 0)


def _matrix(
    run: Run,
    side: str,
    k: int,
    kind: str,
    values: np.ndarray,
    scale: Spec,
    head: str,
    cell: tuple[int | None, int | None],
) -> Figure:
    views, atoms = view_order(run.attacked), _valid_prompts(run, k)
    sentences = [run.class_prompts.prompts[k][m] for m in atoms]
    solved, here = getattr(run, side).trace.prompt_transport, np.ix_(views, atoms)
    cost, ratio = np.asarray(solved.cost, float)[k][here].T, ratio_to_product_plan(run, side, k)[here].T
    excluded = np.isnan(ratio)

    def hover_text(j: int, i: int) -> str:
        carried = "left out: it carries nothing" if excluded[j, i] else f"{ratio[j, i]:.3f} × an even share"
        sentence = escaped(sentences[j], 60)
        return f"view {views[i]} → “{sentence}”<br>cost {cost[j, i]:.4f} (cosine distance)<br>{carried}"

    figure = Figure()
    add_cells(
        figure,
        np.where(excluded, np.nan, values[views].T),
        customdata=cell_data(views, atoms, cost, np.where(excluded, -1, ratio)),
        text=[[hover_text(j, i) for i in range(len(views))] for j in range(len(atoms))],
        hoverongaps=True,
        **scale,
    )
    labels = [[escaped(sentence, letters) for sentence in sentences] for letters in (24, 14)]
    view, atom = cell
    shapes = selection_shapes(views, atoms, None if view is None else (view, atom))
    alt = f", {run.class_prompts.names[k]}, {head}"
    narrow = {"margin.t": 52, "data.0.xgap": 0}
    left = (LEFT_MARGIN, LEFT_MARGIN_NARROW)
    return _finalise_cells(figure, side, kind, ("view", "atom"), alt, head, labels, left, shapes, **narrow)


def _finalise_cells(
    figure: Figure,
    side: str,
    kind: str,
    marks: tuple[str, str],
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
        marks=marks,
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
    used, shares = one.trace.view_weight[views] > 0, np.stack([moved_shares(one, c)[views] for c in classes])
    text = []
    for c, row in zip(classes, shares, strict=True):
        moves = [f"{percent(share, 1)} of view {n} moves" for n, share in zip(views, row)]
        name = escaped(run.class_prompts.names[c], 40)
        text.append(
            [f"{name}: {words}" if use else f"view {n} is left out" for n, use, words in zip(views, used, moves)]
        )
    figure, z = Figure(), np.where(used, shares, np.nan)
    data = cell_data(views, np.array(classes), shares)
    add_cells(figure, z, customdata=data, text=text, **MASS_SCALE)
    head = f"share of each view that moves, ρ = {percent(float(one.trace.prompt_transport.mass))}"
    labels = [[class_label(run, c, letters) for c in classes] for letters in (16, 13)]
    shapes = selection_shapes(views, np.array(classes), None if view is None else (view, k))
    alt = f": which share of each view moves to each of {len(classes)} classes"
    return _finalise_cells(figure, side, "view_mass", ("view", "k"), alt, head, labels, (130, 112), shapes)


def prompt_shares(run: Run, k: int, *, atom: int | None = None) -> Figure:
    """The contribution of each prompt of class ``k`` to the cost: received mass times its mean cost.

    Bars carry ``customdata = (atom, mass share, mean cost, hover text)``."""
    atoms, sentences = _valid_prompts(run, k), run.class_prompts.prompts[k]
    figure, most = Figure(), 1e-6
    for name in sides_of(run):
        solved = getattr(run, name).trace.prompt_transport
        plan = np.asarray(solved.plan, float)[k] / float(solved.mass)
        mass, adds = (part[atoms] for part in (plan.sum(0), (plan * np.asarray(solved.cost, float)[k]).sum(0)))
        most, data = max(most, float(adds.max())), []
        for m, share, part in zip(atoms.tolist(), mass.tolist(), adds.tolist(), strict=True):
            carried = f"{SIDE_STYLES[name]['title'].lower()}: {percent(share, 1)} of the mass, adds {part:.4f}"
            data.append([m, share, part / max(share, 1e-30), f"“{escaped(sentences[m], 60)}”<br>{carried}"])
        figure.add_bar(
            y=list(range(len(atoms)))[::-1],
            x=adds,
            orientation="h",
            name=name,
            customdata=data,
            hovertemplate="%{customdata[3]}<extra></extra>",
            marker=side_bar(name, opacity=dim_marks(atoms.tolist(), atom)),
            text=[f"{percent(share)} of the mass" if share > 0 else "left out" for share in mass],
            textposition="outside",
            textfont={"size": 11, "color": COLOURS["quiet"]},
            cliponaxis=False,
        )
    return finalise(
        figure,
        kind="prompt_shares",
        marks=("atom",),
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
