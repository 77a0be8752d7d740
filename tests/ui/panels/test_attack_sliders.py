"""Scrubbing through the attack with the fake engine: what moves in both tabs, and what it costs."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from rita_demo.pipeline.attack_steps import sampled_steps
from rita_demo.ui.background import attack_steps
from rita_demo.ui.background.attack_steps import ATTACK_STEPS_BYTES, BackgroundJobs, max_stored_steps
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.two_stage_update import TwoStageUpdate
from rita_demo.ui.inside import comparisons, what_if
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.panels import run_summary_bar, verdict_table
from rita_demo.ui.panels.attack_sliders import select_budget, select_step, stored_steps_note
from rita_demo.ui.session.session import HOME_TAB, Session, array_bytes
from tests.ui.conftest import both_updates, completed_run, make_inside_tab, open_tab
from tests.ui.fake_engine import FakeEngine

FIRST_TAB = (
    "pictures",
    "banner",
    "verdicts",
    "steps",
    "heading-views",
    "views",
    "entropies",
    "view-detail",
    "heading-costs",
    "costs",
    "plan",
    "cell-detail",
)
SECOND_TAB = (
    "in-scrubber",
    "inside-strip",
    "in-views-attacked",
    "in-entropies-attacked",
    "in-costs",
    "in-plan-attacked",
    "in-mass-attacked",
    "in-cell",
)


def choose(select: Any, inside: InsideTab, session: Session, value: Any, tab: str = HOME_TAB) -> Updates:
    """A step or a budget as a visitor asks for it in that tab: what both events answer."""
    two_stage = TwoStageUpdate(inside.context, tab)

    def prepare(session: Session) -> None:
        return (
            inside.prepare(session) if tab == "inside" else inside.context.crop_views(session, session.selection.side)
        )

    return both_updates(two_stage, session, select(session, value, two_stage, prepare))


set_step, set_budget = partial(choose, select_step), partial(choose, select_budget)


class EncodingForbidden(FakeEngine):
    """A fake engine on which encoding can be forbidden."""

    forbidden = False

    def encode_views(self, *args: Any) -> Any:
        assert not self.forbidden, "scrubbing encoded something"
        return super().encode_views(*args)


@pytest.fixture(autouse=True)
def no_update_throttling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left unsaid because the last word was a moment ago."""
    monkeypatch.setattr(attack_steps, "UPDATE_INTERVAL", -1.0)


@pytest.fixture(scope="module")
def engine() -> EncodingForbidden:
    return EncodingForbidden(spread=0.2)


@pytest.fixture(scope="module")
def inside(engine: EncodingForbidden) -> InsideTab:
    return make_inside_tab(engine)


@pytest.fixture
def jobs(inside: InsideTab) -> BackgroundJobs:
    return BackgroundJobs(inside.context)


@pytest.fixture
def visitor(inside: InsideTab, engine: EncodingForbidden) -> str:
    """A visitor whose attacked picture was just defended, without any stored steps in between."""
    engine.forbidden = False
    run, name = completed_run(engine), inside.context.sessions.open()
    session = inside.context.sessions.get(name)
    session.show(run)
    inside.context.crop_views(session, "attacked")
    session.select(view=3, atom=1)
    session.inside.open_folds = frozenset({"entropy-fold", "mass-fold"})
    return name


@pytest.fixture
def session(inside: InsideTab, visitor: str) -> Session:
    return inside.context.sessions.get(visitor)


@pytest.fixture
def stepped(jobs: BackgroundJobs, session: Session) -> Session:
    """With every stored step."""
    list(jobs.attack_steps(session))
    return session


@pytest.fixture
def with_budgets(jobs: BackgroundJobs, stepped: Session) -> Session:
    """With the other budgets as well."""
    list(jobs.budget_steps(stepped))
    return stepped


def by_name(updates: dict[Any, Any]) -> dict[str, Any]:
    return {c.elem_id: value for c, value in updates.items()}


