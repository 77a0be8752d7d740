"""The second tab with the fake engine: one selection, what is drawn, and forged events."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rita_demo import story as telling
from rita_demo.data.samples import SAMPLES
from rita_demo.errors import SettingError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui import inside_words, recall, remembered, touched, what_if
from rita_demo.ui.attack_defend import returned
from rita_demo.ui.inside import Inside
from rita_demo.ui.inside_panels import ANY, prompt_names
from rita_demo.ui.remembered import shelf as inside_items
from rita_demo.ui.sessions import Selection
from tests.ui.conftest import NAMES, inside_tab, whole
from tests.ui.fake import FakeEngine


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
    session = tab.desk.sessions.get(visitor)
    first = tab.on_cell(visitor, click(7, 2, 0.5, 1.0))
    assert {c.elem_id for c in first} == {"in-plan-attacked", "in-cell"}, "what is waited for"
    updates = whole(tab.in_turn, session, first)
    assert (session.selection.view, session.selection.atom) == (7, 2)
    detail = inside_words.cell(session)
    assert session.story.bank.prompts[session.selection.k][2] in detail
    assert f"{session.story.clean.trace.prompt.cost[session.selection.k, 7, 2]:.4f}" in detail
    names = {c.elem_id for c in updates}
    assert {"in-plan-attacked", "in-cell", "share", "formulas"} <= names
    assert names.isdisjoint({"plan", "cell-detail"}), "out of sight: drawn when they come back"
    tab.left(visitor)
    first = {c.elem_id: value for c, value in returned(tab.desk, visitor).items()}
    assert first["cell-detail"] == touched.cell_detail(session)
    assert "plan" in first
    assert returned(tab.desk, visitor) == {}, "once"


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
    assert tab.on_grid(visitor, SimpleNamespace(_data={"index": 64})) == {}
    assert tab.pick_class(visitor, ["crab"]) == {}
    assert tab.changes.on_truth(visitor, "<b>") == {}


def test_a_moved_setting_shows_costs_plan_and_verdict_first(tab: Inside, visitor: str) -> None:
    tab.opened(visitor)
    session = tab.desk.sessions.get(visitor)
    first = tab.changes.on_knob("cache_weight")(visitor, 1.5)
    named = {c.elem_id for c in first}
    assert named == {"notice", "whatif-banner", "in-costs", "in-plan-attacked", "in-cell"}
    assert session.what_if.settings.cache_weight == 1.5
    again = whole(tab.in_turn, session, tab.changes.back(visitor))
    assert again[tab.parts["knobs"]["slots"]]["value"] == 3
    assert session.what_if.story is None


def test_settings_moved_at_the_same_time_are_all_kept(tab: Inside, visitor: str) -> None:
    tab.opened(visitor)
    session = tab.desk.sessions.get(visitor)
    moved = {"cache_weight": 1.0, "transported_mass": 0.8, "max_entropy": 0.6}
    for _ in range(10):
        tab.changes.back(visitor)
        with ThreadPoolExecutor(len(moved)) as hands:
            for name, value in moved.items():
                hands.submit(tab.changes.on_knob(name), visitor, value)
        assert {name: getattr(session.what_if.settings, name) for name in moved} == moved


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
    first = tab.on_item(name, SimpleNamespace(_data={"k": k, "slot": 1}))
    updates = whole(tab.in_turn, session, first)
    assert remembered.selected(session) == (k, 1)
    item = recall.entry(session).shelf.item(*session.selection.item)
    assert np.array_equal(item.feature, session.story.cache_before.features[k, 1])
    assert any(c.elem_id == "in-items" for c in updates)
    session.recalling = True  # the memory's tab is opened
    redrawn = {c.elem_id: value for c, value in tab.desk.board.redraw(session, "memory").items()}
    assert redrawn["item-detail"] == recall.detail(session)
    session.recalling = False
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
    updates = whole(tab.in_turn, session, tab.on_view(visitor, click(3)))
    assert "value" not in updates[tab.parts["all_views_clean"]]


def test_a_left_out_view_is_struck_through_in_the_grid_whatever_its_entropy(tab, visitor) -> None:
    tab.opened(visitor)
    session = tab.desk.sessions.get(visitor)
    for view in (0, int(session.story.attacked.trace.confidence.entropy.argmax())):
        session.selection = Selection(k=0, view=view)
        first = tab.changes.changing(what_if.toggle_view)(visitor)
        grid = whole(tab.in_turn, session, first)[tab.parts["grid_attacked"]]
        (button,) = re.findall(rf'<button[^>]*data-index="{view}"[^>]*>', grid)
        assert " out" in button.split('"')[3]
        assert "left out of the decision" in button
        tab.changes.back(visitor)
    assert "left out" not in tab.opened(visitor)[tab.parts["grid_attacked"]]
