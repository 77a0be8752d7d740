"""The second tab with the toy engine: one selection, what is drawn, and forged events."""

import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline import run as run_module
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.inside import cache_used, sections, what_if
from rita_demo.ui.inside.sections import SECTIONS
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.memory import panels
from rita_demo.ui.panels import run_summary_bar
from rita_demo.ui.session.session import Selection, Session
from tests.ui.conftest import NAMES, chosen, drawn, open_room


@pytest.fixture
def tab(inside_tab: InsideTab) -> InsideTab:
    return inside_tab


@pytest.fixture
def visitor(tab: InsideTab) -> str:
    return tab.context.sessions.open()


@pytest.fixture
def session(tab: InsideTab, visitor: str, example_run) -> Session:
    """The visitor's, with the tab open."""
    session = tab.context.sessions.get(visitor)
    session.show(example_run)
    open_room(tab, visitor)
    return session


def test_every_figure_of_the_tab_is_drawn_for_an_attacked_and_a_defended_picture(
    tab, visitor, session, defend_only_run
) -> None:
    session.inside.open_folds = frozenset(section.fold for section in SECTIONS)
    for shown in (session.run, defend_only_run):
        session.show(shown)
        figures = [v for v in open_room(tab, visitor).values() if hasattr(v, "layout")]
        assert len(figures) >= 13


def test_a_cell_selects_its_view_and_prompt_in_every_tab(tab, visitor, session) -> None:
    first = chosen(tab, visitor, view=7, atom=2)
    assert {c.elem_id for c in first} == {"field", "in-view", "in-plan-attacked", "in-cell", "signal"}, (
        "what is waited for"
    )
    updates = drawn(tab, session, first)
    assert (session.selection.view, session.selection.atom) == (7, 2)
    detail = sections.cell_text(session)
    assert session.run.class_prompts.prompts[session.selection.k][2] in detail
    assert f"{session.run.clean.trace.prompt_transport.cost[session.selection.k, 7, 2]:.4f}" in detail
    names = {c.elem_id for c in updates}
    assert {"in-plan-attacked", "in-cell", "share"} <= names


def test_a_changed_setting_updates_costs_plan_and_verdict_first(tab, visitor, session) -> None:
    first = {c.elem_id for c in tab.on_setting("cache_weight")(visitor, 1.5)}
    assert first == {"notice", "whatif-banner", "in-view", "in-costs", "in-plan-attacked", "in-cell", "signal"}
    assert session.inside.what_if.settings.cache_weight == 1.5
    again = drawn(tab, session, tab.on_back(visitor))
    assert again[tab.parts["settings"]["slots"]]["value"] == 3
    assert session.inside.what_if.run is None


def test_a_what_if_is_undone_and_redone_with_one_button_also_at_another_step(tab, visitor, session) -> None:
    tab.on_setting("cache_weight")(visitor, 1.5)
    button = tab.parts["back"]
    for step, name, weight in (
        (7, "Show the what-if again", 0.1),
        (7, "Back to the run", 1.5),
        (0, "Show", 0.1),
        (0, "Back", 1.5),
    ):
        chosen(tab, visitor, step=step)
        now = drawn(tab, session, tab.on_back(visitor))[button]
        assert now["value"].startswith(name)
        assert now["interactive"]
        shown = session.displayed_run
        assert (shown.settings.cache_weight, shown.step) == (weight, None if step == 7 else step)
        assert shown.settings == what_if.settings_of(session)
    tab.on_back(visitor)
    tab.on_setting("slots")(visitor, 1)
    tab.on_back(visitor)
    tab.on_back(visitor)
    assert (what_if.settings_of(session).slots, what_if.settings_of(session).cache_weight) == (1, 0.1), "the last one"
    session.show(session.run)
    now = open_room(tab, visitor)[button]
    assert (now["value"], now["interactive"]) == ("Back to the run", False)


def test_concurrent_setting_changes_all_apply(tab, visitor, session) -> None:
    moved = {"cache_weight": 1.0, "transported_mass": 0.8, "max_entropy": 0.6}
    for _ in range(10):
        tab.on_back(visitor)
        with ThreadPoolExecutor(len(moved)) as hands:
            for name, value in moved.items():
                hands.submit(tab.on_setting(name), visitor, value)
        assert {name: getattr(session.inside.what_if.settings, name) for name in moved} == moved


def test_a_cached_view_is_selected_in_the_memory_tab_too(tab, visitor, session, engine) -> None:
    """Two pictures; the second is decided from what the first left."""
    many = RECOMMENDED.replace(views_per_image=0, max_entropy=1.0)
    for sample in ("motorcycle", "coffee"):
        picture = SAMPLES[sample].load()
        cache = session.history.cache_before(picture.key)
        session.show(run_module.run_picture(engine, picture, NAMES, many, label=0, cache=cache))
        open_room(tab, visitor)
        session.add_to_history(session.run, sample)
    k = int(session.run.cache_before.count.argmax())
    chosen(tab, visitor, k=k)
    assert cache_used.class_cards(session).count("<button") == session.run.cache_before.count[k]
    marks = re.findall(r'data-memory_k="(\d)" data-slot="(\d)" data-moment="(\d)"', cache_used.class_cards(session))
    memory_k, slot, moment = map(int, marks[1])
    first = chosen(tab, visitor, memory_k=memory_k, slot=slot, moment=moment)
    assert any(c.elem_id == "in-items" for c in drawn(tab, session, first))
    assert cache_used.selected_slot(session) == (k, 1)
    assert np.array_equal(session.history.feature[session.selected_item], session.run.cache_before.features[k, 1])
    redrawn = {c.elem_id: value for c, value in open_room(tab, visitor, "memory").items()}
    assert redrawn["happened"] == panels.happened(session)
    tab.on_toggle("item")(visitor)
    assert f"without slot 1 of the memory of {NAMES[k]}" in what_if.banner(session)
    assert "left out" in cache_used.class_cards(session)
    seen = session.displayed_run.attacked.trace.cache
    assert seen.count[k] == session.run.cache_before.count[k] - 1
    tab.on_toggle("item")(visitor)
    assert session.displayed_run is session.run


def test_all_classes_are_drawn_only_while_their_fold_is_open(tab, visitor, session) -> None:
    (section,) = (section for section in SECTIONS if section.fold == "all-fold")
    fold = SimpleNamespace(target=tab.parts[section.fold])
    figures = tab.on_expand(visitor, fold)
    kinds = sorted(v.layout.meta["kind"] for v in figures.values())
    assert kinds == ["all_prompts", "all_prompts", "all_views", "all_views"]
    tab.on_collapse(visitor, fold)
    updates = drawn(tab, session, chosen(tab, visitor, view=3))
    assert "value" not in updates[tab.parts["all_views_clean"]]


def test_an_excluded_view_is_struck_through_in_the_grid(tab, visitor, session) -> None:
    for view in (0, int(session.run.attacked.trace.confidence.entropy.argmax())):
        session.selection = Selection(k=0, view=view)
        grid = drawn(tab, session, tab.on_toggle("view")(visitor))[tab.parts["grid_attacked"]]
        (button,) = re.findall(rf'<button[^>]*data-view="{view}"[^>]*>', grid)
        assert " out" in button.split('"')[3]
        assert "left out of the decision" in button
        crops = len(session.run.attacked.encoded_views.features)
        assert f"{crops - 1} crops of the attacked picture" in run_summary_bar.says(session)
        tab.on_back(visitor)
        assert f"{crops} crops of the attacked picture" in run_summary_bar.says(session)
    assert "left out" not in open_room(tab, visitor)[tab.parts["grid_attacked"]]
