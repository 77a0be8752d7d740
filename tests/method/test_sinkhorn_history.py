"""Sinkhorn's history of one class, recomputed entry by entry from its potentials."""

import math

import pytest
import torch

from rita_demo.method import sinkhorn_history, transport
from rita_demo.settings import RECOMMENDED

K, N, M = 5, 9, 3


def problem(seed: int = 0, weights: bool = False):
    """Costs close to each other, as CLIP's; random weights of views and prompts with one zero each."""
    generator = torch.Generator().manual_seed(seed)
    cost = 0.7 + 0.1 * torch.rand(K, N, M, generator=generator, dtype=torch.float64)
    a, b = torch.ones(N, dtype=torch.float64), torch.ones(K, M, dtype=torch.float64)
    if weights:
        a, b = (torch.rand(N, generator=generator).double(), torch.rand(K, M, generator=generator).double())
        a[2], b[1, 0] = 0, 0
    return cost, a, b


def by_hand(cost, a, b, rho: float, level: float, g) -> tuple[float, float]:
    """<T, C> / rho and the largest column error of the plan with exact rows and column potentials ``g``."""
    columns = [rho * float(v) for v in b] + ([1 - rho] if rho < 1 else [])
    paid, mass = 0.0, [0.0] * len(columns)
    for n in range(len(a)):
        price = [float(cost[n, m]) if m < len(b) else 0.0 for m in range(len(columns))]
        weight = [c and c * math.exp((float(g[m]) - price[m]) / level) for m, c in enumerate(columns)]
        for m in range(len(columns)):
            moved = float(a[n]) * weight[m] / sum(weight)
            paid += moved * price[m]
            mass[m] += moved
    return paid / rho, max(abs(x - y) for x, y in zip(mass, columns, strict=True))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("rho", [1.0, 0.5])
@pytest.mark.parametrize("level", [0.1, 0.003])
def test_the_cost_of_every_iteration_follows_from_its_potentials(level, rho, weights) -> None:
    cost, a, b = problem(weights=weights)
    settings = RECOMMENDED.replace(entropy_weight=level, transported_mass=rho)
    moved = transport(cost, a, b, entropy_weight=level, transported_mass=rho)
    for k in range(K):
        way = sinkhorn_history(moved, k, settings)
        assert len(way.checks) == len(way.entropy_weight) == len(way.cost) == len(way.residual)
        assert way.checks.tolist() == list(range(len(way.checks)))
        for t in range(len(way.checks)):
            paid, error = by_hand(
                cost[k], a / a.sum(), b[k] / b[k].sum(), rho, float(way.entropy_weight[t]), way.potentials[t]
            )
            assert float(way.cost[t]) == pytest.approx(paid, abs=1e-9)
            assert float(way.residual[t]) == pytest.approx(error, abs=1e-9)


@pytest.mark.parametrize("objective", ["linear", "entropic", "kl"])
@pytest.mark.parametrize("rho", [1.0, 0.4])
def test_the_history_ends_at_lambda_and_the_final_distance(rho, objective) -> None:
    cost, a, b = problem()
    settings = RECOMMENDED.replace(entropy_weight=0.01, transported_mass=rho, objective=objective)
    options = {"entropy_weight": 0.01, "transported_mass": rho}
    moved = transport(cost, a, b, objective=objective, **options)
    linear = transport(cost, a, b, **options).distance
    way = sinkhorn_history(moved, 3, settings)
    assert float(way.entropy_weight[-1]) == 0.01
    assert bool((way.entropy_weight.diff() <= 0).all())
    assert float(way.cost[-1]) == pytest.approx(float(linear[3]), abs=1e-6)
    assert float(way.residual[-1]) <= settings.sinkhorn_tolerance


def test_a_class_without_mass_has_an_empty_history() -> None:
    cost, a, b = problem()
    b[4] = 0
    way = sinkhorn_history(transport(cost, a, b, entropy_weight=0.01), 4, RECOMMENDED)
    assert len(way.checks) == len(way.cost) == 0
