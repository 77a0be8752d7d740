"""RITA's differentiable decision: exact values, and gradients."""

import numpy as np
import pytest
import torch

from rita_demo.method import decide, decision_logits, empty
from rita_demo.records import CacheState
from rita_demo.settings import RECOMMENDED, Settings
from tests.oracles.toy_model import TAU, ToyModel, make_toy_model

TIGHT = {"sinkhorn_tolerance": 1e-9, "sinkhorn_iterations": 5000, "max_entropy": 0.6}


def cache_after(toy: ToyModel, settings: Settings, pictures: int = 3) -> CacheState:
    K, _, D = toy.encode(toy.context).shape
    state = empty(K, settings.slots, D, dtype=torch.float64)
    for cloud in toy.pictures[:pictures]:
        _, state = decide(torch.tensor(cloud), toy.prompts(), state, settings)
    return state


@pytest.mark.parametrize("cost", ["cosine", "loglik"])
@pytest.mark.parametrize(
    "changes", [{}, {"empty_class": "zero", "cache_weight": 2.0, "step_back": 2.0}, {"objective": "kl"}], ids=str
)
def test_gradient_through_the_plans_of_prompts_and_memory_is_that_of_the_linear_cost(cost: str, changes: dict) -> None:
    """Without tuning, finite differences of the decision from a filled memory agree for both costs of a view."""
    toy = make_toy_model(padded=True)
    settings = RECOMMENDED.replace(cost=cost, tuning_steps=0, cache_weight=1.0, **TIGHT).replace(**changes)
    prompts, cache, shown = toy.prompts(), cache_after(toy, settings), torch.tensor(toy.area_fraction)
    assert 0 < (cache.count > 0).sum() < len(cache.count)
    x = torch.tensor(toy.pictures[4], requires_grad=True)
    along = torch.tensor(np.random.default_rng(1).normal(size=x.shape))
    answer = decision_logits(x, prompts, cache, settings, shown)
    decided = [
        decide(x.detach() + h * along, prompts, cache, settings, area_fraction=shown)[0].total for h in (0, 1e-5, -1e-5)
    ]
    scale = -1 / ((1 + settings.cache_weight) * TAU)
    assert torch.allclose(answer, scale * decided[0], atol=1e-9)
    for k, slope in enumerate(scale * (decided[1] - decided[2]) / 2e-5):
        (gradient,) = torch.autograd.grad(answer[k], x, retain_graph=True)
        assert float((gradient * along).sum()) == pytest.approx(float(slope), rel=1e-3, abs=1e-3)
