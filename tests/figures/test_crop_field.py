"""The crops of a run against loops written from their definitions: where they stand (the crop field), what is left of the attack
in each (the model itself, on pixels cut by hand), and the small plan."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from rita_demo.figures.analysis.crop_field import crop_field, push_left, rival_class, small_transport
from rita_demo.pipeline.attack_steps import attack_step_results
from rita_demo.records import Run
from tests.oracles.crop_rules import fit
from tests.oracles.crops import crop_one
from tests.toy_model import SIDE, ToyEngine
from tests.ui.conftest import completed_run


def test_every_position_is_a_difference_of_mean_cosines(run: Run, engine: ToyEngine) -> None:
    results = list(attack_step_results(engine, run))
    field = crop_field(run, results)
    assert [step.step for step in field.steps] == [0, 1, 2, 3, 5, 7]
    assert field.reference == run.label
    prompts = run.class_prompts
    for step, result in zip(field.steps, results, strict=True):
        side = result.image_result
        for n, view in enumerate(side.encoded_views.features):
            fits = [prompts.weight[k] @ (prompts.features[k] @ view) for k in (field.reference, field.rival)]
            assert step.crops[n] == pytest.approx(fits[0] - fits[1], abs=1e-5)
        for name, verdict in side.verdicts.items():
            right, wrong = (float(verdict.probability[k]) for k in (field.reference, field.rival))
            expected = prompts.temperature * (math.log(right) - math.log(wrong))
            assert step.methods[name] == pytest.approx(expected, abs=1e-5)
        for position, answer in zip(step.crops, step.answers, strict=True):
            if answer in (field.reference, field.rival):
                assert (position > 0) == (answer == field.reference)


def test_the_rival_is_ritas_wrong_answer_else_clips_else_another_defences_else_the_second_best(run: Run) -> None:
    def rival(**wrong: int) -> int:
        verdicts = {n: replace(v, label=wrong.get(n, run.label)) for n, v in run.attacked.verdicts.items()}
        return rival_class(replace(run, attacked=replace(run.attacked, verdicts=verdicts)))

    assert rival(rita=3, clip=2, ensemble=1) == 3
    assert rival(clip=2, ensemble=1) == 2
    assert rival(ensemble=1) == 1
    assert rival() == np.argsort(run.attacked.verdicts["clip"].probability)[-2]


def test_it_shows_crops_of_both_ends_and_the_middle_of_how_well_they_fit_the_rival_beside_the_true_class(
    run: Run,
) -> None:
    side = run.attacked
    small = small_transport(run, side, rival_class(run))
    for c, k in enumerate(small.classes):
        expected = side.trace.prompt_transport.cost[k][np.ix_(small.views, small.atoms[c])]
        assert small.cost[c] == pytest.approx(expected, abs=1e-6)
    assert small.sentence_at[0, :, 0].mean() > small.sentence_at[1, :, 0].mean()
    assert small.classes == (run.label, rival_class(run))
    truth, other = small.classes
    mean = (side.trace.prompt_transport.cost * side.trace.prompt_weight[:, None]).sum(2)
    ranks = np.argsort(np.argsort(mean[other] - mean[truth], kind="stable"))[small.views]
    last = len(side.trace.view_weight) - 1
    assert ranks == pytest.approx([0.1 * last, last / 2, 0.9 * last], abs=1)


@pytest.mark.parametrize("n", [5, 11])
def test_the_fall_is_that_of_the_crops_own_pixels_cut_and_encoded_by_hand(run: Run, engine: ToyEngine, n: int) -> None:
    left, views, prompts = push_left(run), run.clean.encoded_views.views, run.class_prompts
    assert left is not None
    model = engine._backbone

    def margin(pixels: np.ndarray, n: int) -> float:
        square = pixels.transpose(2, 0, 1).astype(np.float32) / 255
        crop = crop_one(square, views.boxes[n], bool(views.flipped[n]), SIDE).clip(0, 1)
        feature = model.encode_pixels(torch.from_numpy(crop.astype(np.float32))[None])[0].detach().numpy()
        right, wrong = (fit(feature, prompts.features[k], prompts.weight[k]) for k in (run.label, rival_class(run)))
        return right - wrong

    fall = [margin(run.clean.picture.pixels, k) - margin(run.attacked.picture.pixels, k) for k in (n, 0)]
    assert left.share[n] == pytest.approx(fall[0] / fall[1], abs=1e-3)


def test_the_median_crop_has_as_many_crops_below_as_above_and_nothing_is_left_where_nothing_fell(
    run: Run, engine: ToyEngine
) -> None:
    left = push_left(run)
    assert left is not None
    assert left.median, "not the whole picture"
    assert (left.share[1:] < left.share[left.median]).sum() == (len(left.share) - 2) // 2
    assert left.share[0] == 1
    assert push_left(completed_run(engine, attack="none")) is None
    assert push_left(replace(run, attacked=run.clean)) is None
