"""Numbers of views and measurements: agreement, exact transport between Theorem 1's bounds, shares over several datasets."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from rita_demo.records import MeasuredCell, TheoremBounds, Trace
from rita_demo.records.intervals import wilson


def resultant_length(features: np.ndarray) -> float:
    """``r = |sum of rows| / J`` in [0, 1] of unit rows (J, D): 1 when all are equal, 0 when empty."""
    if not len(features):
        return 0.0
    return float(np.linalg.norm(np.asarray(features, np.float64).sum(0)) / len(features))


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


@dataclass(frozen=True)
class PooledShare:
    """``right`` of ``n`` pictures; ``earlier``: some of them under an attack that was replaced since."""

    right: int
    n: int
    earlier: bool

    @property
    def percent(self) -> float:
        return 100 * self.right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval, in percent."""
        low, high = wilson(self.right, self.n)
        return 100 * low, 100 * high


def pooled(cells: Iterable[MeasuredCell]) -> dict[tuple[str, str, str], PooledShare]:
    """(model, method, attack) -> its right answers, added up over the datasets. Of a dataset that was measured twice the cell
    under the present form of the attack counts, then that of more pictures."""
    import pandas as pd

    rows = pd.DataFrame([vars(cell) | {"earlier": cell.by_earlier_attack} for cell in cells if cell.protocol == "off"])
    if rows.empty:
        return {}
    rows["right"] = (rows["accuracy"] * rows["n"] / 100).round()
    keys = ["backbone", "method", "attack"]
    best = rows.sort_values(["earlier", "n"], ascending=[True, False]).drop_duplicates(["dataset", *keys])
    sums = best.groupby(keys).agg({"right": "sum", "n": "sum", "earlier": "any"})
    return {
        at: PooledShare(int(row.right), int(row.n), bool(row.earlier)) for at, row in zip(sums.index, sums.itertuples())
    }
