"""Sinkhorn against POT and finite differences of a slow float64 solver; the bounds of theorem 1 against exact solvers."""

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rita_demo.method.sinkhorn import entropic_value, transport
from rita_demo.method.theorem import theorem_bounds
from rita_demo.records import Transport
from tests.oracles import transport as slow_transport
from tests.oracles.toy_model import unit
from tests.oracles.transport import cost_matrix, exact_value, solve

F = np.ndarray

# In float64 the error is the solver's tolerance, 1e-10 of the mass. In float32 it is that of the costs, about 1e-7,
# divided by lambda.
DTYPES = {torch.float64: (1e-10, 1e-8), torch.float32: (1e-6, 1e-5)}  # type: (tolerance, atol)
both_types = pytest.mark.parametrize("dtype", list(DTYPES), ids=str)


def problem(seed: int, classes: int, views: int, atoms: int, uniform: bool) -> tuple[F, F, F]:
    """Costs (K, N, M) near CLIP's (0.6 to 0.9), row weights (N,), column weights (K, M)."""
    rng = np.random.default_rng(seed)
    cost = rng.uniform(0.6, 0.9, size=(classes, views, atoms))
    if uniform:
        return cost, np.full(views, 1 / views), np.full((classes, atoms), 1 / atoms)
    weights = rng.dirichlet(np.full(atoms, 3.0), size=classes)
    return cost, rng.dirichlet(np.full(views, 3.0)), weights


def solved(cost: F, a: F, b: F, dtype: torch.dtype, **options: object) -> Transport:
    tensors = (torch.tensor(values, dtype=dtype) for values in (cost, a, b))
    limits = {"tolerance": DTYPES[dtype][0], "max_iterations": 20_000}
    return transport(*tensors, **limits | options)


@both_types
@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("entropy_weight", [0.02, 0.1, 1.0])
@pytest.mark.parametrize(
    ("views", "atoms", "rho"),
    [(1, 1, 1), (1, 4, 1), (6, 1, 1), (8, 3, 1), (5, 5, 1), (8, 3, 0.9), (8, 3, 0.5), (8, 3, 0.1)],
)
def test_balanced_and_partial_plans_agree_with_pot(views, atoms, rho, entropy_weight, uniform, dtype) -> None:
    """Partial transport is the balanced problem with one more column."""
    cost, a, b = problem(3, 3, views, atoms, uniform)
    ours = solved(cost, a, b, dtype, entropy_weight=entropy_weight, transported_mass=rho)
    assert ours.converged, ours.outcome
    assert ours.mass == pytest.approx(rho)
    atol, exactly = DTYPES[dtype][1], {"method": "sinkhorn_log", "stopThr": 1e-11, "numItermax": 20_000, "warn": False}
    for k in range(3):
        wide, columns = (cost[k], b[k]) if rho == 1 else (np.pad(cost[k], ((0, 0), (0, 1))), [*rho * b[k], 1 - rho])
        plan = ot.sinkhorn(a, np.array(columns), wide, entropy_weight, **exactly)[:, :atoms]
        np.testing.assert_allclose(ours.plan[k].numpy(), plan, atol=atol, rtol=0)
        assert float(ours.distance[k]) == pytest.approx((plan * cost[k]).sum() / rho, abs=atol / rho)


@both_types
@pytest.mark.parametrize("objective", ["linear", "entropic", "kl"])
@pytest.mark.parametrize("rho", [1.0, 0.5, 0.2])
@pytest.mark.parametrize("entropy_weight", [0.01, 0.1, 1.0])
def test_every_objective_agrees_with_the_slow_solver(objective, rho, entropy_weight, dtype) -> None:
    cost, a, b = problem(5, 4, 7, 3, uniform=False)
    b[0], b[1] = [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]  # classes with fewer atoms
    options = {"entropy_weight": entropy_weight, "transported_mass": rho, "objective": objective}
    ours = solved(cost, a, b, dtype, **options)
    slow = [solve(cost[k], a, b[k], entropy_weight, rho, objective) for k in range(4)]
    atol = DTYPES[dtype][1]
    np.testing.assert_allclose(ours.plan.numpy(), [s.plan for s in slow], atol=atol, rtol=0)
    expected = [s.value for s in slow]
    np.testing.assert_allclose(ours.distance.numpy(), expected, atol=atol / rho, rtol=0)


def finite_differences(cost: F, a: F, b: F, entropy_weight: float, rho: float) -> F:
    numeric, h = np.zeros_like(cost), 1e-5
    for k, n, m in np.ndindex(*cost.shape):
        up, down = cost[k].copy(), cost[k].copy()
        up[n, m] += h
        down[n, m] -= h
        high = solve(up, a, b[k], entropy_weight, rho, "entropic").value
        low = solve(down, a, b[k], entropy_weight, rho, "entropic").value
        numeric[k, n, m] = (high - low) / (2 * h)
    return numeric


@pytest.mark.parametrize("rho", [1.0, 0.5, 0.2])
@pytest.mark.parametrize("entropy_weight", [0.02, 0.1, 1.0])
def test_gradients_agree_with_finite_differences(rho: float, entropy_weight: float) -> None:
    cost, a, b = problem(6, 2, 5, 3, uniform=False)
    b[1] = [0.4, 0.6, 0.0]
    upstream = np.array([1.0, -0.5])
    options = {"entropy_weight": entropy_weight, "transported_mass": rho}
    numeric = finite_differences(cost, a, b, entropy_weight, rho) * upstream[:, None, None]
    # Entries are about 1 / (N M) = 0.07 per rho.
    for dtype, atol in ((torch.float64, 1e-6), (torch.float32, 2e-4)):
        at, *weights = (torch.tensor(values, dtype=dtype) for values in (cost, a, b))
        limits = {"tolerance": DTYPES[dtype][0], "max_iterations": 20_000}
        value = entropic_value(at.requires_grad_(), *weights, **limits, **options)
        (value * torch.tensor(upstream, dtype=dtype)).sum().backward()
        np.testing.assert_allclose(at.grad, numeric, atol=atol, rtol=0)


F = np.ndarray
quantified = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


def leaning_unit_vectors(seed: int, *shape: int) -> torch.Tensor:
    """Unit vectors around one direction, as features are."""
    rng = np.random.default_rng(seed)
    return torch.tensor(unit(rng.normal(size=shape) + 1.0), dtype=torch.float32)


@quantified
@given(seeds, st.integers(2, 8), st.integers(1, 4))
def test_theorem_one_bounds_contain_twice_the_exact_distance(seed: int, views: int, atoms: int) -> None:
    x, z = leaning_unit_vectors(seed, views, 6), leaning_unit_vectors(seed + 1, 2, atoms, 6)
    lower, upper, gap, bures = theorem_bounds(x, z)
    for k in range(2):
        xx, zz = x.numpy().astype(float), z[k].numpy().astype(float)
        slow = slow_transport.theorem_bounds(xx, zz)
        fast = [float(part[k]) for part in (lower, upper, gap, bures)]
        # square roots of nearly singular covariances: sqrt(1e-8) in float32
        np.testing.assert_allclose(fast, slow, atol=5e-4)
        exact = exact_value(cost_matrix(xx, zz), np.full(views, 1 / views), np.full(atoms, 1 / atoms))
        assert fast[0] <= 2 * exact + 5e-4
        assert 2 * exact <= fast[1] + 1e-5
    weight = torch.tensor([*[1.0] * atoms, 0]).expand(2, -1)
    padded = theorem_bounds(x, torch.cat([z, 0 * z[:, :1]], 1), weight)
    torch.testing.assert_close(padded, (lower, upper, gap, bures))
