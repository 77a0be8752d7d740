"""The second tab with the fake engine: what if, one selection, comparisons, and forged events."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rita_demo import story as telling
from rita_demo.errors import SettingError
from rita_demo.plots.inside import times_even
from rita_demo.plots.plan import even_shares
from rita_demo.records import LeftOut
from rita_demo.settings import PAPER, RECOMMENDED
from rita_demo.ui import compare, inside_words, what_if
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.inside import Inside
from rita_demo.ui.page import build
from rita_demo.ui.sessions import Selection, Session, Sessions
from tests.ui.conftest import told
from tests.ui.fake import FakeEngine


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(spread=0.2)


@pytest.fixture(scope="module")
def tab() -> Inside:
    """The tab of a page that was never launched."""
    made: list[Inside] = []
    wire = Inside.wire

    def spy(self: Inside, *tabs: Any) -> None:
        made.append(self)
        wire(self, *tabs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inside, "wire", spy)
        engine = FakeEngine(spread=0.2)
        build(engine, example=WorkedExample(engine, candidates=()), sessions=Sessions())
    return made[0]


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
    assert "1 differs from “recommended”" in said


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
    assert tab.on_truth(visitor, "<b>") == {}


def test_a_moved_setting_redraws_all_but_itself(tab: Inside, visitor: str) -> None:
    tab.opened(visitor)
    updates = tab.on_knob("cache_weight")(visitor, 1.5)
    assert tab.parts["knobs"]["cache_weight"] not in updates
    assert updates[tab.parts["knobs"]["slots"]]["value"] == 3
    assert tab.desk.sessions.get(visitor).what_if.settings.cache_weight == 1.5
    tab.back(visitor)
    assert tab.desk.sessions.get(visitor).what_if.story is None


# --- comparisons
def test_every_setting_in_which_the_presets_differ_is_listed_with_its_reason(engine, story) -> None:
    table = compare.preset_table(engine, story)
    assert table.count("<tr>") == 1 + len(compare.DIFFER) + 2
    assert table.count("needs a new run") == len(compare.DIFFER) - len(compare.MOVABLE)
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


def test_a_pinned_state_outlives_the_picture_and_another_vocabulary_is_said(session) -> None:
    compare.pin(session)
    other = told(FakeEngine(), attack="none", label=1)
    session.show(other)
    assert session.pinned is not None
    assert "motorbike" in compare.pinned_table(session)
