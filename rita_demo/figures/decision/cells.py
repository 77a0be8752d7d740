"""What the figures of views and prompts share: the order of the views, how much moves, an axis."""

from typing import Any

import numpy as np

from rita_demo.figures.figure import Spec
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


def view_axis(count: int, title: str = VIEWS_TITLE, **more: Any) -> Spec:
    """The horizontal axis of ``count`` views or prompts, without ticks."""
    return axis(**{"range": [-0.5, count - 0.5], "showgrid": False, "tickvals": [], "title": title} | more)


def position(order: np.ndarray, number: int | None) -> int | None:
    """The index of ``number`` in ``order``, if it is there."""
    places = [] if number is None else np.flatnonzero(order == number).tolist()
    return places[0] if places else None
