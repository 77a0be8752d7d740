"""The attacker who knows the defence: what its restarts raise, and how they are judged."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from rita_demo.attacks.adaptive import DRAWS, _Attacker
from rita_demo.attacks.loop import components
from rita_demo.attacks.loop.request import AttackRequest, SampledLogits
from rita_demo.attacks.loop.run import attack_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import AttackTrace
from rita_demo.settings import RECOMMENDED

SIDE, CLASSES, STEPS = 6, 4, 3
WEIGHTS = torch.randn(CLASSES, 3 * SIDE * SIDE, generator=torch.Generator().manual_seed(0))
PICTURE = torch.full((1, 3, SIDE, SIDE), 128 / 255)


def linear(pixels: Tensor) -> Tensor:
    """Logits (B, K) in which class 0 leads by far, class 2 before class 3 before class 1."""
    return (pixels.flatten(1) - 128 / 255) @ WEIGHTS.T + torch.tensor([9.0, 0.0, 5.0, 4.0])


class Recorder:
    """Logits (B, 1, K) that lead class 0 by a margin, and what they were asked."""

    def __init__(self, lead: float) -> None:
        self.lead, self.seeds, self.pictures = lead, list[int](), list[Tensor]()

    def __call__(self, pixels: Tensor, seeds: Sequence[int]) -> Tensor:
        self.seeds += seeds
        self.pictures.append(pixels.detach().clone())
        return (linear(pixels) + torch.tensor([self.lead, 0, 0, 0]))[:, None]


def attacked(sampled: SampledLogits, judge: SampledLogits | None, **changes: object) -> tuple[list, AttackTrace]:
    """The progress and the trace of an attack on class 0 with two restarts of three steps."""
    own = {"adaptive.steps": STEPS, "adaptive.restarts": 2} | changes
    settings, progress = RECOMMENDED.replace(attack="adaptive", **own), []
    steps = attack_steps(linear, PICTURE, settings, [0], [5], [None], sampled, judge_logits=judge)
    return progress, run_to_end(steps, progress.append)[0]


def test_a_restart_is_judged_by_the_judge_alone_on_seeds_that_no_step_drew() -> None:
    sampled, judge = Recorder(0.0), Recorder(0.0)
    _, trace = attacked(sampled, judge, **{"adaptive.restarts": 1})
    assert len(judge.seeds) == len(set(judge.seeds)) == DRAWS
    assert not set(judge.seeds) & set(sampled.seeds)
    delivered = trace.pixels.permute(2, 0, 1) / 255
    assert all(torch.equal(seen[0], delivered) for seen in judge.pictures), "the 8-bit picture that is delivered"
    again = Recorder(0.0)
    attacked(sampled, again, **{"adaptive.restarts": 1})
    assert again.seeds == judge.seeds


@pytest.mark.parametrize(("stands", "restarts"), [(False, 1), (True, 2)])
def test_there_is_another_restart_only_while_the_picture_stands_before_the_judge(stands: bool, restarts: int) -> None:
    """What the steps see is the other way round each time."""
    fooled, right = Recorder(-50.0), Recorder(50.0)
    progress, _ = attacked(*((fooled, right) if stands else (right, fooled)))
    assert len(progress) == restarts * STEPS


def test_the_second_restart_is_aimed_at_the_runner_up_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    aims: list[Tensor | None] = []
    goal_of = _Attacker.goal

    def goal(self: _Attacker, number: int, runner_up: Tensor | None) -> object:
        aims.append(runner_up)
        return goal_of(self, number, runner_up)

    monkeypatch.setattr(_Attacker, "goal", goal)

    def judge(pixels: Tensor, seeds: Sequence[int]) -> Tensor:
        """Class 3 is next on average, class 1 and class 2 in single draws."""
        return torch.tensor([[[9.0, *((4.0, 0.0) if seeds[0] % 2 else (0.0, 4.0)), 3.0]]])

    attacked(Recorder(20.0), judge, **{"adaptive.restarts": 3})
    assert aims[0] is None
    seen = [judge(PICTURE, [seed])[0, 0] for seed in _judge_seeds()]
    runner_up = int(torch.stack(seen).mean(0)[1:].argmax()) + 1
    assert [aim.tolist() for aim in aims[1:] if aim is not None] == [[runner_up]] * 2


def _judge_seeds() -> list[int]:
    judge = Recorder(0.0)
    attacked(Recorder(0.0), judge, **{"adaptive.restarts": 1})
    return judge.seeds


def test_restarts_raise_the_margin_then_that_of_the_runner_up_then_dlr() -> None:
    answer = torch.tensor([[9.0, 1.0, 5.0, 4.0], [2.0, 3.0, 1.0, 7.0]])
    label, aim = torch.tensor([0, 0]), torch.tensor([3, 3])
    request = AttackRequest(budget=4, steps=1, seeds=[0], label=label[:1], params={})
    goals = [_Attacker(linear, PICTURE, request).goal(number, aim[:1]) for number in range(4)]
    for row in answer.split(1):
        margin, aimed, scaled, first_again = (goal(row) for goal in goals)
        assert torch.equal(margin, components.margin(row, label[:1], None))
        assert torch.equal(aimed, components.margin(row, label[:1], aim[:1]))
        assert torch.equal(scaled, components.dlr(row, label[:1], None))
        assert torch.equal(first_again, margin)
    assert float(goals[1](answer[:1])) == 4.0 - 9.0, "the runner-up against the label, not the best other class"
