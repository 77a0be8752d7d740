"""What if: other settings, things left out, another true class, decided again from the features."""

from __future__ import annotations

import numpy as np
import pytest

from rita_demo import retelling
from rita_demo import story as telling
from rita_demo.errors import SettingError
from rita_demo.plots.inside import times_even
from rita_demo.plots.plan import even_shares
from rita_demo.records import LeftOut, Tuning
from rita_demo.ui import what_if
from rita_demo.ui.sessions import Selection, Session
from tests.ui.conftest import told
from tests.ui.fake import FakeEngine


def test_a_moved_setting_gives_what_a_run_with_it_would_give(engine, story) -> None:
    wanted = story.settings.but(entropy_weight=0.1, transported_mass=1.0)
    again = retelling.rescore(engine, story, wanted)
    trace, _ = engine.decide(story.attacked.glance, story.bank, story.cache_before, wanted)
    assert np.allclose(again.attacked.trace.total, trace.total)
    assert again.attacked.verdicts["clip"] is story.attacked.verdicts["clip"]
    assert again.settings == wanted
    assert story.settings != wanted


def test_a_setting_that_needs_new_views_is_refused(engine, story) -> None:
    with pytest.raises(SettingError, match="new run"):
        retelling.rescore(engine, story, story.settings.but(views=8))


def test_a_picture_that_was_only_defended_stays_one_side(engine, defended) -> None:
    again = retelling.rescore(engine, defended, left_out=LeftOut(views=frozenset({1})))
    assert again.attacked is again.clean


def test_a_view_that_is_left_out_carries_nothing_and_keeps_its_place(engine, session) -> None:
    session.selection = Selection(k=0, view=5)
    what_if.toggle_view(engine, session)
    moved = what_if.seen(session).attacked.trace.prompt
    assert not moved.plan[:, 5].any()
    assert moved.plan.shape == session.story.attacked.trace.prompt.plan.shape
    assert "without view 5" in what_if.banner(session)


def test_putting_it_back_is_the_run_again(engine, session) -> None:
    session.selection = Selection(k=0, view=5, atom=1)
    what_if.toggle_view(engine, session)
    what_if.toggle_prompt(engine, session)
    assert session.what_if.left_out == LeftOut(frozenset({5}), frozenset({(0, 1)}))
    what_if.toggle_prompt(engine, session)
    what_if.toggle_view(engine, session)
    assert what_if.seen(session) is session.story


def test_the_last_prompt_of_a_class_stays_and_nothing_else_is_lost(engine, session) -> None:
    for m in range(3):
        session.selection = Selection(k=0, view=0, atom=m)
        what_if.toggle_prompt(engine, session)
    before = session.what_if
    session.selection = Selection(k=0, view=0, atom=3)
    with pytest.raises(SettingError, match="At least one prompt"):
        what_if.toggle_prompt(engine, session)
    assert session.what_if is before


def test_another_true_class_changes_what_is_right_and_no_cost(engine, session) -> None:
    what_if.change(engine, session, label=2)
    now = what_if.seen(session)
    assert now.label == 2
    assert np.allclose(now.attacked.trace.total, session.story.attacked.trace.total)


def test_the_banner_names_what_differs_from_the_run_and_the_preset(engine, session) -> None:
    what_if.change(engine, session, settings=session.story.settings.but(cache_weight=2.0))
    said = what_if.banner(session)
    assert "Weight of the memory α 2 instead of 0.1" in said
    assert "Other than in “recommended”: Weight of the memory α: 0.1 → now 2." in said
    what_if.change(engine, session, settings=session.story.settings)
    assert "Every setting of the defence is as in “recommended”" in what_if.banner(session)


def test_a_new_picture_starts_without_a_what_if(engine, session) -> None:
    what_if.change(engine, session, settings=session.story.settings.but(cache_weight=2.0))
    session.show(session.story)
    assert what_if.seen(session) is session.story


def test_without_a_picture_a_what_if_is_a_sentence(engine) -> None:
    with pytest.raises(SettingError, match="no picture yet"):
        what_if.change(engine, Session(), label=1)


@pytest.mark.parametrize("value", ["abc", None, float("nan"), 1e300, -400, [1]])
def test_a_forged_value_of_a_logarithmic_slider_is_refused(value) -> None:
    with pytest.raises(SettingError):
        what_if.from_control("entropy_weight", value)


def test_a_logarithmic_slider_counts_in_powers_of_ten() -> None:
    assert what_if.from_control("entropy_weight", -2) == 0.01
    assert what_if.from_control("slots", 4) == 4


def test_a_remembered_view_that_is_left_out_is_as_if_it_had_never_entered(engine, story) -> None:
    picture, names = story.clean.picture, story.bank.names
    many = story.settings.but(views_per_image=0, max_entropy=1.0)
    cache = telling.tell(engine, picture, names, many, label=0).cache_after
    k = int(cache.count.argmax())
    assert cache.count[k] == 3
    run = telling.tell(engine, picture, names, many, label=0, cache=cache)
    less = retelling.rescore(engine, run, left_out=LeftOut(items=frozenset({(k, 0), (k, 1)})))
    features = less.attacked.trace.cache.features[k]
    assert np.array_equal(features[0], cache.features[k, 2])
    assert not features[1:].any()
    assert run.attacked.trace.cache.count[k] == 3
    changed = np.flatnonzero(less.attacked.trace.total != run.attacked.trace.total)
    assert changed.tolist() == [k]


@pytest.mark.parametrize("item", [(0, 99), (99, 0), (-1, 0), (0, -1)])
def test_an_item_that_is_not_there_is_a_sentence(engine, story, item) -> None:
    with pytest.raises(SettingError, match="holds nothing"):
        retelling.rescore(engine, story, left_out=LeftOut(items=frozenset({item})))


@pytest.mark.parametrize("rho", [1.0, 0.5])
def test_an_even_share_is_one_whatever_part_of_the_mass_must_move(engine, story, rho) -> None:
    flat = story.settings.but(transported_mass=rho, entropy_weight=10.0)
    again = retelling.rescore(engine, story, flat)
    assert times_even(again, "attacked", 0) == pytest.approx(1.0, abs=0.1)
    assert even_shares(again, "attacked", 0) == pytest.approx(1.0, abs=0.1)


class Counting(FakeEngine):
    """Counts the prompt updates it makes; the update moves every prompt by its number of steps."""

    made = 0

    def tune(self, glance, bank, settings):
        self.made += 1
        s = settings.tuning_steps
        z = bank.features + 0.05 * s * np.roll(bank.features, 1, axis=0)
        z = z / np.linalg.norm(z, axis=-1, keepdims=True)
        return Tuning(np.arange(s + 1.0), z, np.full(z.shape[1], float(s)), np.ones(s))


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 9])
def test_the_prompt_update_is_made_again_for_any_number_of_steps_and_then_kept(steps) -> None:
    engine, session = Counting(spread=0.2), Session()
    session.show(told(engine))
    run, before = session.story, engine.made
    what_if.change(engine, session, settings=run.settings.but(tuning_steps=steps))
    again = what_if.seen(session).attacked.trace
    assert len(again.tuning.loss) == steps + 1
    made = engine.made
    assert made == before + (0 if steps == run.settings.tuning_steps else 2)
    now = what_if.settings_of(session)
    what_if.change(engine, session, settings=now.but(cache_weight=2.0), label=2)
    assert engine.made == made, "another setting keeps the update"
    assert np.array_equal(what_if.seen(session).attacked.trace.tuning.loss, again.tuning.loss)
    what_if.change(engine, session, settings=run.settings, label=None)
    assert what_if.seen(session) is run
