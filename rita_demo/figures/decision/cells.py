"""Parts that the heatmaps of views, prompts and classes share: their numbers, scales, axes and the selected cell."""

from typing import Any

import numpy as np

from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.shapes import category_axis, dim_columns, frame
from rita_demo.figures.theme import axis
from rita_demo.records import ImageResult, Run

VIEWS_TITLE = "views, surest first"  # on the delivered picture, so that a column is the same crop everywhere


def view_order(side: ImageResult) -> np.ndarray:
    """View numbers from left to right: lowest entropy first."""
    return np.argsort(np.asarray(side.trace.confidence.entropy), kind="stable")


def moved_shares(side: ImageResult, k: int) -> np.ndarray:
    """(N,): the share of its own mass that each view moves to class ``k``, in [0, 1]."""
    transport = side.trace.prompt_transport
    weight = np.asarray(transport.row_weight, float)[k]
    return np.clip(np.asarray(transport.plan, float)[k].sum(1) / np.maximum(weight, 1e-30), 0, 1)


def ratio_to_product_plan(run: Run, side: str, k: int) -> np.ndarray:
    """(N, M): the plan over the product of its marginals, 1 = an even share; NaN for excluded views and prompts.

    The columns hold rho times the prompts' weights, so with uniform weights this is T N M / rho."""
    solved = getattr(run, side).trace.prompt_transport
    product = np.outer(*(np.asarray(weight, float)[k] for weight in (solved.row_weight, solved.column_weight)))
    return np.where(product > 0, np.asarray(solved.plan, float)[k] / np.maximum(product, 1e-30), np.nan)


def add_cells(figure: Figure, z: list[list[float | None]] | np.ndarray, hover: str = "%{text}", **trace: Any) -> None:
    """A heatmap with the first row at the top and a gap between its cells."""
    x, y, hovertemplate = list(range(len(z[0]))), list(range(len(z)))[::-1], f"{hover}<extra></extra>"
    figure.add_heatmap(z=z, x=x, y=y, xgap=1, ygap=1, hovertemplate=hovertemplate, **trace)


def cell_data(views: np.ndarray, rows: np.ndarray, *values: np.ndarray) -> np.ndarray:
    """``customdata`` of a heatmap: (R, V, 2 + values): the view across, the row, and values (R, V) each."""
    return np.stack([*np.meshgrid(views, rows), *values], 2)


def view_axis(count: int, title: str = VIEWS_TITLE, **more: Any) -> Spec:
    """The horizontal axis of ``count`` views or prompts, without ticks."""
    return axis(**{"range": [-0.5, count - 0.5], "showgrid": False, "tickvals": [], "title": title} | more)


def row_axis(labels: list[str], max_large: int = 12, **more: Any) -> Spec:
    """The vertical axis of named rows, the first at the top; small letters for more than ``max_large`` rows."""
    return category_axis(labels, top_first=True, size=12 if len(labels) <= max_large else 8, **more)


def position(order: np.ndarray, number: int | None) -> int | None:
    """The index of ``number`` in ``order``, if it is there."""
    found = [] if number is None else np.flatnonzero(order == number).tolist()
    return found[0] if found else None


def selection_shapes(views: np.ndarray, rows: np.ndarray, selected: tuple[int, int | None] | None) -> list[dict]:
    """A frame around the selected cell, or around the column of the selected view; the other columns are dimmed."""
    column = None if selected is None else position(views, selected[0])
    if selected is None or column is None:
        return []
    row = position(rows[::-1], selected[1])
    height = (-0.5, len(rows) - 0.5) if row is None else (row - 0.5, row + 0.5)
    return [*dim_columns(column, len(views)), frame((column - 0.5, column + 0.5), height)]
