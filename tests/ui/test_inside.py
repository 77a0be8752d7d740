"""The second tab with the fake engine: what if, one selection, comparisons, and forged events."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rita_demo import story as telling
from rita_demo.data.samples import SAMPLES
from rita_demo.errors import SettingError
from rita_demo.plots.inside import times_even
from rita_demo.plots.plan import even_shares
from rita_demo.records import LeftOut, Tuning
from rita_demo.settings import KNOBS, PAPER, RECOMMENDED
from rita_demo.ui import compare, inside_words, recall, remembered, what_if
from rita_demo.ui.inside import Inside
from rita_demo.ui.inside_panels import ANY, prompt_names
from rita_demo.ui.remembered import shelf as inside_items
from rita_demo.ui.sessions import Selection, Session
from tests.ui.conftest import NAMES, inside_tab, told
from tests.ui.fake import FakeEngine


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(spread=0.2)


@pytest.fixture(scope="module")
def tab() -> Inside:
    return inside_tab(FakeEngine(spread=0.2))


@pytest.fixture
def visitor(tab: Inside, story) -> str:
    name = tab.desk.sessions.open()
    tab.desk.sessions.get(name).show(story)
    return name


def click(*data: Any) -> SimpleNamespace:
    return SimpleNamespace(_data={"curve": 0, "index": 0, "data": list(data)})


# --- what if
def test_a_moved_setting_gives_what_a_run_with_it_would_give(engine, story) -> None:
    wanted = story.settings.but(entropy_weight=0.1, transported_mass=1.0)
    again = telling.rescore(engine, story, wanted)
    trace, _ = engine.decide(story.attacked.glance, story.bank, story.cache_before, wanted)
    assert np.allclose(again.attacked.trace.total, trace.total)
    assert again.attacked.verdicts["clip"] is story.attacked.verdicts["clip"]
    assert again.settings == wanted
    assert story.settings != wanted


def test_a_setting_that_needs_new_views_is_refused(engine, story) -> None:
    with pytest.raises(SettingError, match="new run"):
        telling.rescore(engine, story, story.settings.but(views=8))


def test_a_picture_that_was_only_defended_stays_one_side(engine, defended) -> None:
    again = telling.rescore(engine, defended, left_out=LeftOut(views=frozenset({1})))
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
    less = telling.rescore(engine, run, left_out=LeftOut(items=frozenset({(k, 0), (k, 1)})))
    features = less.attacked.trace.cache.features[k]
    assert np.array_equal(features[0], cache.features[k, 2])
    assert not features[1:].any()
    assert run.attacked.trace.cache.count[k] == 3
    changed = np.flatnonzero(less.attacked.trace.total != run.attacked.trace.total)
    assert changed.tolist() == [k]


@pytest.mark.parametrize("item", [(0, 99), (99, 0), (-1, 0), (0, -1)])
def test_an_item_that_is_not_there_is_a_sentence(engine, story, item) -> None:
    with pytest.raises(SettingError, match="holds nothing"):
        telling.rescore(engine, story, left_out=LeftOut(items=frozenset({item})))


@pytest.mark.parametrize("rho", [1.0, 0.5])
def test_an_even_share_is_one_whatever_part_of_the_mass_must_move(engine, story, rho) -> None:
    flat = story.settings.but(transported_mass=rho, entropy_weight=10.0)
    again = telling.rescore(engine, story, flat)
    assert times_even(again, "attacked", 0) == pytest.approx(1.0, abs=0.1)
    assert even_shares(again, "attacked", 0) == pytest.approx(1.0, abs=0.1)


# --- the tab
def test_nothing_is_drawn_while_another_tab_is_in_sight(tab: Inside, visitor: str) -> None:
    session = tab.desk.sessions.get(visitor)
    closed = tab.desk.board.redraw(session, "story")
    assert "value" not in closed[tab.parts["costs"]]
    opened = tab.opened(visitor)
    assert opened[tab.parts["costs"]].layout.meta["kind"] == "class_costs"
    assert set(session.crops) == {"clean", "attacked"}
    tab.left(visitor)
    assert "value" not in tab.desk.board.redraw(session, "story")[tab.parts["costs"]]


def test_every_figure_of_the_tab_is_drawn_for_an_attacked_and_a_defended_picture(
    tab: Inside, visitor: str, defended
) -> None:
    session = tab.desk.sessions.get(visitor)
    for shown in (session.story, defended):
        session.show(shown)
        drawn = tab.opened(visitor)
        figures = [v for v in drawn.values() if hasattr(v, "layout")]
        assert len(figures) >= 13


def test_a_cell_selects_its_view_and_prompt_in_every_tab(tab: Inside, visitor: str) -> None:
    tab.opened(visitor)
    updates = tab.on_cell(visitor, click(7, 2, 0.5, 1.0))
    session = tab.desk.sessions.get(visitor)
    assert (session.selection.view, session.selection.atom) == (7, 2)
    detail = inside_words.cell(session)
    assert session.story.bank.prompts[session.selection.k][2] in detail
    assert f"{session.story.clean.trace.prompt.cost[session.selection.k, 7, 2]:.4f}" in detail
    first_tab = [c for c in updates if getattr(c, "elem_id", "") in ("plan", "cell-detail")]
    assert len(first_tab) == 2


@pytest.mark.parametrize(
    "data",
    [(10**9, 0), (-1, 0), (1.5, 0), ("0", 0), (float("nan"), 1), (0, 10**9), (0, "1"), ()],
)
def test_forged_cells_give_nothing(tab: Inside, visitor: str, data: tuple) -> None:
    before = tab.desk.sessions.get(visitor).selection
    assert tab.on_cell(visitor, click(*data)) == {}
    assert tab.desk.sessions.get(visitor).selection == before


@pytest.mark.parametrize(
    "event", [SimpleNamespace(_data=None), SimpleNamespace(_data={"index": -1}), click("x")]
)
def test_forged_events_of_every_kind_give_nothing(tab: Inside, visitor: str, event) -> None:
    for handler in (
        tab.on_view,
        tab.on_cell,
        tab.on_mass,
        tab.on_prompt,
        tab.on_class,
    ):
        assert handler(visitor, event) == {}
    assert tab.on_grid("clean")(visitor, SimpleNamespace(_data={"index": 64})) == {}
    assert tab.pick_class(visitor, ["crab"]) == {}
    assert tab.changes.on_truth(visitor, "<b>") == {}


def test_a_moved_setting_redraws_all_but_itself(tab: Inside, visitor: str) -> None:
    tab.opened(visitor)
    updates = tab.changes.on_knob("cache_weight")(visitor, 1.5)
    assert tab.parts["knobs"]["cache_weight"] not in updates
    assert updates[tab.parts["knobs"]["slots"]]["value"] == 3
    assert tab.desk.sessions.get(visitor).what_if.settings.cache_weight == 1.5
    tab.changes.back(visitor)
    assert tab.desk.sessions.get(visitor).what_if.story is None


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


def test_a_remembered_view_is_one_selection_with_the_memorys_tab(tab: Inside, engine) -> None:
    """Two pictures; the second is decided from what the first left."""
    name = tab.desk.sessions.open()
    session = tab.desk.sessions.get(name)
    many = RECOMMENDED.but(views_per_image=0, max_entropy=1.0)
    for sample in ("motorcycle", "coffee"):
        picture = SAMPLES[sample].load()
        cache = session.history.before(picture.key)
        shown = telling.tell(engine, picture, NAMES, many, label=0, cache=cache)
        session.show(shown)
        tab.opened(name)
        session.remember(shown, sample)
    assert len(session.history.entries) == 3
    k = int(session.story.cache_before.count.argmax())
    tab.pick_class(name, NAMES[k])
    assert inside_items(session).count("<button") == session.story.cache_before.count[k]
    updates = tab.on_item(name, SimpleNamespace(_data={"k": k, "slot": 1}))
    assert remembered.selected(session) == (k, 1)
    item = recall.entry(session).shelf.item(*session.selection.item)
    assert np.array_equal(item.feature, session.story.cache_before.features[k, 1])
    assert any(getattr(c, "elem_id", "") == "item-detail" for c in updates)
    tab.changes.changing(what_if.toggle_item)(name)
    assert f"without slot 1 of the memory of {NAMES[k]}" in what_if.banner(session)
    assert "left out" in inside_items(session)
    seen = what_if.seen(session).attacked.trace.cache
    assert seen.count[k] == session.story.cache_before.count[k] - 1
    tab.changes.changing(what_if.toggle_item)(name)
    assert what_if.seen(session) is session.story


@pytest.mark.parametrize(
    "data", [None, [], {}, {"k": "0", "slot": 0}, {"k": 0, "slot": 99}, {"k": -1, "slot": 0},
             {"k": float("nan"), "slot": 0}, {"k": 0, "slot": True}],
)  # fmt: skip
def test_forged_remembered_views_give_nothing(tab: Inside, visitor: str, data) -> None:
    assert tab.on_item(visitor, SimpleNamespace(_data=data)) == {}
    session = tab.desk.sessions.get(visitor)
    with pytest.raises(SettingError, match="No remembered view"):
        what_if.toggle_item(tab.desk.engine_of(session), session)


def test_a_prompt_is_chosen_from_the_list_and_again_none(tab: Inside, visitor: str) -> None:
    session = tab.desk.sessions.get(visitor)
    names = prompt_names(session.story, session.selection.k)
    tab.pick_prompt(visitor, names[2])
    assert session.selection.atom == 2
    assert tab.pick_prompt(visitor, "5: forged") == {}
    assert tab.pick_prompt(visitor, [names[1]]) == {}
    tab.pick_prompt(visitor, ANY)
    assert session.selection.atom is None


def test_all_classes_are_drawn_only_while_their_fold_is_open(tab: Inside, visitor: str) -> None:
    tab.opened(visitor)
    session = tab.desk.sessions.get(visitor)
    drawn = tab.unfolded(True)(visitor)
    kinds = sorted(v.layout.meta["kind"] for v in drawn.values())
    assert kinds == ["all_prompts", "all_prompts", "all_views", "all_views"]
    N = len(session.story.attacked.glance.features)
    tab.on_all_views(visitor, click(2 * N + 5))
    assert (session.selection.k, session.selection.view) == (2, 5)
    assert tab.on_all_views(visitor, click(N * len(NAMES))) == {}
    tab.unfolded(False)(visitor)
    assert "value" not in tab.on_view(visitor, click(3))[tab.parts["all_views_clean"]]


def test_a_left_out_view_is_struck_through_in_the_grid_whatever_its_entropy(tab, visitor) -> None:
    tab.opened(visitor)
    session = tab.desk.sessions.get(visitor)
    for view in (0, int(session.story.attacked.trace.confidence.entropy.argmax())):
        session.selection = Selection(k=0, view=view)
        grid = tab.changes.changing(what_if.toggle_view)(visitor)[tab.parts["grid_attacked"]]
        (button,) = re.findall(rf'<button[^>]*data-index="{view}"[^>]*>', grid)
        assert " out" in button.split('"')[3]
        assert "left out of the decision" in button
        tab.changes.back(visitor)
    assert "left out" not in tab.opened(visitor)[tab.parts["grid_attacked"]]


# --- comparisons
def test_every_setting_in_which_the_presets_differ_is_listed_with_its_reason(engine, story) -> None:
    table = compare.preset_table(engine, story)
    assert table.count("<tr>") == 1 + len(compare.DIFFER) + 2
    attacks = [n for n in compare.DIFFER if KNOBS[n].group == "attack"]
    assert table.count("needs a new attack") == len(attacks) == 3
    assert table.count("costs ") >= len(compare.DIFFER) - len(attacks) + 2
    changed = telling.rescore(engine, story, story.settings.but(entropy_weight=0.1))
    assert f"margin {changed.attacked.verdicts['rita'].margin:.4f}" in table


def test_the_papers_settings_follow_as_far_as_features_allow() -> None:
    settings = compare.as_preset(RECOMMENDED, PAPER)
    assert settings.entropy_weight == PAPER.entropy_weight
    assert settings.views_augmix == RECOMMENDED.views_augmix
    assert not telling.needs_a_run(settings, RECOMMENDED)


def test_one_state_is_pinned_and_stands_beside_the_next(engine, session) -> None:
    compare.pin(session)
    what_if.change(engine, session, settings=session.story.settings.but(cache_weight=2.0))
    table = compare.pinned_table(session)
    old, new = (s.attacked.verdicts["rita"].margin for s in (session.story, what_if.seen(session)))
    assert f"margin {old:.4f}" in table
    assert f"margin {new:.4f}" in table
    compare.pin(session)
    assert "Weight of the memory α 2" in session.pinned.title
    said = compare.pinned_sentence(session)
    assert "Weight of the memory α 2" in said
    assert f"margin {new:.4f}" in said


def test_a_pinned_state_outlives_the_picture_and_another_vocabulary_is_said(session) -> None:
    compare.pin(session)
    other = told(FakeEngine(), attack="none", label=1)
    session.show(other)
    assert session.pinned is not None
    assert "motorbike" in compare.pinned_table(session)