def test_attack_steps_arrive_one_by_one_with_progress(jobs: BackgroundJobs, session: Session) -> None:
    said = [by_name(update).get("steps-note", "") for update in jobs.attack_steps(session)]
    assert "0 of 6 steps are computed" in said[0]
    assert "4 of 6 steps" in said[4]
    assert "are computed" not in said[-1]
    assert [f.step for f in session.attack_steps] == [0, 1, 2, 3, 5, 7]
    assert set(session.crops) == {"clean", "attacked", "step 1", "step 2", "step 3", "step 5"}
    assert list(jobs.attack_steps(session)) == []  # once


def test_attack_steps_wait_while_a_run_is_computed(jobs: BackgroundJobs, session: Session) -> None:
    steps = jobs.attack_steps(session)
    next(steps)
    with jobs._context.activity.track_job():
        next(steps), next(steps)
        assert session.attack_steps == ()
    next(steps)
    assert len(session.attack_steps) == 1


def test_background_work_of_an_earlier_run_stops_when_a_new_run_starts(
    jobs: BackgroundJobs, session: Session, engine: EncodingForbidden
) -> None:
    for work in (jobs.attack_steps(session), jobs.budget_steps(session)):
        next(work)
        session.show(completed_run(engine, label=1))
        assert list(work) == []
    assert (session.attack_steps, session.budget_variants) == ((), {})


def test_changing_the_step_updates_the_first_tab_and_encodes_nothing(
    inside: InsideTab, stepped: Session, engine: EncodingForbidden
) -> None:
    engine.forbidden = True
    shown = {step: by_name(set_step(inside, stepped, step)) for step in (1, 5)}
    for name in FIRST_TAB:
        assert str(shown[1][name]) != str(shown[5][name]), name
    assert shown[5].keys().isdisjoint({"heading-memory", "memory-holds"})
    now = stepped.run_at_step
    assert now is not None
    assert now.step == 5
    assert "attacked, step 5 of 7" in verdict_table.table(stepped)
    assert "Step 5 of 7." in verdict_table.banner(stepped)
    bars = shown[5]["entropies"].data
    heights = sorted(float(y) for bar in bars if bar.name != "pick" for y in bar.y)
    assert heights == pytest.approx(sorted(stepped.attack_steps[4].image_result.trace.confidence.entropy))


def test_changing_the_step_updates_the_attacked_side_inside_rita_and_encodes_nothing(
    inside: InsideTab, stepped: Session, engine: EncodingForbidden, visitor: str
) -> None:
    open_tab(inside, visitor)
    engine.forbidden = True
    shown = {step: by_name(set_step(inside, stepped, step, "inside")) for step in (1, 5)}
    for name in SECOND_TAB:
        assert str(shown[1][name]) != str(shown[5][name]), name
    assert "attacked, step 5 of 7" in run_summary_bar.summary_bar(stepped)
    assert "views" not in shown[5]  # the first tab is drawn when it is seen again
    assert (
        by_name(inside.context.panels.open_tab(stepped, HOME_TAB))["views"]
        == by_name(inside.context.panels.redraw(stepped, "step"))["views"]
    )
    for name in ("in-views-clean", "in-entropies-clean"):
        assert str(shown[1][name]) == str(shown[5][name]), name


def test_first_and_last_step_equal_the_run(inside: InsideTab, stepped: Session) -> None:
    set_step(inside, stepped, 0)
    now, run = stepped.run_at_step, stepped.run
    assert now is not None
    assert run is not None
    assert now.attacked is run.clean
    assert stepped.crops_of("attacked") is stepped.crops["clean"]
    set_step(inside, stepped, 7)
    assert stepped.run_at_step is run
    assert stepped.crops_of("attacked") is stepped.crops["attacked"]


