"""The attack's film as data: its steps, its records, and that it commits nothing."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from rita_demo.data.pictures import picture_of
from rita_demo.data.samples import SAMPLES
from rita_demo.engine import Engine
from rita_demo.film import at_step, film, kept_steps, last_step
from rita_demo.methods import ALWAYS
from rita_demo.records import FilmFrame, Side, Story
from rita_demo.retelling import at_strength, other_strengths, rescore
from rita_demo.settings import RECOMMENDED
from rita_demo.story import defend, finish, tell

NAMES = ("cup", "crab", "cat", "dog")
QUICK = RECOMMENDED.but(views=8, steps=7, square="model", views_per_image=0, max_entropy=1.0)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.fixture(scope="module")
def story(engine: Engine) -> Story:
    """A cup that is attacked, decided from a memory that already holds another picture."""
    cup = SAMPLES["coffee"].load(square="model", side=engine.info.side)
    first = tell(engine, picture_of(cup.pixels[::-1]), NAMES, QUICK.but(attack="none"))
    return tell(engine, cup, NAMES, QUICK, label=0, previous=first)


@pytest.fixture(scope="module")
def frames(engine: Engine, story: Story) -> list[FilmFrame]:
    return list(film(engine, story))


def same(one: Any, two: Any) -> bool:
    """Whether two records hold the same numbers; wall times are not compared."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, two)
    if is_dataclass(one) and not isinstance(one, type):
        names = [f.name for f in fields(one) if f.name != "seconds"]
        return all(same(getattr(one, n), getattr(two, n)) for n in names)
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(one == two)


def test_seven_steps_are_kept_densest_at_their_start() -> None:
    assert kept_steps(7) == (0, 1, 2, 3, 5, 7)
    assert kept_steps(100) == (0, 9, 25, 46, 72, 100)


@pytest.mark.parametrize("most", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("last", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100])
def test_kept_steps_rise_hold_both_ends_and_are_as_many_as_may_be(last: int, most: int) -> None:
    steps = kept_steps(last, most)
    assert (steps[0], steps[-1]) == (0, last)
    assert list(steps) == sorted(set(steps))
    assert len(steps) == min(most, last + 1)


def test_the_film_starts_as_the_clean_side_and_ends_as_the_attacked_one(
    story: Story, frames: list[FilmFrame]
) -> None:
    assert [frame.step for frame in frames] == [0, 1, 2, 3, 5, 7]
    assert frames[0].side is story.clean
    assert frames[-1].side is story.attacked


@pytest.mark.parametrize("end", [0, -1])
def test_looked_at_afresh_both_ends_are_exactly_the_sides(
    engine: Engine, story: Story, frames: list[FilmFrame], end: int
) -> None:
    assert story.attack is not None
    picture = picture_of(story.attack.frames[end])
    fresh, _ = defend(engine, picture, story.bank, story.cache_before, story.settings)
    assert same(fresh.picture.pixels, frames[end].side.picture.pixels)
    for part in ("glance", "trace", "verdicts"):
        assert same(getattr(fresh, part), getattr(frames[end].side, part)), part


def test_every_step_has_a_full_record_from_the_same_boxes_and_the_same_memory(
    story: Story, frames: list[FilmFrame]
) -> None:
    assert story.attack is not None
    assert story.cache_before.count.sum() > 0
    for frame in frames:
        side: Side = frame.side
        assert np.array_equal(side.picture.pixels, story.attack.frames[frame.step])
        assert same(side.glance.views, story.clean.glance.views)
        assert tuple(side.verdicts) == ALWAYS
        assert side.trace.total.shape == (len(NAMES),)
        old = side.trace.cache.born == 0  # what the first picture brought
        assert side.trace.cache.pictures == story.clean.trace.cache.pictures
        assert old.any()
        assert (side.trace.cache.born[~old] <= story.cache_before.pictures).all()
    assert len({float(frame.side.trace.total[0]) for frame in frames}) == len(frames)


def test_the_film_commits_nothing(engine: Engine, story: Story) -> None:
    before, after = story.cache_before, story.cache_after
    counts = before.count.copy(), after.count.copy()
    list(film(engine, story))
    assert (story.cache_before, story.cache_after) == (before, after)
    assert np.array_equal(before.count, counts[0])
    assert np.array_equal(after.count, counts[1])
    assert after.pictures == before.pictures + 1


@pytest.mark.parametrize(
    ("asked", "shown"), [(0, 0), (3, 3), (4, 5), (6, None), (7, None), (99, None), (-5, 0)]
)
def test_a_step_that_is_not_kept_shows_the_nearest_and_of_two_the_later(
    story: Story, frames: list[FilmFrame], asked: int, shown: int | None
) -> None:
    now = at_step(story, frames, asked)
    assert now.step == shown
    if shown is None:
        assert now is story
    else:
        assert now.attacked is next(f.side for f in frames if f.step == shown)
        assert now.clean is story.clean


def test_without_a_film_both_ends_can_be_looked_at(story: Story) -> None:
    assert at_step(story, (), 1).attacked is story.clean
    assert at_step(story, (), 6) is story
    assert at_step(story, (), None) is story


def test_a_what_if_at_a_step_is_decided_from_that_steps_features(
    engine: Engine, story: Story, frames: list[FilmFrame]
) -> None:
    now = at_step(story, frames, 3)
    wanted = QUICK.but(entropy_weight=0.1)
    told = rescore(engine, now, wanted)
    side = frames[3].side
    trace, _ = engine.decide(side.glance, story.bank, story.cache_before, wanted, side.trace.tuning)
    assert told.step == 3
    assert np.array_equal(told.attacked.trace.total, trace.total)
    assert told.cache_after is story.cache_after


def test_a_picture_that_was_only_defended_has_no_film(engine: Engine, story: Story) -> None:
    defended = tell(engine, story.clean.picture, NAMES, QUICK.but(attack="none"))
    assert last_step(defended) == 0
    assert list(film(engine, defended)) == []
    assert at_step(defended, (), 3) is defended


@pytest.mark.parametrize("budget", [1, 8])
def test_another_strength_is_what_the_whole_run_with_it_tells(
    engine: Engine, story: Story, budget: int
) -> None:
    other = finish(at_strength(engine, story, budget))
    cup = story.clean.picture
    whole = tell(engine, cup, NAMES, QUICK.but(budget=budget), label=0, cache=story.cache_before)
    assert other.clean is story.clean
    assert other.attack is not None
    assert other.attack.linf == budget
    assert same(other, whole)


def test_the_other_strengths_are_those_of_the_measured_curve(story: Story) -> None:
    assert other_strengths(story) == (1, 2, 8)
    assert other_strengths(replace(story, attack=None)) == ()
    unbounded = story.settings.but(attack="cw_l2")
    assert other_strengths(replace(story, settings=unbounded)) == ()
