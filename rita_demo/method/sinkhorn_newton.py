"""Entropic transport for many small problems at once: log-domain Sinkhorn with a Newton step.

Plain Sinkhorn needs about 1/lambda sweeps, thousands at lambda = 0.001. Three changes reduce that to tens and keep the
solution:

* few unknowns: with the rows solved exactly, M numbers per class remain (4, not 64), so the Newton step is an M x M
  system (Brauer et al. 2017, "A Sinkhorn-Newton method");
* annealing: lambda starts at the size of the costs and is halved after a few steps;
* early exit: a class within the tolerance takes no part in later steps.

On a GPU four steps are recorded as one piece, in which a class that has arrived stays as it is: the host waits once for
the four, and not for every comparison.

Every step computes the Sinkhorn and the Newton candidate and keeps the better one for each class, so it is never worse
than Sinkhorn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import torch
from torch import Tensor

from rita_demo.method.cost import to_float64
from rita_demo.process.cpu_threads import single_threaded
from rita_demo.process.gpu import CudaGraphs, on_host

ANNEALING_START = 4.0  # annealing starts where the largest centred cost is this many lambda
LEVEL_TOLERANCE = 0.1  # lambda is halved when every column error is below this share of the smallest column
GAIN_TOLERANCE = 1e-5  # gains of the dual, in units of lambda, that differ by less count as equal
TOGETHER = {"cuda": 4}  # steps before the host looks at the residual
STALL_STEPS = 25  # steps without a 10 % smaller residual that count as stalled
_RECORDED = CudaGraphs(enabled=True)  # used with tensors of a GPU only


@dataclass(frozen=True)
class Solution:
    """``plan`` (K, N, M), rows exact; ``potentials`` f (K, N), g (K, M) with
    ``plan = rows * columns * exp((f + g - cost) / lambda)``; ``errors`` (T, K): every class's largest column error, before
    the first step and after each; ``steps`` (K,): how many each class took; ``converged`` (K,) bool; ``stalled``: stopped
    because the largest error no longer fell. Errors, steps and ``converged`` lie on the CPU."""

    plan: Tensor
    potentials: tuple[Tensor, Tensor]
    errors: Tensor
    steps: Tensor
    converged: Tensor
    stalled: bool

    @cached_property
    def residual(self) -> Tensor:
        """The largest error of all classes at each of their steps."""
        return self.errors[: int(self.steps.max()) + 1].amax(1) if len(self.steps) else self.errors.new_zeros(0)

    def part(self, first: int, last: int, columns: int) -> Solution:
        """The classes ``first`` to ``last`` - 1, and the first columns of their plans."""
        f, g = self.potentials
        return Solution(
            self.plan[first:last, :, :columns].contiguous(),
            (f[first:last], g[first:last, :columns]),
            self.errors[:, first:last],
            self.steps[first:last],
            self.converged[first:last],
            self.stalled,
        )


class _Iterate(NamedTuple):
    """``kernel`` (K, M, N) log of the plan divided by the row weight; ``g`` (K, M, 1) column potentials; ``log_column``
    (K, M, 1) log of the mass in each column; ``gap`` (K, M, 1) missing mass; ``gain`` (K, 1, 1) increase of the dual in
    the last step, in units of lambda."""

    kernel: Tensor
    g: Tensor
    log_column: Tensor
    gap: Tensor
    gain: Tensor

    @property
    def error(self) -> Tensor:
        """(K,) largest absolute column error."""
        return self.gap.abs().amax((1, 2))

    def take(self, classes: Tensor) -> _Iterate:
        return _Iterate(*(values[classes] for values in self))

    def put(self, classes: Tensor, other: _Iterate) -> _Iterate:
        return _Iterate(*(v.index_put((classes,), o) for v, o in zip(self, other, strict=True)))

    def where_better(self, where: Tensor, other: _Iterate) -> _Iterate:
        """``other`` for the classes with ``where`` (K,) true."""
        where = where[:, None, None]
        return _Iterate(*(torch.where(where, o, v) for v, o in zip(self, other, strict=True)))


class _Problem(NamedTuple):
    """The constants: ``cost`` (K, M, N) without its row and column means, weights ``a`` (K, 1, N) and ``b`` (K, M, 1).
    The views are the last axis, because the longest axis is the fastest there."""

    cost: Tensor
    a: Tensor
    b: Tensor
    log_a: Tensor
    log_b: Tensor

    def take(self, classes: Tensor) -> _Problem:
        return _Problem(*(values[classes] for values in self))

    def iterate_at(self, g: Tensor, level: Tensor) -> _Iterate:
        """The iterate of the column potentials ``g`` (K, M, 1) at lambda = ``level`` (K,)."""
        kernel = self.log_b + (g - self.cost) / level[:, None, None]
        return self._evaluate(kernel, g, torch.zeros_like(self.b))

    def iterate_after(self, old: _Iterate, step: Tensor, level: Tensor) -> _Iterate:
        """``old`` after adding ``step`` (K, M, 1), in units of lambda, to the column potentials. The step is added to
        the kernel, not only to g: float32 resolves a g of size 1 to 6e-8, an error of 6e-5 of a column's mass at lambda
        = 0.001."""
        return self._evaluate(old.kernel + step, old.g + step * level[:, None, None], step)

    def _evaluate(self, kernel: Tensor, g: Tensor, step: Tensor) -> _Iterate:
        rows = kernel.logsumexp(1, keepdim=True)
        kernel = kernel - rows
        log_column = (kernel + self.log_a).logsumexp(2, keepdim=True)
        gain = (self.b * step).sum(1, keepdim=True) - (self.a * rows).sum(2, keepdim=True)
        return _Iterate(kernel, g, log_column, self.b - log_column.exp(), gain)


def solve(
    cost: Tensor, rows: Tensor, columns: Tensor, *, entropy_weight: float, tolerance: float, max_iterations: int
) -> Solution:
    """``argmin_T <T, C> + lambda KL(T || rows x columns)``, marginals ``rows`` and ``columns``.

    Args:
        cost: (K, N, M) float32 or float64, finite.
        rows, columns: (K, N) and (K, M), non-negative, each sums to 1; an entry of 0 has no mass.
        entropy_weight: lambda > 0, in units of the cost.
        tolerance: a class stops when its largest column error is at most this (total mass is 1).
        max_iterations: limit on steps, annealing included."""
    if len(cost) == 0:
        none = cost.new_zeros(0, device="cpu")
        return Solution(cost, (rows, columns), none[:, None], none.long(), none.bool(), False)
    # Without the means of the cost the potentials start at zero and stay small, and so does rounding. At large lambda
    # these means are the potentials, and the product plan is the first iterate.
    a, b = rows[:, None, :], columns[:, :, None]
    C = cost.transpose(1, 2).contiguous()
    f0 = (C * b).sum(1, keepdim=True)
    C = C - f0
    g0 = (C * a).sum(2, keepdim=True)
    problem = _Problem(C - g0, a, b, a.log(), b.log())
    with single_threaded():
        iterate, errors, steps, stalled = _descend(problem, entropy_weight, tolerance, max_iterations)
        plan = (iterate.kernel.exp() * problem.a).transpose(1, 2).contiguous()
        exponent = problem.log_b + (iterate.g - problem.cost) / entropy_weight
        f = f0.flatten(1) - entropy_weight * exponent.logsumexp(1)
        errors, steps = on_host([errors, steps])
    return Solution(plan, (f, (iterate.g + g0).flatten(1)), errors, steps, errors[-1] <= tolerance, stalled)


def _descend(
    problem: _Problem, target: float, tolerance: float, max_iterations: int
) -> tuple[_Iterate, Tensor, Tensor, bool]:
    """Iterate every class from a large lambda down to ``target``, and then to within the tolerance. Returns the last
    iterate, and errors, steps and stalled of a :class:`Solution`."""
    # The first lambda is that of the largest cost among entries with mass.
    spread = (problem.cost.abs() * (problem.a > 0) * (problem.b > 0)).amax((1, 2))
    level = (spread / ANNEALING_START).clamp(min=target)
    final = iterate = problem.iterate_at(torch.zeros_like(problem.b), level)
    active = torch.arange(len(level), device=level.device)
    error = iterate.error.clone()
    errors, steps = [], torch.zeros_like(active)
    best, waited = math.inf, 0
    number, together = 0, TOGETHER.get(level.device.type, 1)
    while True:
        if 2 * number >= max_iterations:  # half of the steps are used: the rest at the target
            iterate, level = _lower_entropy(problem, iterate, level, target, level > target, jump=True)
        error[active] = iterate.error
        arrived = level <= target
        going = ~arrived | (iterate.error > tolerance)
        state = torch.stack([going.any(), going.all(), error.max(), arrived.all()])
        some, all_going, worst, all_arrived = state.tolist()  # the only wait for the device
        moving = worst < 0.9 * best or not all_arrived
        best, waited = (worst, 0) if moving else (best, waited + together)
        errors.append(error.clone()[None])
        if number >= max_iterations or waited >= STALL_STEPS or not some:
            break
        if together == 1:
            if not all_going:
                final = final.put(active[~going], iterate.take(~going))
                active, level = active[going], level[going]
                problem, iterate = problem.take(going), iterate.take(going)
            iterate, level = _advance(problem, iterate, level, target)
            steps[active] += 1
        else:
            run = partial(_advance_together, target=target, tolerance=tolerance, count=together)
            *changed, level, taken, passed = _RECORDED.run((target, tolerance), run, *problem, *iterate, level)
            iterate, steps = _Iterate(*changed), steps + taken
            errors.append(passed[:-1])  # the last one is seen at the next check
        number += together
    return final.put(active, iterate), torch.cat(errors), steps, waited >= STALL_STEPS


def _advance(problem: _Problem, iterate: _Iterate, level: Tensor, target: float) -> tuple[_Iterate, Tensor]:
    """One step of every class, and half the lambda where its columns are nearly right."""
    iterate = _step(problem, iterate, level)
    near = iterate.error < LEVEL_TOLERANCE * problem.b.where(problem.b > 0, 1).amin((1, 2))
    return _lower_entropy(problem, iterate, level, target, near & (level > target))


def _advance_together(*tensors: Tensor, target: float, tolerance: float, count: int) -> list[Tensor]:
    """``count`` steps without a look at a number: those of a problem, an iterate and its levels. Returns the iterate, the
    levels, how many steps each class took, and the errors (count, K) after each step."""
    fields = len(_Problem._fields)
    problem, iterate, level = _Problem(*tensors[:fields]), _Iterate(*tensors[fields:-1]), tensors[-1]
    errors, taken = [], torch.zeros_like(level, dtype=torch.long)
    for _ in range(count):
        going = (level > target) | (iterate.error > tolerance)
        after, lower = _advance(problem, iterate, level, target)
        iterate, level = iterate.where_better(going, after), torch.where(going, lower, level)
        taken = taken + going
        errors.append(iterate.error)
    return [*iterate, level, taken, torch.stack(errors)]


def _lower_entropy(
    problem: _Problem, iterate: _Iterate, level: Tensor, target: float, which: Tensor, jump: bool = False
) -> tuple[_Iterate, Tensor]:
    """Halve lambda, or jump to ``target``, for the classes ``which`` (K,); keep their potentials."""
    if which.device.type == "cpu" and not bool(which.any()):  # on a GPU the question takes longer than the answer
        return iterate, level
    lower = torch.full_like(level, target) if jump else (level / 2).clamp(min=target)
    level = torch.where(which, lower, level)
    return iterate.where_better(which, problem.iterate_at(iterate.g, level)), level


def _step(problem: _Problem, old: _Iterate, level: Tensor) -> _Iterate:
    """For each class the Sinkhorn or the Newton step, the one with the larger gain of the dual. Near the optimum
    rounding hides the gain; there the step with less mass in the wrong column is taken. Far from it that mass does not
    measure progress."""
    sinkhorn = torch.where(problem.b > 0, problem.log_b - old.log_column, 0)
    first = problem.iterate_after(old, sinkhorn, level)
    second = problem.iterate_after(old, _newton(problem, old), level)
    gain = (second.gain - first.gain).flatten()
    closer = second.gap.abs().sum((1, 2)) < first.gap.abs().sum((1, 2))
    better = (gain > GAIN_TOLERANCE) | ((gain > -GAIN_TOLERANCE) & closer)  # False for NaN
    return first.where_better(better, second)


def _newton(problem: _Problem, old: _Iterate) -> Tensor:
    """Damped Newton step (K, M, 1), in units of lambda, on the dual of the column potentials.

    The dual is ``<b, g> - lambda sum_n a_n logsumexp_m(...)`` with gradient ``b - column mass`` and minus the Hessian
    ``diag(column mass) - T^T diag(1/a) T`` (K, M, M), which is singular. The damping ``log(1 + range) / range`` increases the dual from any point and tends to 1 near the
    solution, without a line search (generalised self-concordance, Sun and Tran-Dinh 2019)."""
    share = old.kernel.exp()
    column = to_float64(old.log_column.exp())[..., 0]
    hessian = torch.diag_embed(column) - to_float64((share * problem.a) @ share.transpose(1, 2))
    b = to_float64(problem.b)
    alive = b > 0
    # Adding the constant direction and the atoms without mass makes the system solvable.
    diagonal = torch.ones_like(b, dtype=torch.float32).masked_fill(alive, 1e-9).to(b.dtype)
    hessian = hessian + b @ b.transpose(1, 2) + torch.diag_embed(diagonal[..., 0])
    step, _ = torch.linalg.solve_ex(hessian, to_float64(old.gap))
    step = torch.where(alive, step, 0)
    span = (step.amax(1, keepdim=True) - step.amin(1, keepdim=True)).clamp(min=1e-12)
    return (step * (torch.log1p(span) / span)).to(problem.cost.dtype)
