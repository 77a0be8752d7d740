"""Goals, input diversity and the loop of CW L2 against slow second implementations."""

import numpy as np
import pytest
import torch
from torch import Tensor

from rita_demo.attacks.cw_l2 import carlini_wagner_l2
from rita_demo.attacks.di import input_diversity_logits, resized_and_padded
from rita_demo.attacks.loop import components
from rita_demo.attacks.loop.gradient_loop import fresh_seed
from rita_demo.attacks.loop.request import AttackRequest
from rita_demo.process.generators import run_to_end
from tests.oracles import attack_goals as slow

K = 6


def logits(rows: int = 200) -> Tensor:
    return 60 * torch.randn(rows, K, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("target", [None, 4])
@pytest.mark.parametrize("goal", ["cross_entropy", "margin"])
def test_goals_equal_the_reference_formulas(goal: str, target: int | None) -> None:
    answer = logits()
    label = torch.arange(len(answer)) % 4
    aim = None if target is None else torch.full_like(label, target)
    mine = getattr(components, goal)(answer, label, aim)
    extra = (components.KAPPA,) if goal == "margin" else ()
    written = getattr(slow, goal)
    theirs = [written(row, int(k), target, *extra) for row, k in zip(answer.double().numpy(), label)]
    assert mine.numpy() == pytest.approx(np.array(theirs), abs=1e-4)
    if goal == "margin":
        assert max(theirs) == components.KAPPA  # the cap was met, not only believed
        if target is None:  # above zero exactly where the model is fooled
            assert torch.equal(mine > 0, answer.argmax(1) != label)


@pytest.mark.parametrize(("small", "top", "left"), [(9, 0, 0), (9, 1, 0), (10, 0, 0), (8, 2, 1)])
def test_a_shrunk_picture_lies_on_black(small: int, top: int, left: int) -> None:
    picture = torch.rand(3, 10, 10, generator=torch.Generator().manual_seed(2))
    mine = resized_and_padded(picture, small, top, left)
    theirs = slow.shrunk_on_black(picture.numpy(), small, top, left)
    assert mine.numpy() == pytest.approx(theirs, abs=1e-6)


def test_half_of_the_pictures_are_shrunk_to_at_least_nine_tenths_of_their_side() -> None:
    shown: list[Tensor] = []

    def remember(pixels: Tensor) -> Tensor:
        shown.extend(pixels)
        return pixels.flatten(1)[:, :K]

    sampled = input_diversity_logits(remember)
    white = torch.ones(1, 3, 20, 20)
    seeds = range(400)
    assert sampled(white.expand(400, -1, -1, -1), seeds).shape == (400, 1, K)
    sizes = [int((p[0].sum(1) > 0).sum()) for p in shown]  # rows that are not black
    assert set(sizes) == {18, 19, 20}
    changed = np.mean([s < 20 for s in sizes])  # 2/3 of the changed half
    assert 0.27 < changed < 0.40
    places = {int((p[0].sum(1) > 0).int().argmax()) for p, s in zip(shown, sizes) if s == 18}
    assert places == {0, 1, 2}
    again = sampled(white, [7])
    assert torch.equal(again, sampled(white, [7]))


def test_seeds_of_a_step_never_repeat_and_are_no_view_seeds() -> None:
    drawn = {fresh_seed(seed, step) for seed in range(50) for step in range(50)}
    assert len(drawn) == 2500
    assert not drawn & set(range(1000))  # what people and evaluations use as view seeds


@pytest.mark.parametrize(("gain", "ahead"), [(60.0, 0.0), (0.5, 5.0)])
def test_cw_l2_follows_the_reference_steps_and_returns_the_smallest_fooling_change(gain: float, ahead: float) -> None:
    """Where the right class is far ahead it does not fool the model and comes as near as it can."""
    rng = np.random.default_rng(1)
    picture = rng.integers(0, 256, (3, 8, 8)) / 255
    weights, bias = gain * rng.normal(size=(K, 192)) / 14, gain * rng.normal(size=K) / 14
    label = int((weights @ picture.ravel() + bias).argmax())
    bias[label] += ahead
    candidates, delivered = slow.cw_l2(weights, bias, picture, label, steps=50)
    table, shift = torch.tensor(weights).float(), torch.tensor(bias).float()
    loop = carlini_wagner_l2(
        lambda p: p.flatten(1) @ table.T + shift,
        torch.tensor(picture).float()[None],
        AttackRequest(budget=0, steps=50, seeds=[0], label=torch.tensor([label])),
    )
    found = run_to_end(loop)
    for mine, theirs in zip(found.frames[1:-1, 0].numpy(), candidates):
        # float32 may round to another level where float64 is within 1e-4 of the middle of two
        assert np.abs(mine - theirs).max() <= 1
        assert (mine != theirs).mean() < 0.02
    assert (found.frames[-1, 0].numpy() != delivered).mean() < 0.02
    fools = int(found.probability[-1, 0].argmax()) != label
    assert fools == (ahead == 0)
