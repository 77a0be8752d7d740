"""Rows 4-7 of the method for one class: Sinkhorn, partial transport, the three objectives, exact limits; row 14, the bounds on
2 d_OT by the Gaussian (Bures) distance."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

F = np.ndarray


#: Where Sinkhorn ends: iterations, and the error of all marginals together.
EXACT = (30_000, 1e-12)


class Solution(NamedTuple):
    """``plan`` (N, M) the real columns; ``value`` per unit of moved mass."""

    plan: F
    value: float


def unit(a: F) -> F:
    """Rows of length 1."""
    return a / np.linalg.norm(a, axis=-1, keepdims=True)


def softmax(logits: F) -> F:
    shifted = np.exp(logits - logits.max())
    return shifted / shifted.sum()


def shannon(p: F) -> float:
    """Entropy in nats, 0 log 0 = 0; of all entries of a plan, too."""
    inside = p[p > 0]
    return float(-(inside * np.log(inside)).sum())


def cosine(a: F, b: F) -> float:
    """cos(a, b) of two vectors of any length."""
    return float(unit(a) @ unit(b))


def cosines(x: F, z: F) -> F:
    """cos(x_n, z_m) for x (N, D) and z (M, D), normalised here: (N, M)."""
    return unit(x) @ unit(z).T


def cost_matrix(x: F, z: F) -> F:
    """Row 5 for one class: C[n, m] = 1 - cos(x_n, z_m)."""
    return 1.0 - cosines(x, z)


def log_sum_exp(values: F, axis: int) -> F:
    """log(sum(exp(values))) along an axis without overflow; on arrays this small scipy's is ten times slower."""
    highest = values.max(axis, keepdims=True)
    return np.log(np.exp(values - highest).sum(axis)) + highest.squeeze(axis)


def sinkhorn(cost: F, a: F, b: F, entropy_weight: float, end: tuple[int, float] = EXACT) -> F:
    """Row 6: argmin <T, C> - lambda h(T) with marginals a, b > 0, plain log-domain iterations."""
    g, plan = np.zeros(len(b)), np.outer(a, b)
    for iteration in range(end[0]):
        f = entropy_weight * (np.log(a) - log_sum_exp((g[None] - cost) / entropy_weight, axis=1))
        g = entropy_weight * (np.log(b) - log_sum_exp((f[:, None] - cost) / entropy_weight, axis=0))
        if iteration % 10 == 9:
            plan = np.exp((f[:, None] + g[None] - cost) / entropy_weight)
            if np.abs(plan.sum(1) - a).sum() + np.abs(plan.sum(0) - b).sum() < end[1]:
                break
    return plan


def solve(
    cost: F,
    a: F,
    b: F,
    entropy_weight: float,
    rho: float = 1.0,
    objective: str = "linear",
    end: tuple[int, float] = EXACT,
) -> Solution:
    """Rows 6-7 with section 7's partial transport. The columns have mass rho b, one more column of mass 1 - rho has
    cost 0; the value is divided by rho. The entropy or KL term includes all columns: only then is the value the minimum
    of one objective and its derivative the plan (envelope theorem). Atoms and views of weight zero are removed."""
    rows, columns = np.flatnonzero(a > 0), np.flatnonzero(b > 0)
    inner, aa, bb = cost[np.ix_(rows, columns)], a[rows], rho * b[columns]
    if rho < 1.0:
        inner = np.concatenate([inner, np.zeros((len(rows), 1))], axis=1)
        bb = np.append(bb, 1.0 - rho)
    full = sinkhorn(inner, aa, bb, entropy_weight, end)
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
    return Solution(plan, value / rho)


def exact_value(cost: F, a: F, b: F, rho: float = 1.0) -> float:
    """The limit lambda -> 0 by linear programming: columns get exactly rho b, rows give at most a."""
    n, m = cost.shape
    row_sums, column_sums = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    result = linprog(
        cost.ravel(), A_ub=row_sums, b_ub=a, A_eq=column_sums, b_eq=rho * b, bounds=(0, None), method="highs"
    )
    assert result.success, result.message
    return float(result.fun) / rho


def covariance(points: F) -> F:
    """Covariance with 1 / N, not 1 / (N - 1)."""
    centred = points - points.mean(0)
    return centred.T @ centred / len(points)


def root(matrix: F) -> F:
    """The symmetric square root; negative eigenvalues from rounding count as zero."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return vectors @ np.diag(np.sqrt(values.clip(0))) @ vectors.T


def theorem_bounds(x: F, z: F) -> tuple[float, float, float, float]:
    """(lower, upper, |mu gap|^2, B^2) for views (N, D) and atoms (M, D) of one class, uniform weights."""
    a, b = covariance(x), covariance(z)
    gap = float(((x.mean(0) - z.mean(0)) ** 2).sum())
    bures = float(np.trace(a + b) - 2 * np.trace(root(root(a) @ b @ root(a))))
    return gap + bures, gap + float(np.trace(a) + np.trace(b)), gap, bures
