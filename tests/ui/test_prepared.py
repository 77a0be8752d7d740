"""The samples' attacks computed ahead: what is prepared is neither attacked nor encoded again, and nothing else is kept."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

import rita_demo.engine
from rita_demo import attacks, retelling
from rita_demo import film as filming
from rita_demo import story as telling
from rita_demo.data import samples
from rita_demo.data.pictures import picture_of
from rita_demo.engine import Engine
from rita_demo.settings import RECOMMENDED, Settings
from rita_demo.ui.desk import Turns
from rita_demo.ui.prepared import Preparation

pytestmark = pytest.mark.slow

SETTINGS = RECOMMENDED.but(views=8, steps=3)


def told(engine: Engine, key: str, settings: Settings = SETTINGS) -> telling.Story:
    one = samples.sample(key)
    picture = one.load(square=settings.square, side=engine.info.side)
    return telling.tell(engine, picture, one.names, settings, label=one.names.index(one.label))


def prepared(engine: Engine, turns: Turns, seconds: float = 1.0) -> Preparation:
    """Ahead, after an example whose attack took so long."""
    attack = SimpleNamespace(seconds=seconds, frames=[None] * 4)
    story = SimpleNamespace(settings=SETTINGS, attack=attack, seconds={})
    example = SimpleNamespace(wait=lambda seconds, film: True, ready=SimpleNamespace(story=story))
    return Preparation(engine, example, turns)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(samples, "available", lambda: ["coffee"])
    return Engine("embedded")


def test_a_prepared_sample_is_neither_attacked_nor_encoded_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = told(engine, "coffee")
    ahead = prepared(engine, Turns())
    ahead.start()
    assert ahead.done.wait(120)

    def fails(*args: object, **more: object) -> None:
        raise AssertionError("it was computed again")

    monkeypatch.setattr(attacks, "attack", fails)
    monkeypatch.setattr(engine, "_encode", fails)
    monkeypatch.setattr(engine, "tune", fails)
    story = told(engine, "coffee")
    assert (story.attack.pixels == first.attack.pixels).all()
    for name, verdict in first.attacked.verdicts.items():  # to the last bit
        assert story.attacked.verdicts[name].margin == verdict.margin
    budgets = retelling.other_strengths(story)
    assert budgets == (1, 2, 8)
    for budget in budgets:
        other = telling.finish(retelling.at_strength(engine, story, budget), lambda _: None)
        assert len(list(filming.film(engine, other))) == len(filming.kept_steps(3))
    with pytest.raises(AssertionError, match="computed again"):
        told(engine, "coffee", SETTINGS.but(attack_seed=1))
    with pytest.raises(AssertionError, match="computed again"):
        told(engine, "coffee", SETTINGS.but(attack="defence"))


def test_a_visitors_own_picture_is_attacked_anew_each_time(engine: Engine) -> None:
    one, other = told(engine, "brick"), told(engine, "brick")
    assert one.attack is not other.attack
    assert (one.attack.pixels == other.attack.pixels).all()
    assert not engine._attacks._items
    assert not engine._tunings._items


def test_the_preparation_makes_way_and_ends_with_the_server(engine: Engine) -> None:
    turns = Turns()
    ahead = prepared(engine, turns)
    with turns.taken():
        ahead.start()
        assert not ahead.done.wait(1.0)
        assert len(engine._glances._items) <= 1, "it goes on although somebody waits"
        turns.touched = time.monotonic() + 60
    assert not ahead.done.wait(1.0)
    assert len(engine._glances._items) <= 1, "it goes on although somebody touches a result"
    ahead.end()
    assert not ahead.done.is_set()
    assert not engine._attacks._items


def test_a_slow_model_is_left_to_its_visitors(engine: Engine) -> None:
    ahead = prepared(engine, Turns(), seconds=60.0)
    ahead.start()
    assert ahead.done.wait(10)
    assert not engine._nobodys


def test_however_often_a_sample_is_attacked_only_so_many_names_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rita_demo.engine, "DERIVED", 6)
    engine, one = Engine("embedded"), samples.sample("coffee")
    picture = one.load(side=engine.info.side)
    engine.keep_work_on(picture)
    bank, kept = engine.classes(one.names[:3], SETTINGS), []
    for seed in range(4):
        settings = SETTINGS.but(attack_seed=seed, steps=4, views=2)
        kept.append((settings, engine.attack(picture, bank, settings, 0)))
        engine.look(picture, settings.but(view_seed=seed))
    names = {picture_of(square).key for _, trace in kept for square in trace.frames}
    assert len(names) > 12
    assert len(engine._derived._items) <= 6
    assert engine._nobodys == {picture.key}
    for settings, trace in kept:  # the sample is known for good, whatever was made of it
        assert engine.attack(picture, bank, settings, 0) is trace
