"""Rows 4-7 of the method for one class: Sinkhorn, partial transport, the three objectives, exact limits."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog

F = np.ndarray


@dataclass(frozen=True)
class Solution:
    """``plan`` (N, M) the real columns; ``value`` per unit of moved mass; ``residual`` of the last check."""

    plan: F
    value: float
    residual: float


def softmax(logits: F) -> F:
    shifted = np.exp(logits - logits.max())
    return shifted / shifted.sum()


def shannon(p: F) -> float:
    """Entropy in nats, 0 log 0 = 0; of all entries of a plan, too."""
    inside = p[p > 0]
    return float(-(inside * np.log(inside)).sum())


def cosine(a: F, b: F) -> float:
    """cos(a, b) of two vectors of any length."""
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def cosines(x: F, z: F) -> F:
    """cos(x_n, z_m) for x (N, D) and z (M, D), normalised here: (N, M)."""
    lengths = np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(z, axis=1))
    return x @ z.T / lengths


def cost_matrix(x: F, z: F) -> F:
    """Row 5 for one class: C[n, m] = 1 - cos(x_n, z_m)."""
    return 1.0 - cosines(x, z)


def _log_sum_exp(values: F, axis: int) -> F:
    top = values.max(axis=axis, keepdims=True)
    return np.log(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis)


def sinkhorn(
    cost: F, a: F, b: F, entropy_weight: float, residual: float = 1e-12, iterations: int = 30_000
) -> tuple[F, float]:
    """Row 6: argmin <T, C> - lambda h(T) with marginals a, b > 0, plain log-domain iterations."""
    f, g = np.zeros(len(a)), np.zeros(len(b))
    error, plan = np.inf, np.outer(a, b)
    for iteration in range(iterations):
        f = entropy_weight * (np.log(a) - _log_sum_exp((g[None] - cost) / entropy_weight, axis=1))
        g = entropy_weight * (np.log(b) - _log_sum_exp((f[:, None] - cost) / entropy_weight, axis=0))
        if iteration % 10 == 9:
            plan = np.exp((f[:, None] + g[None] - cost) / entropy_weight)
            error = float(np.abs(plan.sum(1) - a).sum() + np.abs(plan.sum(0) - b).sum())
            if error < residual:
                break
    return plan, error


def solve(cost: F, a: F, b: F, entropy_weight: float, rho: float = 1.0, objective: str = "linear") -> Solution:
    """Rows 6-7 with section 7's partial transport.

    The columns have mass rho b, one more column of mass 1 - rho has cost 0; the value is divided by rho. The entropy or
    KL term includes all columns: only then is the value the minimum of one objective and its derivative the plan
    (envelope theorem). Atoms and views of weight zero are removed.
    """
    rows, columns = np.flatnonzero(a > 0), np.flatnonzero(b > 0)
    inner, aa, bb = cost[np.ix_(rows, columns)], a[rows], rho * b[columns]
    if rho < 1.0:
        inner = np.concatenate([inner, np.zeros((len(rows), 1))], axis=1)
        bb = np.append(bb, 1.0 - rho)
    full, residual = sinkhorn(inner, aa, bb, entropy_weight)
    value = float((full * inner).sum())
    if objective == "entropic":
        value -= entropy_weight * shannon(full)
    elif objective == "kl":
        product = np.outer(aa, bb)
        inside = full > 0
        value += entropy_weight * float((full[inside] * np.log(full[inside] / product[inside])).sum())
    elif objective != "linear":
        raise ValueError(objective)
    plan = np.zeros_like(cost, dtype=float)
    plan[np.ix_(rows, columns)] = full[:, : len(columns)]
    return Solution(plan, value / rho, residual)


def exact_value(cost: F, a: F, b: F, rho: float = 1.0) -> float:
    """The limit lambda -> 0 by linear programming: columns get exactly rho b, rows give at most a."""
    n, m = cost.shape
    row_sums, column_sums = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    result = linprog(
        cost.ravel(), A_ub=row_sums, b_ub=a, A_eq=column_sums, b_eq=rho * b, bounds=(0, None), method="highs"
    )
    assert result.success, result.message
    return float(result.fun) / rho


def assignment_value(cost: F) -> float:
    """The limit lambda -> 0 for as many views as atoms: the cheapest one-to-one assignment's mean cost."""
    rows, columns = linear_sum_assignment(cost)
    return float(cost[rows, columns].mean())