def test_a_missing_step_is_reported_and_the_slider_does_not_move(inside: InsideTab, stepped: Session) -> None:
    updates = by_name(set_step(inside, stepped, 4))
    assert by_name(inside.context.panels.redraw(stepped, "inside", tab="inside"))["in-scrubber"]["value"] == 4
    assert "Step 4 is not kept: everything shows step 5, the nearest" in stored_steps_note(stepped)
    assert "Kept: steps 0, 1, 2, 3, 5 and 7 of 7." in stored_steps_note(stepped)
    assert updates["field"]["step"] == 5


def test_rows_and_scales_are_constant_across_steps(inside: InsideTab, stepped: Session) -> None:
    figures = [by_name(set_step(inside, stepped, step))["costs"] for step in (0, 2, 5, 7)]
    assert len({str(f.layout.xaxis.range) for f in figures}) == 1
    assert len({str(f.layout.yaxis.ticktext) for f in figures}) == 1


def test_a_what_if_applies_to_the_selected_step(
    inside: InsideTab, stepped: Session, engine: EncodingForbidden, visitor: str
) -> None:
    open_tab(inside, visitor)
    assert stepped.run is not None
    wanted = stepped.run.settings.replace(entropy_weight=0.1)
    what_if.change(engine, stepped, settings=wanted)
    set_step(inside, stepped, 2, "inside")
    seen = stepped.displayed_run
    assert seen is not None
    assert (seen.step, seen.settings) == (2, wanted)
    side = stepped.attack_steps[2].image_result
    trace, _ = engine.decide(side.encoded_views, seen.class_prompts, seen.cache_before, wanted)
    assert np.allclose(seen.attacked.trace.total, trace.total)
    comparisons.pin(stepped)
    assert stepped.inside.pinned is not None
    assert "step 2 of 7" in stepped.inside.pinned.title


def test_a_what_if_applies_when_its_tab_is_reopened(
    inside: InsideTab, stepped: Session, engine: EncodingForbidden, visitor: str
) -> None:
    open_tab(inside, visitor)
    what_if.change(engine, stepped, label=2)
    open_tab(inside, visitor, HOME_TAB)
    set_step(inside, stepped, 3)
    open_tab(inside, visitor)
    assert stepped.inside.what_if.run is not None
    assert stepped.inside.what_if.run.step == 3


@pytest.mark.parametrize("step", ["3", None, float("nan"), float("inf"), 1e300, [1], {}])
def test_a_forged_step_changes_nothing(inside: InsideTab, session: Session, step: Any) -> None:
    before = session.selection
    assert set_step(inside, session, step) == {}
    assert session.selection == before


@pytest.mark.parametrize(("step", "asked"), [(-3, 0), (99, 7), (2.6, 3), (True, 1)])
def test_a_step_out_of_range_is_clipped(inside: InsideTab, session: Session, step: Any, asked: int) -> None:
    set_step(inside, session, step)
    assert session.selection.step == asked


