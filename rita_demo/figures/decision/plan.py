"""The plan of a class: which view moves onto which prompt. Excluded views and prompts keep their place and are grey."""

import re
from collections.abc import Sequence

import numpy as np

from rita_demo.figures.decision.views import position, view_axis
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped
from rita_demo.figures.shapes import category_axis, frame
from rita_demo.figures.theme import COLOURS, annotation, finalise
from rita_demo.records import ImageResult, Run

LEFT_MARGIN = 150  # it holds the prompts
MOST = 4.0  # times an even share: the darkest cell of a plan


def ratio_to_product_plan(side: ImageResult, k: int) -> np.ndarray:
    """(N, M): the plan of class ``k`` over the product of its marginals, 1 = an even share; NaN for excluded views and prompts.

    The columns hold rho times the prompts' weights, so with uniform weights this is T N M / rho."""
    solved = side.trace.prompt_transport
    product = np.outer(*(np.asarray(weight, float)[k] for weight in (solved.row_weight, solved.column_weight)))
    return np.where(product > 0, np.asarray(solved.plan, float)[k] / np.maximum(product, 1e-30), np.nan)


def plan_matrix(
    run: Run, k: int, view: int | None = None, atom: int | None = None, *, order: np.ndarray, ends: Sequence[str]
) -> Figure:
    """T of class ``k`` on ``run.attacked`` over the product of its marginals (T N M / rho with uniform weights): 1 is even.

    ``order``: the views from left to right; ``ends``: what stands below the leftmost and the rightmost one. Cells carry
    ``customdata = (view, atom, cost, ratio to an even share)``. The selected cell, or the selected view's column, is framed."""
    atoms = np.flatnonzero(np.asarray(run.class_prompts.weight)[k] > 0)  # without padding; excluded ones are among them
    sentences, here = [run.class_prompts.prompts[k][m] for m in atoms], np.ix_(order, atoms)
    cost = np.asarray(run.attacked.trace.prompt_transport.cost, float)[k][here].T
    ratio = ratio_to_product_plan(run.attacked, k)[here].T
    excluded = np.isnan(ratio)

    def hover_text(j: int, i: int) -> str:
        carried = "left out: it carries nothing" if excluded[j, i] else f"{ratio[j, i]:.3f} × an even share"
        sentence = escaped(sentences[j], 60)
        return f"crop {order[i]} → “{sentence}”<br>cost {cost[j, i]:.4f} (cosine distance)<br>{carried}"

    figure, middle = Figure(), (COLOURS["middle"], COLOURS["high_mid"], COLOURS["high"])
    figure.add_heatmap(
        z=ratio,
        x=list(range(len(order))),
        y=list(range(len(atoms)))[::-1],  # the first prompt is at the top
        xgap=1,
        ygap=1,
        customdata=np.stack([*np.meshgrid(order, atoms), cost, np.nan_to_num(ratio)], 2),
        text=[[hover_text(j, i) for i in range(len(order))] for j in range(len(atoms))],
        hovertemplate="%{text}<extra></extra>",
        hoverongaps=True,
        zmin=0,
        zmax=MOST,
        colorscale=[[n / 2, colour] for n, colour in enumerate(middle)],
        showscale=False,
    )
    shapes = []
    if (column := position(order, view)) is not None:
        row = position(atoms[::-1], atom)
        height = (-0.5, len(atoms) - 0.5) if row is None else (row - 0.5, row + 0.5)
        shapes.append(frame((column - 0.5, column + 0.5), height))
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
        xaxis=view_axis(len(order), "", 0),
        yaxis=category_axis(
            [escaped(_without_name(one, name), 22) for one in sentences],
            top_first=True,
            size=12 if len(atoms) <= 12 else 8,
        ),
    )


def _without_name(sentence: str, name: str) -> str:
    """The sentence with an ellipsis for the class's own name: "a photo of a …"."""
    return re.sub(f"{re.escape(name)}\\W*$", "…", sentence.replace("_", " "), flags=re.IGNORECASE) if name else sentence
