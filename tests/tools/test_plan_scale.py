"""The plan's scale: against a slow sum, and the command on drawn textures."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from rita_demo.engine.engine import Engine
from rita_demo.method import cosine_cost, transport
from rita_demo.records import Transport
from rita_demo.vlm.registry import load
from tools.bench import plan_scale


def solved(rho: float, weight: np.ndarray) -> Transport:
    torch.manual_seed(0)
    views, prompts = (F.normalize(torch.randn(*shape), dim=-1) for shape in ((6, 8), (3, 4, 8)))
    alike = torch.full((3, 4), 0.25)
    found = transport(
        cosine_cost(views, prompts), torch.from_numpy(weight).float(), alike, entropy_weight=0.05, transported_mass=rho
    )
    return replace(found, cost=found.cost.numpy(), plan=found.plan.numpy(), column_weight=found.column_weight.numpy())


@pytest.mark.parametrize("rho", [1.0, 0.35])
def test_the_scale_is_that_of_a_slow_sum(rho: float) -> None:
    weight = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    one = solved(rho, weight)
    found, plan, cost = plan_scale.decision_of(one, weight), one.plan / rho, one.cost
    nearest = []
    for k in range(3):
        with_plan = sum(plan[k, n, m] * cost[k, n, m] for n in range(6) for m in range(4))
        alike = sum(plan[k, n].sum() * cost[k, n].mean() for n in range(6))
        assert found.lowered[k] == pytest.approx(alike - with_plan, abs=1e-6)
        assert found.lowered[k] > 0
        left, total = rho, 0.0
        for n in sorted(range(6), key=lambda n: cost[k, n].mean()):
            total += min(left, weight[n]) * cost[k, n].mean()
            left -= min(left, weight[n])
        nearest.append(total / rho)
    assert plan_scale.nearest_costs(cost.mean(2), weight, rho) == pytest.approx(nearest)


@pytest.mark.nightly
def test_the_command_prints_a_row_for_each_side_and_entropy_weight() -> None:
    found = list(plan_scale.decisions(Engine(load("embedded", None)), "textures", None, 1))
    text = plan_scale.table(found, "textures")
    assert text.count("\n| ") == 2 * len(plan_scale.ENTROPY_WEIGHTS)
    assert all(one.lead > 0 and (one.lowered >= -1e-6).all() for _, _, one in found)
