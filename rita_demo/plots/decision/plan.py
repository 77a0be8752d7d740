"""The plan of a class: which view moves onto which prompt. Excluded views and prompts keep their place and are grey."""

import re
from collections.abc import Sequence

import numpy as np

from rita_demo.plots.decision.cells import (
    PLAN_SCALE,
    add_cells,
    cell_data,
    colour_bar,
    moved_shares,
    plan_colours,
    ratio_to_product_plan,
    row_axis,
    selection_shapes,
    view_axis,
    view_order,
)
from rita_demo.plots.figure import Figure, Spec
from rita_demo.plots.labels import escaped, percent
from rita_demo.plots.shapes import add_hit_area, percent_ticks
from rita_demo.plots.theme import COLOURS, SIDE_STYLES, annotation, axis, finalise
from rita_demo.records import ImageResult, Run

LEFT_MARGIN, LEFT_MARGIN_HEATMAP, LEFT_MARGIN_NARROW = 150, 190, 104  # they hold the prompts
MOST = 4.0  # times an even share: the darkest cell of a plan
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


def plan_matrix(
    run: Run, k: int, view: int | None = None, atom: int | None = None, *, order: np.ndarray, ends: Sequence[str]
) -> Figure:
    """T of class ``k`` on ``run.attacked`` over the product of its marginals (T N M / rho with uniform weights): 1 is even.

    ``order``: the views from left to right; ``ends``: what stands below the leftmost and the rightmost one. Cells carry
    ``customdata = (view, atom, cost, ratio to an even share)``. The selected cell, or the selected view's column, is framed."""
    atoms = np.flatnonzero(np.asarray(run.class_prompts.weight)[k] > 0)  # without padding; excluded ones are among them
    sentences, here = [run.class_prompts.prompts[k][m] for m in atoms], np.ix_(order, atoms)
    cost = np.asarray(run.attacked.trace.prompt_transport.cost, float)[k][here].T
    ratio = ratio_to_product_plan(run, "attacked", k)[here].T
    excluded = np.isnan(ratio)

    def hover_text(j: int, i: int) -> str:
        carried = "left out: it carries nothing" if excluded[j, i] else f"{ratio[j, i]:.3f} × an even share"
        sentence = escaped(sentences[j], 60)
        return f"crop {order[i]} → “{sentence}”<br>cost {cost[j, i]:.4f} (cosine distance)<br>{carried}"

    figure = Figure()
    middle = (COLOURS["middle"], COLOURS["high_mid"], COLOURS["high"])
    scale: Spec = {
        "zmin": 0,
        "zmax": MOST,
        "colorscale": [[n / 2, colour] for n, colour in enumerate(middle)],
        "showscale": False,
    }
    text = [[hover_text(j, i) for i in range(len(order))] for j in range(len(atoms))]
    add_cells(
        figure,
        ratio,
        customdata=cell_data(order, atoms, cost, np.nan_to_num(ratio)),
        text=text,
        hoverongaps=True,
        **scale,
    )
    shapes = selection_shapes(order, atoms, None if view is None else (view, atom))[-1:]  # the others are not dimmed
    left, right = (escaped(name, 18) for name in ends)
    most, least = float(np.nanmax(ratio)), float(np.nanmin(ratio))
    name = run.class_prompts.names[k]
    return finalise(
        figure,
        kind="plan_matrix",
        marks=("view", "atom"),
        alt=f"Plan of {name}: {len(order)} crops onto {len(atoms)} sentences, from {least:.2f} to {most:.2f} times an even share.",
        shapes=shapes,
        plot_bgcolor=COLOURS["faint"],
        annotations=[
            annotation(f"◂ {left}", 0, 0, yshift=-4, yanchor="top"),
            annotation(f"{right} ▸", 1, 0, yshift=-4, xanchor="right", yanchor="top"),
        ],
        margin={"l": LEFT_MARGIN, "r": 2, "t": 4, "b": 24},
        xaxis=view_axis(len(order), ""),
        yaxis=row_axis([escaped(_without_name(one, name), 22) for one in sentences]),
    )


def _without_name(sentence: str, name: str) -> str:
    """The sentence with an ellipsis for the class's own name: "a photo of a …"."""
    return re.sub(f"{re.escape(name)}\\W*$", "…", sentence.replace("_", " "), flags=re.IGNORECASE) if name else sentence
