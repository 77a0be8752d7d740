"""Attacks with a loop of their own: AutoAttack is its package's result and protocol; the patch changes one square only; the
typographic attack writes a word that can be read."""

import sys

import numpy as np
import pyautoattack
import pytest
import torch
from torch import Tensor, nn

from rita_demo.attacks.loop.run import attack_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import AttackTrace
from rita_demo.records.errors import DemoError, SettingError
from rita_demo.settings import RECOMMENDED
from tests.attacks.test_attacks import MODEL, noisy, picture, run


@pytest.mark.parametrize("budget", [pytest.param(2, marks=pytest.mark.nightly), 8])
def test_pixels_equal_the_autoattack_package(budget: int) -> None:
    """With 2/255 nothing succeeds before the last part, so that all four are run; with channels last, as from the engine."""
    label = MODEL(picture()[None]).argmax(1)
    theirs = pyautoattack.AutoAttack(MODEL, eps=budget / 255, seed=3, version="standard")
    theirs.apgd_targeted.n_target_classes = theirs.fab.n_target_classes = 4  # five classes
    expected, _ = theirs.run_standard_evaluation(picture()[None], label)
    square = picture()[None].to(memory_format=torch.channels_last)
    assert not square.is_contiguous()
    settings, parts = RECOMMENDED.replace(attack="autoattack", budget=budget), []
    (trace,) = run_to_end(attack_steps(MODEL, square, settings, [None], [3]), parts.append)
    # the lock of the model is free between two parts, and the first that succeeds is the last
    assert parts == ([(1, 4), (2, 4), (3, 4), (4, 4)] if budget == 2 else [(1, 4)])
    assert torch.equal(trace.pixels.permute(2, 0, 1), (expected[0] * 255).round().to(torch.uint8))


@pytest.mark.nightly
def test_with_sampled_logits_the_version_is_rand() -> None:
    queries = []

    def counted(pixels: Tensor, seeds: object) -> Tensor:
        queries.append(tuple(seeds))  # type: ignore[arg-type]
        return noisy(MODEL)(pixels, seeds)  # type: ignore[arg-type]

    _, trace = run(MODEL, "autoattack", budget=8, sampled_logits=counted)
    assert trace.fooled
    assert len(queries) >= 2000  # 100 steps with 20 gradients each
    assert len(set(queries)) == len(queries)  # never the same draw twice


def test_four_classes_are_enough_and_fewer_give_an_error_message() -> None:
    torch.manual_seed(0)
    three, four = (nn.Sequential(nn.Flatten(), nn.Linear(432, k), nn.Tanh()).requires_grad_(False) for k in (3, 4))
    assert run(four, "autoattack", budget=16)[1].fooled
    with pytest.raises(SettingError, match="at least 4 classes; got 3"):
        run(three, "autoattack")


def test_a_missing_package_gives_an_error_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyautoattack", None)
    with pytest.raises(DemoError, match="needs the package pyautoattack") as caught:
        run(MODEL, "autoattack")
    assert "pip install" in caught.value.hint


NAMES = ("cup", "crab", "dog")
WEIGHT = torch.randn(3 * 96 * 96, 3, generator=torch.manual_seed(1)) / 30
PICTURE = (torch.rand(1, 3, 96, 96, generator=torch.manual_seed(2)) * 255).round() / 255


def attacked(name: str, target: int | None = None, **own: object) -> AttackTrace:
    settings = RECOMMENDED.replace(attack=name, **{f"{name}.{key}": value for key, value in own.items()})
    logits = lambda pixels: (pixels.flatten(1) - 0.5) @ WEIGHT  # noqa: E731
    return run_to_end(attack_steps(logits, PICTURE, settings, [0], [5], [target], names=NAMES))[0]


def test_a_patch_changes_one_square_and_nothing_else() -> None:
    area = 0.1
    trace = attacked("patch", area=area, steps=10)
    moved = (np.asarray(trace.pixels) != np.asarray(trace.frames[0])).any(-1)
    rows, columns = np.flatnonzero(moved.any(1)), np.flatnonzero(moved.any(0))
    height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    side = round((area * 96 * 96) ** 0.5)
    assert max(height, width) <= side
    assert moved.mean() == pytest.approx(area, rel=0.15)
    assert trace.loss[-1] > trace.loss[0] + 1
    assert trace.budget == 0


def test_without_a_word_the_target_or_the_most_probable_wrong_class_is_written() -> None:
    wrong = 1 + int(attacked("typographic", word="x").probability[0][1:].argmax())
    for target in (None, 1, 2):
        name = NAMES[wrong if target is None else target]
        chosen = np.asarray(attacked("typographic", target).pixels)
        assert np.array_equal(chosen, np.asarray(attacked("typographic", target, word=name).pixels))


@pytest.mark.parametrize(
    ("word", "says"), [("ꙮ漢", "cannot be drawn"), ("W" * 40, "does not fit on 96 × 96 pixels"), ("a\nb", "word")]
)
def test_a_word_that_cannot_be_drawn_is_an_error_message(word: str, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        attacked("typographic", word=word)