@pytest.mark.parametrize(
    ("record", "steps"),
    [
        (1, 6),
        (ATTACK_STEPS_BYTES // 4, 6),
        (ATTACK_STEPS_BYTES // 3, 5),
        (ATTACK_STEPS_BYTES, 3),
        (ATTACK_STEPS_BYTES + 1, 2),
    ],
)
def test_a_session_stores_fewer_steps_when_each_is_large(record: int, steps: int) -> None:
    assert max_stored_steps(record, 0) == steps
    assert (len(sampled_steps(100, steps)) - 2) * record <= ATTACK_STEPS_BYTES


def test_attack_steps_stay_within_their_byte_limit_and_are_counted(jobs: BackgroundJobs, session: Session) -> None:
    before = session.size_bytes()
    list(jobs.attack_steps(session))
    added = session.size_bytes() - before
    one = array_bytes(session.attack_steps[2].image_result) + session.crops["step 2"].nbytes
    assert one < added <= ATTACK_STEPS_BYTES + session.crops["clean"].nbytes


def test_other_budgets_are_computed_in_order_and_selectable(jobs: BackgroundJobs, stepped: Session) -> None:
    offered = []
    for update in jobs.budget_steps(stepped):
        radio = by_name(update).get("budget-shown")
        if radio is not None:
            offered.append([value for _, value in radio["choices"]])
    assert offered == [[1, 4], [1, 2, 4], [1, 2, 4, 8]]
    assert stepped.run is not None
    assert stepped.run.settings.budget == 4
    assert list(jobs.budget_steps(stepped)) == []  # once


def test_changing_the_budget_updates_every_panel_and_encodes_nothing(
    inside: InsideTab, with_budgets: Session, engine: EncodingForbidden, visitor: str
) -> None:
    run = with_budgets.run
    engine.forbidden = True
    shown = {n: by_name(set_budget(inside, with_budgets, n)) for n in (1, 8)}
    for name in {*FIRST_TAB, "threat"} - {"heading-costs"}:  # RITA holds at both
        assert str(shown[1][name]) != str(shown[8][name]), name
    engine.forbidden = False
    open_tab(inside, visitor)
    for n in (1, 8):
        set_budget(inside, with_budgets, n, "inside")  # makes the views that were not displayed before
    engine.forbidden = True
    shown = {n: by_name(set_budget(inside, with_budgets, n, "inside")) for n in (1, 8)}
    for name in SECOND_TAB:
        if name != "in-scrubber":
            assert str(shown[1][name]) != str(shown[8][name]), name
    set_budget(inside, with_budgets, 4, "inside")
    assert with_budgets.run is run
    assert sorted(with_budgets.budget_variants) == [1, 2, 8]


def test_changing_the_budget_keeps_step_selection_and_memory(inside: InsideTab, with_budgets: Session) -> None:
    set_step(inside, with_budgets, 3)
    selection, history = with_budgets.selection, with_budgets.history
    set_budget(inside, with_budgets, 8)
    assert with_budgets.selection == selection
    assert with_budgets.history is history
    assert with_budgets.run_at_step is not None
    assert (with_budgets.run_at_step.step, with_budgets.run_at_step.settings.budget) == (3, 8)
    assert with_budgets.run_at_step.attack is not None
    assert with_budgets.run_at_step.attack.linf == 8


def test_a_what_if_applies_to_the_selected_budget(
    inside: InsideTab, with_budgets: Session, engine: EncodingForbidden, visitor: str
) -> None:
    open_tab(inside, visitor)
    assert with_budgets.run is not None
    what_if.change(engine, with_budgets, settings=with_budgets.run.settings.replace(entropy_weight=0.3))
    set_budget(inside, with_budgets, 8, "inside")
    result = with_budgets.inside.what_if.run
    assert result is not None
    assert result.attack is with_budgets.run.attack
    assert (result.settings.budget, result.settings.entropy_weight) == (8, 0.3)
    assert what_if.differing(with_budgets)
    assert "0.3" in what_if.differing(with_budgets)[0]


@pytest.mark.slow
@pytest.mark.parametrize("sent", [3, 4.5, "8", None, -1, 10**9, True, float("nan"), [8]])
def test_a_missing_budget_changes_nothing(inside: InsideTab, with_budgets: Session, sent: Any) -> None:
    with_budgets.budget_variants.pop(1)
    before = with_budgets.run
    assert set_budget(inside, with_budgets, sent) == {}
    assert with_budgets.run is before


def test_fast_results_are_shown_in_a_single_update(
    jobs: BackgroundJobs, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack_steps, "UPDATE_INTERVAL", 3600.0)
    first, last = list(jobs.attack_steps(session))
    assert "0 of 6 steps" in str(by_name(first))
    assert [f.step for f in session.attack_steps] == [0, 1, 2, 3, 5, 7]
    (only,) = list(jobs.budget_steps(session))
    assert sorted(session.budget_variants) == [1, 2, 8]
    assert by_name(only).keys() == by_name(first).keys()
    assert "are computed" not in str(by_name(last))
