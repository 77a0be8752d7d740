"""The attack's film as data: its steps, its records, and that it commits nothing."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from rita_demo.data.pictures import picture_of
from rita_demo.data.samples import SAMPLES
from rita_demo.defences.registry import DEFAULT_METHODS
from rita_demo.engine.engine import Engine
from rita_demo.pipeline.attack_steps import attack_step_results, run_at_step, sampled_steps
from rita_demo.pipeline.run import defend, run_picture
from rita_demo.records import AttackStepResult, ImageResult, Run
from rita_demo.settings import RECOMMENDED

NAMES = ("cup", "crab", "cat", "dog")
Results = list[AttackStepResult]
QUICK = RECOMMENDED.replace(views=8, steps=7, square="model", views_per_image=0, max_entropy=1.0)


@pytest.fixture(scope="module")
def example_run(engine: Engine) -> Run:
    """A cup that is attacked, decided from a memory that already holds another picture."""
    cup = SAMPLES["coffee"].load(square="model", side=engine.info.side)
    first = run_picture(engine, picture_of(cup.pixels[::-1]), NAMES, QUICK.replace(attack="none"))
    return run_picture(engine, cup, NAMES, QUICK, label=0, cache=first.cache_after)


@pytest.fixture(scope="module")
def step_results(engine: Engine, example_run: Run) -> list[AttackStepResult]:
    return list(attack_step_results(engine, example_run))


def same(one: Any, two: Any) -> bool:
    """Whether two records hold the same numbers; wall times are not compared."""
    if is_dataclass(one):
        names = [f.name for f in fields(one) if f.name != "seconds"]
        return all(same(getattr(one, n), getattr(two, n)) for n in names)
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    return all(map(same, one, two)) if isinstance(one, tuple) else np.array_equal(one, two)


def test_sampled_steps_are_densest_at_the_start_include_both_ends_and_use_the_maximum() -> None:
    assert sampled_steps(7) == (0, 1, 2, 3, 5, 7)
    assert sampled_steps(100) == (0, 9, 25, 46, 72, 100)
    for last in (*range(11), 20, 50, 100):
        for most in range(2, 7):
            steps = sampled_steps(last, most)
            assert (steps[0], steps[-1]) == (0, last)
            assert list(steps) == sorted(set(steps))
            assert len(steps) == min(most, last + 1)


def test_attack_steps_start_clean_and_end_attacked(engine: Engine, example_run: Run, step_results: Results) -> None:
    assert [frame.step for frame in step_results] == [0, 1, 2, 3, 5, 7]
    assert step_results[0].image_result is example_run.clean
    assert step_results[-1].image_result is example_run.attacked
    for end, side in ((0, example_run.clean), (-1, example_run.attacked)):
        picture = picture_of(example_run.attack.frames[end])
        fresh, _ = defend(engine, picture, example_run.class_prompts, example_run.cache_before, example_run.settings)
        assert same(fresh.picture.pixels, side.picture.pixels)
        for part in ("encoded_views", "trace", "verdicts"):
            assert same(getattr(fresh, part), getattr(side, part)), part


def test_every_step_has_a_full_record_from_the_same_boxes_and_memory(example_run: Run, step_results: Results) -> None:
    assert example_run.cache_before.count.sum() > 0
    for frame in step_results:
        side: ImageResult = frame.image_result
        assert np.array_equal(side.picture.pixels, example_run.attack.frames[frame.step])
        assert same(side.encoded_views.views, example_run.clean.encoded_views.views)
        assert tuple(side.verdicts) == DEFAULT_METHODS
        assert side.trace.total.shape == (len(NAMES),)
        old = side.trace.cache.born == 0  # what the first picture brought
        assert side.trace.cache.pictures == example_run.clean.trace.cache.pictures
        assert old.any()
        assert (side.trace.cache.born[~old] <= example_run.cache_before.pictures).all()
    assert len({float(frame.image_result.trace.total[0]) for frame in step_results}) == len(step_results)


@pytest.mark.parametrize(("asked", "shown"), [(3, 3), (4, 5), (6, None), (-5, 0)])
def test_a_missing_step_shows_the_nearest_and_ties_prefer_the_later(example_run, step_results, asked, shown) -> None:
    now = run_at_step(example_run, step_results, asked)
    assert now.step == shown
    if shown is None:
        assert now is example_run
    else:
        assert now.attacked is next(f.image_result for f in step_results if f.step == shown)
        assert now.clean is example_run.clean
