"""Exact optimal transport by linear programming, between the bounds of Theorem 1."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from rita_demo.records import TheoremBounds, Trace


def exact_cost(cost: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> float:
    """``min <T, C>`` over plans T with marginals ``rows`` (N,) and ``columns`` (M,), each summing to 1.

    ``cost`` (N, M) in cosine distance. It is the limit of the entropic transport for lambda -> 0; NaN without a solution.
    """
    from scipy.optimize import linprog  # late: the page opens without it

    n, m = cost.shape
    sums = np.concatenate([np.kron(np.eye(n), np.ones((1, m))), np.kron(np.ones((1, n)), np.eye(m))])
    solution = linprog(
        np.asarray(cost, np.float64).ravel(), A_eq=sums, b_eq=np.concatenate([rows, columns]), method="highs"
    )
    return float(solution.fun) if solution.status == 0 else float("nan")


def with_exact(bounds: TheoremBounds, trace: Trace, classes: Iterable[int]) -> TheoremBounds:
    """The bounds with ``exact`` computed for some classes, in cosine distance, whatever cost a view had in the decision;
    all views have equal weight."""
    exact = np.array(bounds.exact, np.float64)
    x, z = (np.asarray(part, np.float64) for part in (trace.view_features, trace.prompt_features))
    for k in classes:
        weight = np.asarray(trace.prompt_weight[k], np.float64)
        real = weight > 0
        exact[k] = 2 * exact_cost(1 - x @ z[k, real].T, np.full(len(x), 1 / len(x)), weight[real] / weight.sum())
    return replace(bounds, exact=exact)
