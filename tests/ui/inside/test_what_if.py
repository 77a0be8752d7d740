"""What if: other settings, things left out, another true class, decided again from the features."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rita_demo.data.memory import MemoryTable
from rita_demo.pipeline import rerun
from rita_demo.records import CacheState, Exclusions, Run, Trace, Tuning
from rita_demo.records.errors import SettingError
from rita_demo.ui.inside import what_if
from rita_demo.ui.inside.method_settings import with_edit
from rita_demo.ui.session.session import Selection, Session
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


def toggle(engine, session, kind: str) -> None:
    what_if.change(engine, session, exclusions=what_if.toggled(session, kind))


def test_a_missing_stored_view_is_refused(engine, example_run, defend_only_run) -> None:
    for item in ((0, 99), (99, 0), (-1, 0), (0, -1)):
        with pytest.raises(SettingError, match="is empty"):
            rerun.rescore(engine, example_run, exclusions=Exclusions(cache_items=frozenset({item})))
    again = rerun.rescore(engine, defend_only_run, exclusions=Exclusions(views=frozenset({1})))
    assert again.attacked is again.clean, "a run that only defends stays one-sided"


def test_an_excluded_view_has_no_mass_and_putting_it_back_equals_the_run(engine, session) -> None:
    session.selection = Selection(k=0, view=5, atom=1)
    toggle(engine, session, "view")
    moved = session.displayed_run.attacked.trace.prompt_transport
    assert not moved.plan[:, 5].any()
    assert moved.plan.shape == session.run.attacked.trace.prompt_transport.plan.shape
    session.selection = Selection(k=0, view=5, atom=1)
    toggle(engine, session, "prompt")
    assert session.inside.what_if.exclusions == Exclusions(frozenset({5}), frozenset({(0, 1)}))
    toggle(engine, session, "prompt")
    toggle(engine, session, "view")
    assert session.displayed_run is session.run


def test_the_last_prompt_of_a_class_cannot_be_excluded(engine, session) -> None:
    for m in range(3):
        session.selection = Selection(k=0, view=0, atom=m)
        toggle(engine, session, "prompt")
    before = session.inside.what_if
    session.selection = Selection(k=0, view=0, atom=3)
    with pytest.raises(SettingError, match="At least one prompt"):
        toggle(engine, session, "prompt")
    assert session.inside.what_if is before


def test_another_label_changes_correctness_and_no_cost_and_needs_a_picture(engine, session) -> None:
    with pytest.raises(SettingError, match="no picture yet"):
        what_if.change(engine, Session(), label=2)
    what_if.change(engine, session, label=2)
    assert session.displayed_run.label == 2
    assert np.allclose(session.displayed_run.attacked.trace.total, session.run.attacked.trace.total)


def test_an_edit_is_kept_and_one_that_a_setting_cannot_have_is_refused_in_a_sentence() -> None:
    assert with_edit({"slots": 4}, {"name": "views", "value": "16"}) == {"slots": 4, "views": 16}
    for name, value, said in (
        ("views", "0", "views is a whole number from 1 to 256; got '0'."),
        ("descriptions", "/etc/passwd", "descriptions is one of"),
        (["views"], {}, "There is no setting"),
    ):
        with pytest.raises(SettingError, match=said):
            with_edit({}, {"name": name, "value": value})


@pytest.mark.parametrize("value", ["abc", float("nan"), 1e300])
def test_a_logarithmic_slider_counts_in_powers_of_ten_and_refuses_a_forged_value(value) -> None:
    assert what_if.from_control("entropy_weight", -2) == 0.01
    assert what_if.from_control("slots", 4) == 4
    with pytest.raises(SettingError):
        what_if.from_control("entropy_weight", value)


def filled(run: Run, seed: int) -> CacheState:
    """A cache whose first two classes are full, whose third holds one view and whose others are empty."""
    rng, empty = np.random.default_rng(seed), run.cache_before
    arrays = {n: np.array(getattr(empty, n)) for n in ("features", "entropy", "born", "view", "count")}
    views = run.attacked.encoded_views.features
    slots = empty.features.shape[1]
    for k, count in ((0, slots), (1, slots), (2, 1)):
        chosen = rng.choice(len(views), count, replace=False)
        arrays["features"][k, :count], arrays["entropy"][k, :count] = views[chosen], rng.random(count)
        arrays["born"][k, :count], arrays["view"][k, :count], arrays["count"][k] = 0, chosen, count
    return CacheState(**arrays, pictures=1, key=empty.key)


def test_without_a_stored_view_the_decision_is_that_of_a_memory_that_never_held_it(engine, example_run) -> None:
    state, names, session = filled(example_run, 0), example_run.class_prompts.names, Session()
    run = rerun.rescore(engine, replace(example_run, cache_before=state))
    session.show(run)
    session.history = MemoryTable().with_state("Stored", state, names)
    side = run.attacked

    def decide(cache: CacheState) -> Trace:
        return engine.decide(side.encoded_views, run.class_prompts, cache, run.settings, tuning=side.trace.tuning)[0]

    places = [(k, slot) for k, slot, _ in session.history.held()]
    assert len(places) == 2 * state.features.shape[1] + 1
    for k, slot in places:
        session.select(item=(k, slot))
        toggle(engine, session, "item")
        less, now = decide(engine.remove_cache_item(state, k, slot)), session.displayed_run.attacked.trace
        assert np.allclose(now.total, less.total, atol=1e-5)
        assert np.allclose(now.cache_distance, less.cache_distance, atol=1e-5)
        assert now.verdict.label == less.verdict.label
        toggle(engine, session, "item")
        assert session.displayed_run is run, "put back"
    two = rerun.rescore(engine, run, exclusions=Exclusions(cache_items=frozenset({(0, 0), (0, 1)})))
    features = two.attacked.trace.cache.features[0]
    assert np.array_equal(features[0], state.features[0, 2]), "as if they had never been inserted"
    assert not features[1:].any()
    assert np.flatnonzero(two.attacked.trace.total != run.attacked.trace.total).tolist() == [0]


class CountingEngine(ToyEngine):
    """Counts the prompt updates it makes."""

    tune_count = 0

    def tune(self, *request: Any) -> Tuning:
        self.tune_count += 1
        return super().tune(*request)


@pytest.mark.parametrize("steps", [1, 4])
def test_the_prompt_update_is_recomputed_for_any_number_of_steps_and_cached(steps) -> None:
    engine, session = CountingEngine(spread=0.2), Session()
    session.show(completed_run(engine))
    run, before = session.run, engine.tune_count
    what_if.change(engine, session, settings=run.settings.replace(tuning_steps=steps))
    again = session.displayed_run.attacked.trace
    assert len(again.tuning.loss) == steps + 1
    made = engine.tune_count
    assert made == before + (0 if steps == run.settings.tuning_steps else 2)
    now = what_if.settings_of(session)
    what_if.change(engine, session, settings=now.replace(cache_weight=2.0), label=2)
    assert engine.tune_count == made, "another setting keeps the update"
    assert np.array_equal(session.displayed_run.attacked.trace.tuning.loss, again.tuning.loss)
    what_if.change(engine, session, settings=run.settings, label=None)
    assert session.displayed_run is run
