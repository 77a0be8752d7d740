"""*Inside* with the toy engine: one selection, what is drawn, and its what-if."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline import run as run_module
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.inside import cache_used, details, what_if
from rita_demo.ui.inside.crop_columns import columns_html, shown_view
from rita_demo.ui.inside.headline import effect, headline, notes
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.memory import panels
from rita_demo.ui.session.session import Selection, Session
from tests.toy_model import ToyEngine
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


def test_every_figure_of_the_room_is_drawn_for_an_attacked_and_a_defended_picture(
    tab, visitor, session, defend_only_run
) -> None:
    session.inside.open_folds = frozenset(fold.name for fold in tab.folds)
    for shown, count in ((session.run, 6), (defend_only_run, 5)):
        session.show(shown)
        figures = [v for v in open_room(tab, visitor).values() if hasattr(v, "layout")]
        assert len(figures) == count


def test_a_cell_selects_its_crop_and_sentence_in_every_room(tab, visitor, session) -> None:
    first = chosen(tab, visitor, view=7, atom=2)
    assert {c.elem_id for c in first} == {"in-views", "in-crop", "in-plan", "in-cell", "signal"}, "what is waited for"
    updates = drawn(tab, session, first)
    assert (session.selection.view, session.selection.atom) == (7, 2)
    said = details.class_details(session)
    assert session.run.class_prompts.prompts[session.selection.k][2] in said
    assert f"{session.run.attacked.trace.prompt_transport.cost[session.selection.k, 7, 2]:.4f} apart" in said
    assert {"in-plan", "in-cell", "whatif-prompt", "share"} <= {c.elem_id for c in updates}


def test_the_price_of_the_chosen_class_is_a_sum_of_the_record_s_numbers(session) -> None:
    trace, pattern = session.run.attacked.trace, r"sum'>([\d.]+) \+ ([\d.]+) × ([\d.]+) = ([\d.]+)"
    for k in range(len(NAMES)):
        session.select(k=k)
        prompt, weight, memory, total = map(float, re.search(pattern, details.class_details(session)).groups())
        wanted = trace.prompt_transport.distance[k], trace.cache_distance[k], trace.total[k]
        assert (prompt, memory, total) == pytest.approx(wanted, abs=5e-5)
        assert prompt + weight * memory == pytest.approx(total, abs=2e-4)
    off = session.run.settings.replace(protocol="off")
    session.show(run_module.run_picture(ToyEngine(spread=0.2), session.run.clean.picture, NAMES, off, label=0))
    assert "×" not in details.class_details(session)


def test_a_crop_is_chosen_from_the_start_and_the_same_at_every_step(tab, visitor, session) -> None:
    view = shown_view(session)
    assert session.selection.view is None
    assert view
    assert f"Crop {view}</h3>" in details.crop_details(session)
    chosen(tab, visitor, step=0)
    assert shown_view(session) == view
    tab.on_toggle("view")(visitor)
    assert session.inside.what_if.exclusions.views == {view}
    assert shown_view(Session()) is None
    assert "appears here" in details.crop_details(Session())


def test_the_columns_hold_every_crop_at_its_place_and_count_both_sides(session, failed_run, defend_only_run) -> None:
    assert "appear here" in columns_html(Session())
    for run in (session.run, failed_run, defend_only_run):
        session.show(run)
        tiles = re.findall(r"class='(\w+)' data-view='(\d+)' data-at='([-.\de]+)'", columns_html(session))
        assert sorted(int(view) for _, view, _ in tiles) == list(range(64))
        at = [float(place) for *_, place in tiles]
        assert at == sorted(at)
        says = sum(kind == "reference" for kind, *_ in tiles)
        assert says == (run.attacked.trace.confidence.label == run.label).sum()
        fits = sum(place > 0 for place in at)
        assert f"{fits} fit motorbike</b>" in columns_html(session)
        assert f"aria-label='{fits} of 64 crops fit motorbike better" in columns_html(session)


def test_the_headline_says_the_answer_with_a_number_and_what_differs(
    tab, visitor, session, failed_run, defend_only_run
) -> None:
    assert headline(Session()) == "There is no run yet: run a picture in the Story."
    right, wrong = "<b class='truth'>motorbike</b>", "<b class='wrong'>crab ✗</b>"
    margin = session.run.attacked.verdicts["rita"].margin
    assert headline(session).endswith(
        f" crops still fit motorbike better; RITA answers {right}, ahead by {margin:.3f}."
    )
    session.show(replace(session.run, label_given=False))
    assert "fit motorbike better than crab; RITA answers <b class=''>motorbike</b>" in headline(session)
    assert "Choose the true class" in notes(session)
    session.show(failed_run)
    behind = failed_run.attacked.trace.total[0] - failed_run.attacked.trace.total.min()
    assert headline(session).endswith(f"RITA answers {wrong}, behind by {behind:.3f}.")
    session.show(defend_only_run)
    answer = NAMES[defend_only_run.attacked.verdicts["rita"].label]
    assert re.fullmatch(
        rf"\d+ of 64 crops says? <b class=''>{answer}</b>; RITA agrees, ahead by [\d.]+\.", headline(session)
    )
    session.inside.awaited = "The run"
    assert headline(session) == "The run is being computed …"


def test_the_headline_of_a_what_if_says_what_changed(tab, visitor, session) -> None:
    view, old = shown_view(session), session.run.attacked.verdicts["rita"].margin
    tab.on_toggle("view")(visitor)
    new = session.displayed_run.attacked.verdicts["rita"].margin
    digits = 3 if f"{new:.3f}" != f"{old:.3f}" else 4
    said = f"ahead by {new:.{digits}f} instead of {old:.{digits}f}."
    assert headline(session) == f"Without crop {view} RITA still answers <b class='truth'>motorbike</b>, {said}"
    assert "The lead of the true class" in effect(session)
    assert notes(session) == ""
    tab.on_setting("cache_weight")(visitor, 1.5)
    assert headline(session).startswith("With 2 changes RITA still answers")
    assert (
        f"What if: Weight of the memory α 1.5 instead of 0.1; without crop {view}."
        in what_if.changes_from_preset_html(session)
    )
    tab.on_undo(visitor)
    assert session.displayed_run is session.run
    tab.on_undo(visitor)
    assert session.displayed_run is session.run, "pressed again it stays there"


def test_a_changed_setting_updates_headline_crops_costs_and_plan_first(tab, visitor, session) -> None:
    first = {c.elem_id for c in tab.on_setting("cache_weight")(visitor, 1.5)}
    assert first == {"notice", "inside-headline", "in-views", "in-crop", "in-costs", "in-plan", "in-cell", "signal"}
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
        assert now["visible"]
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
    assert (now["value"], now["visible"]) == ("Back to the run", False)


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
    session.inside.open_folds = frozenset({"memory-fold"})
    first = chosen(tab, visitor, memory_k=memory_k, slot=slot, moment=moment)
    assert any(c.elem_id == "in-items" for c in drawn(tab, session, first))
    assert cache_used.selected_slot(session) == (k, 1)
    assert np.array_equal(session.history.feature[session.selected_item], session.run.cache_before.features[k, 1])
    redrawn = {c.elem_id: value for c, value in open_room(tab, visitor, "memory").items()}
    assert redrawn["happened"] == panels.happened(session)
    tab.on_toggle("item")(visitor)
    assert f"Without stored view 1 of {NAMES[k]} RITA" in headline(session)
    assert "left out" in cache_used.class_cards(session)
    seen = session.displayed_run.attacked.trace.cache
    assert seen.count[k] == session.run.cache_before.count[k] - 1
    tab.on_toggle("item")(visitor)
    assert session.displayed_run is session.run


def test_a_fold_is_drawn_only_while_it_is_open(tab, visitor, session) -> None:
    (fold,) = (fold for fold in tab.folds if fold.name == "tuning-fold")
    event = SimpleNamespace(target=fold.accordion)
    figures = tab.on_expand(visitor, event)
    assert sorted(v.layout.meta["kind"] for v in figures.values()) == ["before_after", "entropy_change"]
    tab.on_collapse(visitor, event)
    updates = drawn(tab, session, chosen(tab, visitor, view=3))
    (entropies,) = (one for one in figures if one.elem_id == "in-entropy-change")
    assert "value" not in updates[entropies]


def test_a_crop_that_is_left_out_is_struck_through(tab, visitor, session) -> None:
    for view in (0, int(session.run.attacked.trace.confidence.entropy.argmax())):
        session.selection = Selection(k=0, view=view)
        shown = drawn(tab, session, tab.on_toggle("view")(visitor))[tab.parts["columns"]]["value"]
        (button,) = re.findall(rf"<button[^>]*data-view='{view}'[^>]*>", shown)
        assert " out'" in button
        assert "left out" in button
        assert "left out" in details.crop_details(session)
        tab.on_back(visitor)
    assert " out'" not in open_room(tab, visitor)[tab.parts["columns"]]["value"]
