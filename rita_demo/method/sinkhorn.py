"""Definitions 6 and 7: the transport plan of every class and its cost.

Partial transport (rho < 1) is the balanced problem with one extra column of mass 1 - rho and cost zero, for the mass
that is not moved. The distance then is the cost of the real columns, divided by rho."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from rita_demo.method.cost import at_least_float32, to_float64
from rita_demo.method.sinkhorn_newton import Solution, solve
from rita_demo.records import Transport
from rita_demo.settings import Settings
from rita_demo.settings.setting import number_text

#: Numbers of cost that are solved as one problem: on a CPU more are slower (docs/performance.md), elsewhere they fill memory.
TOGETHER = {"cpu": 400_000}
TOGETHER_ELSEWHERE = 1 << 24


def transport_options(settings: Settings) -> dict[str, Any]:
    """The settings of definitions 6 and 7 as arguments of :func:`transport`."""
    return {
        "entropy_weight": settings.entropy_weight,
        "transported_mass": settings.transported_mass,
        "objective": settings.objective,
        "tolerance": settings.sinkhorn_tolerance,
        "max_iterations": settings.sinkhorn_iterations,
    }


def transport(cost: Tensor, row_weight: Tensor, column_weight: Tensor, **options: Any) -> Transport:
    """``T_k = argmin <T, C_k> - lambda h(T)``, ``h(T) = -sum T log T`` (definition 6), all classes at once. The row
    sums of the plan are exact up to rounding, the column sums within ``residual``. With rho < 1 the columns hold rho *
    column_weight, and a row moves at most its weight. Returns a record with the real columns of the plan, total mass
    rho. ``options``: the keyword arguments of :func:`transports`.

    Args:
        cost: (K, N, M) cosine distances, any float type; computed in float32 (float64 stays).
        row_weight, column_weight: (N,) or (K, N), and (M,) or (K, M); non-negative, scaled to sum to 1 per class. An
            entry of 0 has no mass; a class whose weights are all 0 gets an empty plan and distance 0."""
    return transports([(cost, row_weight, column_weight)], **options)[0]


#: Cost (K, N, M), row weight and column weight, as for :func:`transport`.
Problem = tuple[Tensor, Tensor, Tensor]


def transports(
    problems: Sequence[Problem],
    *,
    entropy_weight: float,
    transported_mass: float = 1.0,
    objective: str = "linear",
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
) -> list[Transport]:
    """:func:`transport` of several problems with the same number N of views, solved at once where they fit together.

    Args:
        entropy_weight: lambda > 0, in units of the cost.
        transported_mass: rho in (0, 1], the share of the mass that is moved.
        objective: the meaning of ``distance``, divided by rho. ``linear``: ``<T, C>``; ``entropic``:
            ``<T, C> - lambda h(T)``; ``kl``: ``<T, C> + lambda KL(T || rows x columns)``. Entropy and KL include the
            extra column: only then is the plan the gradient (see :func:`entropic_value`).
        tolerance: for the largest marginal error, as a share of the total mass.
        max_iterations: limit on Sinkhorn or Newton steps."""

    def prepare(cost: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
        """Widen and normalise; add the extra column. The fourth result (K,) tells which classes have mass, and then come
        the weights of the record, 0 for the others."""
        C = at_least_float32(cost.detach())
        rows, columns = (w.detach().to(C) for w in weights)
        totals = rows.sum(1, keepdim=True), columns.sum(1, keepdim=True)
        has_mass = ((totals[0] > 0) & (totals[1] > 0))[:, 0]
        rows, columns = (w / t.where(t > 0, 1) for w, t in zip((rows, columns), totals, strict=True))
        if transported_mass < 1:
            C = F.pad(C, (0, 1))
            rest = torch.full_like(columns[:, :1], 1 - transported_mass)
            columns = torch.cat([transported_mass * columns, rest], 1)
        return C, rows, columns, has_mass, *(w * has_mass[:, None] for w in (rows, columns[:, : cost.shape[2]]))

    def value(plan: Tensor, cost: Tensor) -> tuple[Tensor]:
        return (_objective(plan, cost, entropy_weight, objective) / transported_mass,)

    given = _all_classes(prepare, [(C, a.expand(C.shape[:2]), b.expand(C.shape[::2])) for C, a, b in problems])
    every = bool(torch.cat([has_mass for *_, has_mass, _, _ in given]).all())  # the usual case: nothing to leave out
    solved = [(C, a, b) if every else (C[some], a[some], b[some]) for C, a, b, some, *_ in given]
    with torch.no_grad():
        run = partial(solve, entropy_weight=entropy_weight, tolerance=tolerance, max_iterations=max_iterations)
        solutions = [solution for part in _fitting(solved) for solution in _solve_together(part, run)]
    values = _all_classes(value, [(solution.plan, C) for solution, (C, *_) in zip(solutions, solved)])
    records = []
    for (C, *_, has_mass, rows, columns), solution, (distance,) in zip(given, solutions, values):
        atoms, (f, g) = columns.shape[1], solution.potentials

        def scatter(values: Tensor, has_mass: Tensor = has_mass) -> Tensor:
            """The values of the solved classes at their places among all classes; zeros for the others."""
            full = values if every else values.new_zeros(len(has_mass), *values.shape[1:])
            return full if every else full.index_put((has_mass,), values)

        record = Transport(
            cost=C[:, :, :atoms],
            plan=scatter(solution.plan)[:, :, :atoms],
            distance=scatter(distance),
            row_weight=rows,
            column_weight=columns,
            mass=float(transported_mass),
            potentials=(scatter(f), scatter(g)[:, :atoms]),
            residual=solution.residual,
            checks=torch.arange(len(solution.residual), device="cpu"),
            converged=bool(solution.converged.all()),
            outcome=_outcome_sentence(solution, tolerance),
        )
        records.append(record)
    return records


def _all_classes(
    function: Callable[..., tuple[Tensor, ...]], items: Sequence[tuple[Tensor, ...]]
) -> list[tuple[Tensor, ...]]:
    """``function(*item)`` of every item: tensors whose first axis are its classes, as are those of the result. Items of one
    shape are joined and cut again, because a GPU does a few large steps faster than many small ones."""
    alike: dict[Any, list[int]] = {}
    for n, item in enumerate(items):
        alike.setdefault(tuple((tensor.shape, tensor.dtype) for tensor in item), []).append(n)
    results: dict[int, tuple[Tensor, ...]] = {}
    for numbers in alike.values():
        if len(numbers) == 1:
            results[numbers[0]] = function(*items[numbers[0]])
            continue
        whole = function(*(torch.cat(parts) for parts in zip(*(items[n] for n in numbers))))
        sizes = [len(items[n][0]) for n in numbers]
        results.update(zip(numbers, zip(*(joined.split(sizes) for joined in whole))))
    return [results[n] for n in range(len(items))]


def _fitting(problems: Sequence[Problem]) -> Iterator[list[Problem]]:
    """The problems in order, in parts that are solved as one: as many neighbours as fit (:data:`TOGETHER`)."""
    part = list[Problem]()
    for problem in problems:
        costs = [C for C, *_ in (*part, problem)]
        numbers = sum(len(C) for C in costs) * problem[0].shape[1] * max(C.shape[2] for C in costs)
        if part and numbers > TOGETHER.get(problem[0].device.type, TOGETHER_ELSEWHERE):
            yield part
            part = []
        part.append(problem)
    yield part


def _solve_together(problems: Sequence[Problem], solve: Callable[[Tensor, Tensor, Tensor], Solution]) -> list[Solution]:
    """All problems as one: the narrower ones get columns without mass. Each alone where the largest error no longer falls:
    that of one of them would end the others."""
    if len(problems) == 1:
        return [solve(*problems[0])]
    widths, ends = [C.shape[2] for C, *_ in problems], list(accumulate(len(C) for C, *_ in problems))
    padded = [
        (C, a, b) if n == max(widths) else (F.pad(C, (0, max(widths) - n)), a, F.pad(b, (0, max(widths) - n)))
        for (C, a, b), n in zip(problems, widths)
    ]
    whole = solve(*(torch.cat(parts) for parts in zip(*padded)))
    if whole.stalled:
        return [solve(*problem) for problem in problems]
    return [whole.part(first, last, n) for first, last, n in zip([0, *ends], ends, widths)]


def entropic_value(
    cost: Tensor, row_weight: Tensor, column_weight: Tensor, *, objective: str = "entropic", **options: Any
) -> Tensor:
    """``min_T <T, C_k> - lambda h(T)`` per unit of moved mass (K,), differentiable in ``cost``. The gradient is the
    plan's real columns divided by rho (envelope theorem); Sinkhorn is not unrolled. The objective ``kl`` has the same
    gradient without the offset ``lambda log(N M)``. ``options`` are those of :func:`transport`."""
    result = transport(cost, row_weight, column_weight, objective=objective, **options)
    moved = (result.plan / result.mass * cost).sum((1, 2))
    return result.distance + (moved - moved.detach())  # exactly the distance


def linear_gradient(cost: Tensor, plan: Tensor, rows: Tensor, mass: float, entropy_weight: float) -> Tensor:
    """Gradient (K, N, M) of the linear cost ``<T, C> / rho`` (definition 7) through the plan, which depends on the cost.

    Differentiating the marginals of ``T = exp((f + g - C) / lambda)`` gives the linear system ``[diag(a) T; T' diag(b)]
    [u; v] = [(C*T) 1; (C*T)' 1]`` of size N + M, and then ``d<T, C> = T * (1 + (u + v - C) / lambda)``. Eliminating
    the N row unknowns leaves M (+ 1) unknowns per class. Arguments are those of a ``Transport``."""
    if mass < 1:  # the extra column of the mass that is not moved
        rest = (rows - plan.sum(2)).clamp(min=0)
        plan = torch.cat([plan, rest[:, :, None]], 2)
        cost = F.pad(cost, (0, 1))
    T, C, a = to_float64(plan), to_float64(cost), to_float64(rows)[:, :, None]
    share = torch.where(a > 0, T / a, 0)
    r, q = (C * T).sum(2, keepdim=True), (C * T).sum(1)[:, :, None]
    system = torch.diag_embed(T.sum(1)) - T.transpose(1, 2) @ share  # without the rows' unknowns
    # The system is singular (a constant can move from u to v), and nearly singular for a hard plan:
    # directions below the precision of the plan are ignored.
    rtol = 1e-12 if plan.dtype == torch.float64 else 1e-6
    v = torch.linalg.pinv(system, rtol=rtol, hermitian=True) @ (q - share.transpose(1, 2) @ r)
    u = torch.where(a > 0, r / a, 0) - share @ v
    gradient = T * (1 + (u + v.transpose(1, 2) - C) / entropy_weight) / mass
    return (gradient[:, :, :-1] if mass < 1 else gradient).to(plan.dtype)


def differentiable_distance(result: Transport, cost: Tensor, lam: float | None) -> Tensor:
    """``distance`` (K,) of a solved transport with its derivative with respect to ``cost`` (K, N, M): the plan divided by its
    mass, or with ``lam`` (lambda) :func:`linear_gradient`."""
    with torch.inference_mode(False), torch.no_grad():  # the plan may have been made in inference mode
        plan, distance = result.plan.clone(), result.distance.clone()
        slope = plan / result.mass
        if lam is not None:
            slope = linear_gradient(result.cost.clone(), plan, result.row_weight.clone(), result.mass, lam)
    moved = (slope * cost).sum((1, 2))
    return distance + moved - moved.detach()


def _objective(plan: Tensor, cost: Tensor, entropy_weight: float, objective: str) -> Tensor:
    linear = (plan * cost).sum((1, 2))
    if objective == "linear":
        return linear
    negative_entropy = torch.special.xlogy(plan, plan).sum((1, 2))
    if objective == "entropic":
        return linear + entropy_weight * negative_entropy
    # With these marginals KL(T || rows x columns) is a sum of three entropies.
    marginals = sum(torch.special.xlogy(w, w).sum(1) for w in (plan.sum(2), plan.sum(1)))
    return linear + entropy_weight * (negative_entropy - marginals)


def _outcome_sentence(solution: Solution, tolerance: float) -> str:
    total = len(solution.converged)
    if total == 0:
        return "Nothing to transport: no class has any mass."
    steps, worst = len(solution.residual) - 1, float(f"{solution.residual[-1]:.1e}")
    where = f"after {steps} step{'' if steps == 1 else 's'} (largest marginal error {number_text(worst)})"
    missing = total - int(solution.converged.sum())
    if missing == 0:
        return f"Converged {where}."
    which = f"{missing} of {total} classes are not within {number_text(tolerance)}"
    if solution.stalled:
        return f"Stopped {where}: the error no longer falls, a limit of rounding; {which}."
    return f"Not converged {where}: the step limit was reached; {which}."
