"""The patch changes one square only; the typographic attack writes a word that can be read."""

import numpy as np
import pytest
import torch

from rita_demo.attacks.loop.run import attack_steps
from rita_demo.attacks.patch import patch_mask
from rita_demo.process.generators import run_to_end
from rita_demo.records import AttackTrace
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED

NAMES = ("cup", "crab", "dog")
WEIGHT = torch.randn(3 * 96 * 96, 3, generator=torch.manual_seed(1)) / 30
PICTURE = (torch.rand(1, 3, 96, 96, generator=torch.manual_seed(2)) * 255).round() / 255


def attacked(name: str, target: int | None = None, **own: object) -> AttackTrace:
    settings = RECOMMENDED.replace(attack=name, **{f"{name}.{key}": value for key, value in own.items()})
    logits = lambda pixels: (pixels.flatten(1) - 0.5) @ WEIGHT  # noqa: E731
    return run_to_end(attack_steps(logits, PICTURE, settings, [0], [5], [target], names=NAMES))[0]


@pytest.mark.parametrize("area", [0.1, 0.2])
def test_a_patch_changes_one_square_and_nothing_else(area: float) -> None:
    trace = attacked("patch", area=area, steps=10)
    moved = (np.asarray(trace.pixels) != np.asarray(trace.frames[0])).any(-1)
    rows, columns = np.flatnonzero(moved.any(1)), np.flatnonzero(moved.any(0))
    height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    side = round((area * 96 * 96) ** 0.5)
    assert max(height, width) <= side
    assert moved.mean() == pytest.approx(area, rel=0.15)
    assert trace.loss[-1] > trace.loss[0] + 1
    assert trace.budget == 0


def test_the_place_of_a_patch_follows_the_seed_and_it_fits() -> None:
    masks = [patch_mask(20, 40, 0.5, seed) for seed in (0, 0, 1)]
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])
    assert all(int(mask.sum()) == 20 * 20 for mask in masks)
    assert int(patch_mask(4, 100, 0.5, 0).sum()) == 16, "a square is no higher than the picture"
    with pytest.raises(SettingError, match=r"patch\.area is a number from 0\.01 to 0\.5"):
        RECOMMENDED.replace(**{"patch.area": 1.5})


def test_the_written_word_is_black_on_a_white_label_at_the_bottom() -> None:
    trace = attacked("typographic", word="crab")
    frame = np.asarray(trace.pixels)
    moved = (frame != np.asarray(trace.frames[0])).any(-1)
    assert not moved[:48].any(), "the upper half stays"
    label = frame[moved]
    assert (label == 255).all(-1).mean() > 0.3
    assert (label < 60).all(-1).mean() > 0.05
    assert not np.array_equal(frame, np.asarray(attacked("typographic", word="dog").pixels))


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
