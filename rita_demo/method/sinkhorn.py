"""Definitions 6 and 7: the transport plan of every class and what it costs.

Partial transport (rho < 1) is the same balanced problem with one extra column of mass 1 - rho and
cost zero: what goes there stays where it is.  The cost then counts the real columns, per moved mass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from rita_demo.method.precision import wide, working
from rita_demo.method.solver import Solution, schur, solve
from rita_demo.records import Descent, Transport
from rita_demo.settings import Settings

OBJECTIVES = ("linear", "entropic", "kl")


def options_of(settings: Settings) -> dict[str, Any]:
    """Definitions 6 and 7 as the settings want them, the same for both transports."""
    return {
        "entropy_weight": settings.entropy_weight,
        "transported_mass": settings.transported_mass,
        "objective": settings.objective,
        "tolerance": settings.sinkhorn_tolerance,
        "max_iterations": settings.sinkhorn_iterations,
    }


def transport(
    cost: Tensor,
    row_weight: Tensor,
    column_weight: Tensor,
    *,
    entropy_weight: float,
    transported_mass: float = 1.0,
    objective: str = "linear",
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
) -> Transport:
    """``T_k = argmin <T, C_k> - lambda h(T)``, ``h(T) = -sum T log T`` (definition 6), all classes at once.

    The plan's rows are exact (to rounding), its columns are within ``residual``.  With
    ``transported_mass`` rho < 1 the columns hold rho * column_weight and a row moves at most its weight.

    Args:
        cost: (K, N, M) cosine distances, any float type; computed in float32 (float64 stays).
        row_weight: (N,) or (K, N), and column_weight: (M,) or (K, M): non-negative, scaled to sum to 1
            per class.  A zero carries no mass; a class whose weights are all zero gets an empty plan
            and distance 0.
        entropy_weight: lambda > 0, in units of the cost.
        transported_mass: rho in (0, 1], the share of the mass that has to move.
        objective: what ``distance`` is, divided by rho.  ``linear`` ``<T, C>``; ``entropic``
            ``<T, C> - lambda h(T)``; ``kl`` ``<T, C> + lambda KL(T || rows x columns)``.  Entropy and KL
            take in the extra column: only then is the plan the gradient (see :func:`entropic_value`).
        tolerance: of the largest marginal error, as a share of the total mass.
        max_iterations: Sinkhorn or Newton steps at most.

    Returns:
        A record with the plan's real columns, total mass rho.

    Raises:
        ValueError: for shapes, weights or settings that make no sense.
    """
    C, rows, columns, has_mass = _problem(cost, row_weight, column_weight, transported_mass)
    if not entropy_weight > 0:
        raise ValueError(f"entropy_weight must be above 0, got {entropy_weight}.")
    atoms = cost.shape[2]
    with torch.no_grad():
        solution = solve(
            C[has_mass],
            rows[has_mass],
            columns[has_mass],
            entropy_weight=entropy_weight,
            tolerance=tolerance,
            max_iterations=max_iterations,
        )
        value = _objective(solution.plan, C[has_mass], rows[has_mass], columns[has_mass],
                           entropy_weight, objective)  # fmt: skip
    f, g = solution.potentials
    return Transport(
        cost=C[:, :, :atoms],
        plan=_spread(solution.plan, has_mass)[:, :, :atoms],
        distance=_spread(value / transported_mass, has_mass),
        row_weight=rows * has_mass[:, None],
        column_weight=columns[:, :atoms] * has_mass[:, None],
        mass=float(transported_mass),
        potentials=(_spread(f, has_mass), _spread(g, has_mass)[:, :atoms]),
        residual=solution.residual,
        checks=solution.checks,
        converged=bool(solution.converged.all()),
        outcome=_outcome(solution, tolerance),
    )


def descent(moved: Transport, k: int, settings: Settings) -> Descent:
    """The same solver once more for class ``k`` alone, telling what ``<T, C_k>`` is at every check.

    Annealing starts at a larger lambda (a flatter, dearer plan), so the cost first falls with lambda
    and then rises or falls a little while the columns come right; at the last check it is the linear
    ``d(k)`` to within the tolerance.  A class without mass (an empty one under ``zero``) has no checks.

    Args:
        moved: a transport by the same settings.
        k: class number.
        settings: entropy_weight, sinkhorn_tolerance, sinkhorn_iterations.
    """
    C, rows, columns, has_mass = _problem(
        moved.cost[k : k + 1], moved.row_weight[k], moved.column_weight[k] / moved.mass, moved.mass
    )
    seen: list[tuple[float, Tensor, Tensor]] = []
    solution = solve(
        C[has_mass],
        rows[has_mass],
        columns[has_mass],
        entropy_weight=settings.entropy_weight,
        tolerance=settings.sinkhorn_tolerance,
        max_iterations=settings.sinkhorn_iterations,
        watch=lambda level, plan, g: seen.append((level, (plan * C).sum() / moved.mass, g)),
    )
    return Descent(
        checks=solution.checks,
        residual=solution.residual,
        level=C.new_tensor([level for level, _, _ in seen]),
        cost=C.new_tensor([float(cost) for _, cost, _ in seen]),
        potentials=torch.stack([g for _, _, g in seen]) if seen else C.new_zeros(0, C.shape[2]),
    )


def entropic_value(
    cost: Tensor,
    row_weight: Tensor,
    column_weight: Tensor,
    *,
    objective: str = "entropic",
    **options: Any,
) -> Tensor:
    """``min_T <T, C_k> - lambda h(T)``, per unit of moved mass: (K,), differentiable in ``cost``.

    The plan is the minimiser, so the derivative with respect to C is the plan itself (envelope
    theorem): the real columns divided by rho.  Sinkhorn is never unrolled.  ``objective`` may also be
    ``kl``, which has the same gradient and no offset ``lambda log(N M)``; ``options`` as
    :func:`transport`.
    """
    if objective == "linear":
        raise ValueError("objective of entropic_value is entropic or kl; see linear_value.")
    return _EntropicValue.apply(cost, row_weight, column_weight, {"objective": objective} | options)


def linear_value(cost: Tensor, row_weight: Tensor, column_weight: Tensor, **options: Any) -> Tensor:
    """``d_OT(k) = <T_k, C_k>`` per unit of moved mass (definition 7): (K,), differentiable in ``cost``.

    The plan moves with the cost, so the derivative is not the plan.  Differentiating the marginals of
    ``T = exp((f + g - C) / lambda)`` gives the linear system ``[diag(a) T; T' diag(b)] [u; v] = [(C*T) 1;
    (C*T)' 1]`` of size N + M, and then ``d<T, C> = T * (1 + (u + v - C) / lambda)``.
    ``options`` as :func:`transport`, without ``objective``.
    """
    return _LinearValue.apply(cost, row_weight, column_weight, options)


class _EntropicValue(Function):
    @staticmethod
    def forward(ctx: Any, cost: Tensor, rows: Tensor, columns: Tensor, options: dict) -> Tensor:
        result = transport(cost.detach(), rows.detach(), columns.detach(), **options)
        ctx.save_for_backward(result.plan / result.mass)
        ctx.dtype = cost.dtype
        return result.distance

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return (upstream[:, None, None] * gradient).to(ctx.dtype), None, None, None


class _LinearValue(Function):
    @staticmethod
    def forward(ctx: Any, cost: Tensor, rows: Tensor, columns: Tensor, options: dict) -> Tensor:
        result = transport(cost.detach(), rows.detach(), columns.detach(), **options)
        ctx.save_for_backward(result.cost, result.plan, result.row_weight)
        ctx.mass, ctx.entropy_weight = result.mass, options["entropy_weight"]
        ctx.dtype = cost.dtype
        return result.distance

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:
        cost, plan, rows = ctx.saved_tensors
        gradient = linear_gradient(cost, plan, rows, ctx.mass, ctx.entropy_weight)
        return (upstream[:, None, None] * gradient).to(ctx.dtype), None, None, None


def linear_gradient(
    cost: Tensor, plan: Tensor, rows: Tensor, mass: float, entropy_weight: float
) -> Tensor:
    """Gradient (K, N, M) of ``<T, C> / rho`` through the plan; see :func:`linear_value`.

    The N row unknowns are eliminated by hand, which leaves M (+ 1) unknowns per class.
    """
    if mass < 1:  # the column that holds what is left out moves as well, at cost zero
        left_out = (rows - plan.sum(2)).clamp(min=0)
        plan = torch.cat([plan, left_out[:, :, None]], 2)
        cost = torch.nn.functional.pad(cost, (0, 1))
    T, C, a = wide(plan), wide(cost), wide(rows)[:, :, None]
    share = torch.where(a > 0, T / a, 0)
    r, q = (C * T).sum(2, keepdim=True), (C * T).sum(1)[:, :, None]
    system = schur(T.transpose(1, 2), share.transpose(1, 2), T.sum(1)[:, :, None])
    # Singular by construction (a constant moves from u to v), and nearly so when the plan is hard:
    # directions that the plan's own precision cannot tell from zero are left alone.
    rtol = 1e-12 if plan.dtype == torch.float64 else 1e-6
    v = torch.linalg.pinv(system, rtol=rtol, hermitian=True) @ (q - share.transpose(1, 2) @ r)
    u = torch.where(a > 0, r / a, 0) - share @ v
    gradient = T * (1 + (u + v.transpose(1, 2) - C) / entropy_weight) / mass
    return (gradient[:, :, :-1] if mass < 1 else gradient).to(plan.dtype)


def _problem(
    cost: Tensor, row_weight: Tensor, column_weight: Tensor, rho: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Check, widen, normalise; add the extra column.  Also (K,) which classes have mass at all."""
    if cost.ndim != 3 or 0 in cost.shape[1:]:
        raise ValueError(f"cost is (K, N, M), got shape {tuple(cost.shape)}.")
    if not 0 < rho <= 1:
        raise ValueError(f"transported_mass is above 0 and at most 1, got {rho}.")
    K, N, M = cost.shape
    C = working(cost.detach())
    rows, columns = (
        w.detach().to(C).expand(K, n) for w, n in ((row_weight, N), (column_weight, M))
    )
    if bool((rows < 0).any()) or bool((columns < 0).any()):
        raise ValueError("Weights must not be negative.")
    totals = rows.sum(1, keepdim=True), columns.sum(1, keepdim=True)
    has_mass = ((totals[0] > 0) & (totals[1] > 0))[:, 0]
    rows, columns = (w / t.where(t > 0, 1) for w, t in zip((rows, columns), totals, strict=True))
    if rho < 1:
        C = torch.nn.functional.pad(C, (0, 1))
        columns = torch.cat([rho * columns, torch.full_like(columns[:, :1], 1 - rho)], 1)
    return C, rows, columns, has_mass


def _objective(
    plan: Tensor, cost: Tensor, rows: Tensor, columns: Tensor, entropy_weight: float, objective: str
) -> Tensor:
    linear = (plan * cost).sum((1, 2))
    if objective == "linear":
        return linear
    negative_entropy = torch.special.xlogy(plan, plan).sum((1, 2))
    if objective == "entropic":
        return linear + entropy_weight * negative_entropy
    if objective == "kl":
        # The plan has these marginals, so KL(T || rows x columns) splits into three entropies.
        apart = sum(torch.special.xlogy(w, w).sum(1) for w in (plan.sum(2), plan.sum(1)))
        return linear + entropy_weight * (negative_entropy - apart)
    raise ValueError(f"objective is one of {', '.join(OBJECTIVES)}; got {objective!r}.")


def _spread(values: Tensor, has_mass: Tensor) -> Tensor:
    """Put the solved classes back among all classes; the others get zeros."""
    full = values.new_zeros(len(has_mass), *values.shape[1:])
    full[has_mass] = values
    return full


def _outcome(solution: Solution, tolerance: float) -> str:
    """One sentence for a person."""
    total = len(solution.converged)
    if total == 0:
        return "Nothing to transport: no class has any mass."
    steps, worst = int(solution.checks[-1]), float(solution.residual[-1])
    where = f"after {steps} step{'' if steps == 1 else 's'} (largest marginal error {worst:.1e})"
    missing = total - int(solution.converged.sum())
    if missing == 0:
        return f"Converged {where}."
    which = f"{missing} of {total} classes are not within {tolerance:.0e}"
    if solution.stalled:
        return f"Stopped {where}: the error no longer falls, a limit of rounding; {which}."
    return f"Not converged {where}: the step limit was reached; {which}."
