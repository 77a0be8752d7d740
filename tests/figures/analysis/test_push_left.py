"""What is left of the attack in a crop, against the model itself."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rita_demo.figures.analysis.crop_field import rival_class
from rita_demo.figures.analysis.push_left import push_left
from rita_demo.records import Run
from tests.oracles.crop_rules import fit
from tests.oracles.crops import crop_one
from tests.toy_model import SIDE, ToyEngine
from tests.ui.conftest import completed_run


@pytest.mark.parametrize("n", [0, 5, 11])
def test_the_fall_is_that_of_the_crops_own_pixels_cut_and_encoded_by_hand(run: Run, engine: ToyEngine, n: int) -> None:
    found, views, prompts = push_left(run), run.clean.encoded_views.views, run.class_prompts
    assert found is not None
    model = engine._backbone

    def margin(pixels: np.ndarray) -> float:
        square = pixels.transpose(2, 0, 1).astype(np.float32) / 255
        crop = crop_one(square, views.boxes[n], bool(views.flipped[n]), SIDE).clip(0, 1)
        feature = model.encode_pixels(torch.from_numpy(crop.astype(np.float32))[None])[0].detach().numpy()
        right, wrong = (fit(feature, prompts.features[k], prompts.weight[k]) for k in (run.label, rival_class(run)))
        return right - wrong

    fall = margin(run.clean.picture.pixels) - margin(run.attacked.picture.pixels)
    assert found.fall[n] == pytest.approx(fall, abs=1e-4)
    assert found.share[n] == pytest.approx(fall / found.fall[0], abs=1e-3)
    assert (found.reference, found.rival) == (run.label, rival_class(run))


def test_the_median_crop_has_as_many_crops_below_as_above_and_is_not_the_whole_picture(run: Run) -> None:
    found = push_left(run)
    assert found is not None
    assert found.median
    crops = found.share[1:]
    assert (crops < found.share[found.median]).sum() == (len(crops) - 1) // 2
    assert found.share[0] == 1


def test_nothing_is_left_to_show_without_an_attack_or_where_it_did_not_lower_the_margin(
    run: Run, engine: ToyEngine
) -> None:
    assert push_left(completed_run(engine, attack="none")) is None
    assert push_left(replace(run, clean=run.attacked, attacked=run.clean)) is None
    assert push_left(replace(run, attacked=run.clean)) is None


def test_a_single_view_has_no_median_crop(engine: ToyEngine) -> None:
    found = push_left(completed_run(engine, views=1))
    assert found is not None
    assert found.share.tolist() == [1]
    assert found.median is None
