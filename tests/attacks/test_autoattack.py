"""The adapter of AutoAttack: the package's own result, its protocol, and how it is made to fit."""

import sys
import threading

import pyautoattack
import pytest
import torch
from torch import Tensor, nn

from rita_demo.attacks.autoattack import as_generator
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


def test_closing_the_generator_ends_the_attack_thread(model: TinyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rita_demo.attacks.autoattack.PAUSE_SECONDS", -1.0)  # pause at every query
    before = threading.active_count()
    loop = attack_steps(model, picture()[None], RECOMMENDED.replace(attack="autoattack"), [None], [0])
    steps = [next(loop)[0] for _ in range(20)]
    assert steps == sorted(steps)
    assert threading.active_count() == before + 1
    loop.close()
    assert threading.active_count() == before


def test_as_generator_runs_only_while_it_is_consumed() -> None:
    seen: list[str] = []

    def work(pause) -> int:  # type: ignore[no-untyped-def]
        for number in range(3):
            seen.append(f"{number} {float(torch.rand(1)):.6f}")
            pause(number)
        return 7

    def drain(between: int) -> int:
        torch.manual_seed(1)
        loop = as_generator(work)
        for expected in range(1, 4):
            assert next(loop) == expected - 1
            assert len(seen) % 3 == expected % 3
            torch.rand(between)  # other code draws random numbers in between
        with pytest.raises(StopIteration) as end:
            next(loop)
        return end.value.value

    assert drain(0) == 7
    assert drain(5) == 7
    assert seen[:3] == seen[3:]


def test_errors_of_the_model_are_raised_in_the_caller(model: TinyModel) -> None:
    answers = iter([model(picture()[None]), KeyError("inside")])

    def failing(pixels: Tensor) -> Tensor:
        answer = next(answers)
        if isinstance(answer, KeyError):
            raise answer
        return answer

    with pytest.raises(KeyError, match="inside"):
        run(failing, "autoattack")
