"""The crop field against loops written from its definition; the small plan has the distances of the run."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rita_demo.figures.analysis.crop_field import crop_field, rival_class, small_transport
from rita_demo.pipeline.attack_steps import attack_step_results
from rita_demo.records import Run
from tests.toy_model import ToyEngine
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
        assert step.share.sum() == pytest.approx(1)
        for position, answer in zip(step.crops, step.answers, strict=True):
            if answer in (field.reference, field.rival):
                assert (position > 0) == (answer == field.reference)


def test_the_axis_holds_the_first_and_the_last_step_and_is_the_same_whatever_steps_are_stored(
    run: Run, engine: ToyEngine
) -> None:
    results = list(attack_step_results(engine, run))
    wild = replace(
        results[2].image_result,
        encoded_views=replace(run.clean.encoded_views, features=-9 * run.clean.encoded_views.features),
    )
    results[2] = replace(results[2], image_result=wild)
    alone, whole = crop_field(run), crop_field(run, results)
    assert alone.reach == whole.reach
    assert round(20 * alone.reach, 6) % 1 == 0
    most = max(float(np.abs([*s.crops, *s.counted, *s.methods.values()]).max()) for s in alone.steps)
    assert most < alone.reach < 1.06 * most + 0.05 + 1e-9
    assert np.abs(whole.steps[2].crops).max() > alone.reach


def test_clip_stands_where_the_cosines_of_the_whole_picture_put_it(run: Run, engine: ToyEngine) -> None:
    field = crop_field(run)
    template, whole = run.class_prompts.template_features, run.attacked.encoded_views.features[0]
    expected = float(whole @ template[field.reference] - whole @ template[field.rival])
    assert field.steps[-1].methods["clip"] == pytest.approx(expected, abs=1e-4)
    only_defended = crop_field(completed_run(engine, attack="none"))
    assert [step.step for step in only_defended.steps] == [0]
    assert only_defended.rival != only_defended.reference


def test_the_rival_is_ritas_wrong_answer_else_clips_else_another_defences_else_the_second_best(run: Run) -> None:
    def rival(**wrong: int) -> int:
        verdicts = {n: replace(v, label=wrong.get(n, run.label)) for n, v in run.attacked.verdicts.items()}
        return rival_class(replace(run, attacked=replace(run.attacked, verdicts=verdicts)))

    assert rival(rita=3, clip=2, ensemble=1) == 3
    assert rival(clip=2, ensemble=1) == 2
    assert rival(ensemble=1) == 1
    assert rival() == np.argsort(run.attacked.verdicts["clip"].probability)[-2]


def test_a_defence_that_moves_views_moves_what_is_counted_and_not_what_the_model_sees(engine: ToyEngine) -> None:
    run = completed_run(engine, tuning_steps=0)  # a step of the tuning moves the sentences
    side = run.attacked
    moved = np.roll(side.trace.view_features, 1, axis=0)
    other = replace(run, attacked=replace(side, trace=replace(side.trace, view_features=moved)))
    before, after = crop_field(run).steps[-1], crop_field(other).steps[-1]
    assert np.allclose(before.crops, before.counted, atol=1e-5)
    assert np.allclose(after.crops, before.crops)
    assert np.allclose(after.counted, np.roll(before.counted, 1))


@pytest.mark.parametrize("side", ["clean", "attacked"])
def test_half_the_squared_distance_and_the_hidden_part_are_the_cost_of_the_run(run: Run, side: str) -> None:
    one = getattr(run, side)
    small = small_transport(run, one, rival_class(run))
    for c, k in enumerate(small.classes):
        expected = one.trace.prompt_transport.cost[k][np.ix_(small.views, small.atoms[c])]
        shown = ((small.crop_at[:, None] - small.sentence_at[c]) ** 2).sum(-1) / 2
        assert shown + small.hidden[c] == pytest.approx(expected, abs=1e-6)


def test_it_shows_crops_of_both_ends_and_the_middle_of_how_well_they_fit_the_rival_beside_the_true_class(
    run: Run,
) -> None:
    side = run.attacked
    small = small_transport(run, side, rival_class(run))
    assert small.sentence_at[0, :, 0].mean() > small.sentence_at[1, :, 0].mean()
    assert small.classes == (run.label, rival_class(run))
    truth, other = small.classes
    mean = (side.trace.prompt_transport.cost * side.trace.prompt_weight[:, None]).sum(2)
    ranks = np.argsort(np.argsort(mean[other] - mean[truth], kind="stable"))[small.views]
    last = len(side.trace.view_weight) - 1
    assert ranks == pytest.approx([0.1 * last, last / 2, 0.9 * last], abs=1)
