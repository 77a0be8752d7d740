"""The adapter of AutoAttack: the package's own result, its protocol, and how it is made to fit."""

import sys

import pyautoattack
import pytest
import torch
from torch import Tensor, nn

from rita_demo.attacks.loop.run import attack_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records.errors import DemoError, SettingError
from rita_demo.settings import RECOMMENDED
from tests.attacks.test_attacks import TinyModel, model, noisy, picture, run

__all__ = ["model"]  # the fixture


@pytest.mark.parametrize("budget", [pytest.param(2, marks=pytest.mark.slow), 8])
def test_pixels_equal_the_autoattack_package(model: TinyModel, budget: int) -> None:
    """With 2/255 nothing succeeds before the last part, so that all four are run; with channels last, as from the engine."""
    label = model(picture()[None]).argmax(1)
    theirs = pyautoattack.AutoAttack(model, eps=budget / 255, seed=3, version="standard")
    theirs.apgd_targeted.n_target_classes = theirs.fab.n_target_classes = 4  # five classes
    expected, _ = theirs.run_standard_evaluation(picture()[None], label)
    square = picture()[None].to(memory_format=torch.channels_last)
    assert not square.is_contiguous()
    (trace,) = run_to_end(
        attack_steps(model, square, RECOMMENDED.replace(attack="autoattack", budget=budget), [None], [3])
    )
    assert torch.equal(trace.pixels.permute(2, 0, 1), (expected[0] * 255).round().to(torch.uint8))


@pytest.mark.slow
def test_with_sampled_logits_the_version_is_rand(model: TinyModel) -> None:
    queries = []

    def counted(pixels: Tensor, seeds: object) -> Tensor:
        queries.append(tuple(seeds))  # type: ignore[arg-type]
        return noisy(model)(pixels, seeds)  # type: ignore[arg-type]

    _, trace = run(model, "autoattack", budget=8, sampled_logits=counted)
    assert trace.fooled
    assert len(queries) >= 2000  # 100 steps with 20 gradients each
    assert len(set(queries)) == len(queries)  # never the same draw twice


def test_misclassified_pictures_are_not_changed(model: TinyModel) -> None:
    wrong = (int(model(picture()[None]).argmax()) + 1) % 5
    _, trace = run(model, "autoattack", label=wrong, budget=16)
    assert (trace.already_wrong, trace.fooled, trace.linf) == (True, False, 0)


def test_four_classes_are_enough_and_fewer_give_an_error_message() -> None:
    torch.manual_seed(0)
    three, four = (nn.Sequential(nn.Flatten(), nn.Linear(432, k), nn.Tanh()).requires_grad_(False) for k in (3, 4))
    assert run(four, "autoattack", budget=16)[1].fooled
    with pytest.raises(SettingError, match="at least 4 classes; got 3"):
        run(three, "autoattack")


def test_a_missing_package_gives_an_error_message(model: TinyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyautoattack", None)
    with pytest.raises(DemoError, match="needs the package pyautoattack") as caught:
        run(model, "autoattack")
    assert "pip install" in caught.value.hint


def test_global_random_state_does_not_change(model: TinyModel) -> None:
    torch.manual_seed(5)
    expected = torch.rand(4)
    torch.manual_seed(5)
    run(model, "autoattack", budget=8)
    assert torch.equal(torch.rand(4), expected)


def test_the_lock_of_a_model_is_free_between_two_parts_and_the_first_that_succeeds_is_the_last(
    model: TinyModel,
) -> None:
    steps = {budget: run(model, "autoattack", budget=budget)[0] for budget in (0, 2, 16)}
    assert steps == {0: [], 2: [(1, 4), (2, 4), (3, 4), (4, 4)], 16: [(1, 4)]}
