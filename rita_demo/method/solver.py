"""Entropic transport for many small problems at once: log-domain Sinkhorn with a Newton step.

Plain Sinkhorn needs about 1/lambda sweeps, thousands at lambda = 0.001.  Three things bring that
down to tens, and none of them changes the plan that is found:

* *few atoms*: with the rows solved exactly, only M numbers per class are unknown (M is 4, not 64),
  so Newton's step on them is an M x M system (Brauer et al. 2017, "A Sinkhorn-Newton method");
* *annealing*: lambda starts at the size of the costs and is halved, a few steps at each level;
* *leaving early*: a class that reached the tolerance takes no part in later steps.

Every step tries both candidates, Sinkhorn's and Newton's, and keeps for each class the better one:
never worse than Sinkhorn, whatever rounding does to Newton.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from rita_demo.method.precision import wide
from rita_demo.threads import one_thread

FLAT = 4.0  # annealing starts where the largest centred cost is this many lambda
ARRIVED = 0.1  # lambda is halved when every column is this close, as a share of the lightest one
VISIBLE = 1e-5  # gains of the dual, in units of lambda, that differ by less count as equal
Watch = Callable[[float, Tensor, Tensor], None]  # lambda, plan, column potentials
PATIENCE = 25  # steps without a 10 % better residual before it counts as stalled


@dataclass(frozen=True)
class Solution:
    """``plan`` (K, N, M), rows exact; ``potentials`` f (K, N), g (K, M) with
    ``plan = rows * columns * exp((f + g - cost) / lambda)``; ``residual`` and ``checks`` (T,);
    ``converged`` (K,) bool; ``stalled``: it gave up because the residual no longer fell."""

    plan: Tensor
    potentials: tuple[Tensor, Tensor]
    residual: Tensor
    checks: Tensor
    converged: Tensor
    stalled: bool


class _Iterate(NamedTuple):
    """``kernel`` (K, M, N) log of the plan given the view: sums to 1 over atoms; ``g`` (K, M, 1);
    ``log_column`` (K, M, 1) log of the mass in each column; ``gap`` (K, M, 1) mass still missing;
    ``gain`` (K, 1, 1) by how much the last step raised the dual, in units of lambda."""

    kernel: Tensor
    g: Tensor
    log_column: Tensor
    gap: Tensor
    gain: Tensor

    @property
    def error(self) -> Tensor:
        """(K,) largest absolute column error; the rows have none."""
        return self.gap.abs().amax((1, 2))

    def take(self, classes: Tensor) -> _Iterate:
        return _Iterate(*(values[classes] for values in self))

    def put(self, classes: Tensor, other: _Iterate) -> _Iterate:
        return _Iterate(*(v.index_put((classes,), o) for v, o in zip(self, other, strict=True)))

    def replaced(self, where: Tensor, other: _Iterate) -> _Iterate:
        """``other`` for the classes with ``where`` (K,) true."""
        where = where[:, None, None]
        return _Iterate(*(torch.where(where, o, v) for v, o in zip(self, other, strict=True)))


class _Problem(NamedTuple):
    """The fixed part, atoms before views because the long axis vectorises when it is last.

    ``cost`` (K, M, N) without its row and column means; ``a`` (K, 1, N), ``b`` (K, M, 1).
    """

    cost: Tensor
    a: Tensor
    b: Tensor
    log_a: Tensor
    log_b: Tensor

    def take(self, classes: Tensor) -> _Problem:
        return _Problem(*(values[classes] for values in self))

    def at(self, g: Tensor, level: Tensor) -> _Iterate:
        """The iterate of the column potentials ``g`` (K, M, 1) at lambda = ``level`` (K,)."""
        kernel = self.log_b + (g - self.cost) / level[:, None, None]
        return self._evaluate(kernel, g, torch.zeros_like(self.b))

    def moved(self, old: _Iterate, step: Tensor, level: Tensor) -> _Iterate:
        """``old`` after adding ``step`` (K, M, 1), in units of lambda, to the column potentials.

        The step goes into the kernel itself: g is of size 1 and float32 resolves it to 6e-8, which
        at lambda = 0.001 would leave 6e-5 of a column's mass unreachable.
        """
        return self._evaluate(old.kernel + step, old.g + step * level[:, None, None], step)

    def plan(self, iterate: _Iterate) -> Tensor:
        """(K, N, M): its rows are exact."""
        return (iterate.kernel.exp() * self.a).transpose(1, 2).contiguous()

    def _evaluate(self, kernel: Tensor, g: Tensor, step: Tensor) -> _Iterate:
        rows = kernel.logsumexp(1, keepdim=True)
        kernel = kernel - rows
        log_column = (kernel + self.log_a).logsumexp(2, keepdim=True)
        gain = (self.b * step).sum(1, keepdim=True) - (self.a * rows).sum(2, keepdim=True)
        return _Iterate(kernel, g, log_column, self.b - log_column.exp(), gain)


def solve(
    cost: Tensor,
    rows: Tensor,
    columns: Tensor,
    *,
    entropy_weight: float,
    tolerance: float,
    max_iterations: int,
    watch: Watch | None = None,
) -> Solution:
    """``argmin_T <T, C> + lambda KL(T || rows x columns)``, marginals ``rows`` and ``columns``.

    Args:
        cost: (K, N, M) float32 or float64, finite.
        rows, columns: (K, N) and (K, M), non-negative, each sums to 1; a zero carries no mass.
        entropy_weight: lambda > 0, in units of the cost.
        tolerance: stop a class when its largest column error is at most this (total mass is 1).
        max_iterations: steps at most, annealing included.
        watch: for one class (K = 1): told at every check the lambda it is at, the plan (1, N, M) so far
            and its column potentials (M,).
    """
    if len(cost) == 0:
        none = cost.new_zeros(0)
        return Solution(cost, (rows, columns), none, none.long(), none.bool(), False)
    problem, f0, g0 = _centred(cost, rows, columns)

    def told(iterate: _Iterate, level: Tensor) -> None:
        if watch is not None:
            watch(float(level[0]), problem.plan(iterate), (iterate.g + g0).flatten())

    with one_thread():
        iterate, residual, checks, converged, stalled = _descend(
            problem, entropy_weight, tolerance, max_iterations, told
        )
        plan = problem.plan(iterate)
        exponent = problem.log_b + (iterate.g - problem.cost) / entropy_weight
        f = f0.flatten(1) - entropy_weight * exponent.logsumexp(1)
    return Solution(
        plan,
        (f, (iterate.g + g0).flatten(1)),
        torch.tensor(residual, dtype=cost.dtype, device=cost.device),
        torch.tensor(checks, device=cost.device),
        converged,
        stalled,
    )


def _centred(cost: Tensor, rows: Tensor, columns: Tensor) -> tuple[_Problem, Tensor, Tensor]:
    """Take means out of the cost: potentials then start at zero and stay small, so rounding is small.

    At large lambda these means *are* the potentials, and the product plan is the first iterate.
    """
    a, b = rows[:, None, :], columns[:, :, None]
    C = cost.transpose(1, 2).contiguous()
    f0 = (C * b).sum(1, keepdim=True)
    C = C - f0
    g0 = (C * a).sum(2, keepdim=True)
    return _Problem(C - g0, a, b, a.log(), b.log()), f0, g0


def _descend(
    problem: _Problem,
    target: float,
    tolerance: float,
    max_iterations: int,
    told: Callable[[_Iterate, Tensor], None],
) -> tuple[_Iterate, list[float], list[int], Tensor, bool]:
    """Follow every class from a large lambda down to ``target``, then until it is within tolerance.

    The residual is a by-product of the step, so it is known at every one.
    """
    level = _first_level(problem, target)
    final = iterate = problem.at(torch.zeros_like(problem.b), level)
    active = torch.arange(len(level), device=level.device)
    error = iterate.error.clone()
    residual, checks = [], []
    best, waited = math.inf, 0
    for number in range(max_iterations + 1):
        if 2 * number >= max_iterations:  # too few steps were allowed: give the rest to the target
            iterate, level = _lowered(problem, iterate, level, target, level > target, jump=True)
        error[active] = iterate.error
        residual.append(float(error.max()))
        checks.append(number)
        told(iterate, level)
        arrived = level <= target
        moving = residual[-1] < 0.9 * best or not bool(arrived.all())
        best, waited = (residual[-1], 0) if moving else (best, waited + 1)
        going = ~arrived | (iterate.error > tolerance)
        if number == max_iterations or waited >= PATIENCE or not bool(going.any()):
            break
        if not bool(going.all()):
            final = final.put(active[~going], iterate.take(~going))
            active, level = active[going], level[going]
            problem, iterate = problem.take(going), iterate.take(going)
        iterate = _step(problem, iterate, level)
        near = iterate.error < ARRIVED * problem.b.where(problem.b > 0, 1).amin((1, 2))
        iterate, level = _lowered(problem, iterate, level, target, near & (level > target))
    return final.put(active, iterate), residual, checks, error <= tolerance, waited >= PATIENCE


def _first_level(problem: _Problem, target: float) -> Tensor:
    """(K,) lambda to start from; only entries that carry mass say how large the cost is."""
    spread = (problem.cost.abs() * (problem.a > 0) * (problem.b > 0)).amax((1, 2))
    return (spread / FLAT).clamp(min=target)


def _lowered(
    problem: _Problem,
    iterate: _Iterate,
    level: Tensor,
    target: float,
    which: Tensor,
    jump: bool = False,
) -> tuple[_Iterate, Tensor]:
    """Halve lambda, or jump to ``target``, for the classes ``which`` (K,); keep their potentials."""
    if not bool(which.any()):
        return iterate, level
    lower = torch.full_like(level, target) if jump else (level / 2).clamp(min=target)
    level = torch.where(which, lower, level)
    return iterate.replaced(which, problem.at(iterate.g, level)), level


def _step(problem: _Problem, old: _Iterate, level: Tensor) -> _Iterate:
    """Sinkhorn's step or Newton's, whichever climbs higher on the dual, class by class.

    Near the top the climb drowns in rounding: there the one with less mass in the wrong column wins.
    (Far from it the misplaced mass says nothing: it stays the same until a view changes its column.)
    """
    sinkhorn = torch.where(problem.b > 0, problem.log_b - old.log_column, 0)
    first = problem.moved(old, sinkhorn, level)
    second = problem.moved(old, _newton(problem, old), level)
    climb = (second.gain - first.gain).flatten()
    tidier = second.gap.abs().sum((1, 2)) < first.gap.abs().sum((1, 2))
    better = (climb > VISIBLE) | ((climb > -VISIBLE) & tidier)  # False for NaN
    return first.replaced(better, second)


def _newton(problem: _Problem, old: _Iterate) -> Tensor:
    """Damped Newton step (K, M, 1), in units of lambda, on the dual of the column potentials.

    The dual is ``<b, g> - lambda sum_n a_n logsumexp_m(...)``: gradient ``b - column mass``, minus the
    Hessian is :func:`schur`.  Log-sum-exp changes its curvature by at most e^range, for which the
    damping ``log(1 + range) / range`` ascends from anywhere and goes to 1 near the solution
    (generalised self-concordance, Sun and Tran-Dinh 2019): no line search.
    """
    share = old.kernel.exp()
    hessian = schur(share * problem.a, share, old.log_column.exp())
    alive = wide(problem.b) > 0
    # The constant direction changes nothing: pinning it, and atoms without mass, makes it solvable.
    b = wide(problem.b)
    diagonal = torch.where(alive, 1e-9, 1.0).to(b.dtype)
    hessian = hessian + b @ b.transpose(1, 2) + torch.diag_embed(diagonal[..., 0])
    step, _ = torch.linalg.solve_ex(hessian, wide(old.gap))
    step = torch.where(alive, step, 0)
    span = (step.amax(1, keepdim=True) - step.amin(1, keepdim=True)).clamp(min=1e-12)
    return (step * (torch.log1p(span) / span)).to(problem.cost.dtype)


def schur(plan: Tensor, share: Tensor, column: Tensor) -> Tensor:
    """``diag(column) - T^T diag(1/a) T`` (K, M, M): the (N + M) marginal system without its rows.

    ``plan`` (K, M, N) is T transposed, ``share`` the same divided by the row weights, ``column``
    (K, M, 1) the column sums.  Singular: every row sums to zero.
    """
    return torch.diag_embed(wide(column)[..., 0]) - wide(plan @ share.transpose(1, 2))
