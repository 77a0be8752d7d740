"""RITA's differentiable decision: exact forwards, the plan's gradient backwards."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rita_demo.method import Prompts, decide, decision_logits, empty
from rita_demo.method.cache import cache_atoms
from rita_demo.method.cost import text_mean
from rita_demo.records import CacheState
from rita_demo.settings import PAPER, RECOMMENDED, Settings
from tests.oracles.attack_goals import held_gradient
from tests.oracles.world import TAU, World, make_world

TIGHT = {"sinkhorn_tolerance": 1e-9, "sinkhorn_iterations": 5000, "max_entropy": 0.6}


def prompts_of(world: World) -> Prompts:
    context = torch.tensor(world.context)
    return Prompts(
        encode=world.encode_torch,
        context=context,
        features=world.encode_torch(context),
        weight=torch.tensor(world.z_weight),
        temperature=TAU,
    )


def memory_after(world: World, settings: Settings, pictures: int = 3) -> CacheState:
    K, _, D = world.encode(world.context).shape
    state = empty(K, settings.slots, D, dtype=torch.float64)
    for cloud in world.pictures[:pictures]:
        _, state = decide(torch.tensor(cloud), prompts_of(world), state, settings)
    return state


CASES = {
    "recommended": RECOMMENDED,
    "paper": PAPER,
    "no memory": RECOMMENDED.but(protocol="off"),
    "emptied memory": RECOMMENDED.but(protocol="reset", cache_weight=1.0),
    "strong memory": RECOMMENDED.but(cache_weight=2.0, cache_text="tuned", empty_class="zero"),
    "entropic": RECOMMENDED.but(objective="entropic", view_weight="confidence"),
}


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_forwards_it_is_the_decision_and_backwards_the_plan(case: str, padded: bool) -> None:
    world, settings = make_world(padded=padded), CASES[case].but(**TIGHT)
    prompts, cache = prompts_of(world), memory_after(world, settings)
    x = torch.tensor(world.pictures[4], requires_grad=True)
    trace, _ = decide(x.detach(), prompts, cache, settings)
    answer = decision_logits(x, prompts, cache, settings)
    assert torch.allclose(answer.softmax(0), trace.verdict.probability, atol=1e-9)
    alpha = 0.0 if settings.protocol == "off" else settings.cache_weight
    assert torch.allclose(answer, -trace.total / ((1 + alpha) * TAU), atol=1e-9)
    judges = trace.prompt_features if settings.cache_text == "tuned" else prompts.features
    atoms, _ = cache_atoms(
        trace.cache, trace.alignment, text_mean(judges, prompts.weight), settings.empty_class
    )
    for k in range(len(answer)):
        (slope,) = torch.autograd.grad(answer[k], x, retain_graph=True)
        plans, shares = [trace.prompt.plan[k].numpy()], [1.0]
        sides = [trace.prompt_features[k].numpy()]
        if trace.cache_transport is not None:
            plans.append(trace.cache_transport.plan[k].numpy())
            sides.append(atoms[k].numpy())
            shares.append(alpha)
        scale = 1 / (settings.transported_mass * (1 + alpha) * TAU)
        theirs = held_gradient(x.detach().numpy(), plans, sides, shares, scale)
        np.testing.assert_allclose(slope.numpy(), theirs, atol=1e-9)


def test_where_everything_is_the_value_of_a_transport_it_is_the_true_derivative() -> None:
    """Without tuning, with even weights and the kl value, finite differences of the decision agree."""
    world = make_world()
    settings = RECOMMENDED.but(
        objective="kl", tuning_steps=0, cache_weight=0.7, entropy_weight=0.05, **TIGHT
    )
    prompts, cache = prompts_of(world), memory_after(world, settings)
    x = torch.tensor(world.pictures[4], requires_grad=True)
    (slope,) = torch.autograd.grad(decision_logits(x, prompts, cache, settings)[1], x)
    rng = np.random.default_rng(0)
    for _ in range(6):
        along, h = torch.tensor(rng.normal(size=x.shape)), 1e-5
        ends = [
            decide(x.detach() + s * h * along, prompts, cache, settings)[0].total[1]
            for s in (1, -1)
        ]
        total = (ends[0] - ends[1]) / (2 * h)
        expected = -float(total) / ((1 + 0.7) * TAU)
        assert float((slope * along).sum()) == pytest.approx(expected, rel=1e-3, abs=1e-3)
