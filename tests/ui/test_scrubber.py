"""Scrubbing through the attack with the fake engine: what moves in both tabs, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rita_demo.film import kept_steps
from rita_demo.ui import background, compare, thread, verdicts, what_if
from rita_demo.ui.attack_defend import returned
from rita_demo.ui.board import HOME, Updates
from rita_demo.ui.in_turn import InTurn
from rita_demo.ui.inside import Inside
from rita_demo.ui.reels import FILM_BYTES, steps_that_fit
from rita_demo.ui.running import Jobs
from rita_demo.ui.scrubber import look_at, look_at_strength, note
from rita_demo.ui.sessions import Session, measured
from tests.ui.conftest import inside_tab, told, whole
from tests.ui.fake import FakeEngine

FIRST_TAB = (
    "pictures", "banner", "verdicts", "steps", "heading-views", "views", "entropies",
    "view-detail", "heading-costs", "costs", "plan", "cell-detail",
)  # fmt: skip
SECOND_TAB = (
    "in-scrubber", "inside-strip", "in-views-attacked", "in-entropies-attacked", "in-costs",
    "in-cost-attacked", "in-plan-attacked", "in-mass-attacked", "in-cell",
)  # fmt: skip


def look(inside: Inside, session: Session, step: Any, tab: str = HOME) -> Updates:
    """The step as a visitor asks for it in that tab: what both events answer."""
    in_turn = InTurn(inside.desk, tab)
    return whole(in_turn, session, look_at(inside.desk, session, step, in_turn))


def stronger(inside: Inside, session: Session, budget: Any, tab: str = HOME) -> Updates:
    """The same for a strength."""
    in_turn = InTurn(inside.desk, tab)
    return whole(in_turn, session, look_at_strength(inside.desk, session, budget, in_turn))


class Deaf(FakeEngine):
    """Encodes until it is told not to."""

    asleep = False

    def look(self, *args: Any) -> Any:
        assert not self.asleep, "scrubbing encoded something"
        return super().look(*args)


@pytest.fixture(autouse=True)
def every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left unsaid because the last word was a moment ago."""
    monkeypatch.setattr(background, "RARELY", -1.0)


@pytest.fixture(scope="module")
def engine() -> Deaf:
    return Deaf(spread=0.2)


@pytest.fixture(scope="module")
def inside(engine: Deaf) -> Inside:
    return inside_tab(engine)


@pytest.fixture
def jobs(inside: Inside) -> Jobs:
    return Jobs(inside.desk, None, [])


@pytest.fixture
def visitor(inside: Inside, engine: Deaf) -> str:
    """Somebody whose attack has just been defended; the steps between have not been looked at."""
    engine.asleep = False
    story, name = told(engine), inside.desk.sessions.open()
    session = inside.desk.sessions.get(name)
    session.show(story)
    inside.desk.cut_views(session, "attacked")
    session.select(view=3, atom=1)
    return name


@pytest.fixture
def session(inside: Inside, visitor: str) -> Session:
    return inside.desk.sessions.get(visitor)


def by_name(updates: dict[Any, Any]) -> dict[str, Any]:
    return {c.elem_id: value for c, value in updates.items()}


def test_the_film_comes_step_by_step_and_says_how_far_it_is(jobs: Jobs, session: Session) -> None:
    said = [by_name(update).get("scrubber-note", "") for update in jobs.behind.film(session)]
    assert "0 of 6 steps have been looked at" in said[0]
    assert "4 of 6 steps" in said[4]
    assert "looked at" not in said[-1]
    assert [f.step for f in session.film] == [0, 1, 2, 3, 5, 7]
    assert set(session.crops) == {"clean", "attacked", "step 1", "step 2", "step 3", "step 5"}
    assert list(jobs.behind.film(session)) == []  # once


def test_the_film_waits_while_somebodys_picture_is_being_computed(
    jobs: Jobs, session: Session
) -> None:
    film = jobs.behind.film(session)
    next(film)
    with jobs.behind._desk.turns.taken():
        next(film), next(film)
        assert session.film == ()
    next(film)
    assert len(session.film) == 1


def test_a_film_of_an_earlier_picture_ends_when_another_one_comes(
    jobs: Jobs, session: Session, engine: Deaf
) -> None:
    film = jobs.behind.film(session)
    next(film), next(film)
    session.show(told(engine, label=1))
    assert list(film) == []
    assert session.film == ()


def test_scrubbing_moves_every_panel_of_the_first_tab_and_encodes_nothing(
    inside: Inside, jobs: Jobs, session: Session, engine: Deaf
) -> None:
    list(jobs.behind.film(session))
    engine.asleep = True
    shown = {step: by_name(look(inside, session, step)) for step in (1, 5)}
    for name in FIRST_TAB:
        assert str(shown[1][name]) != str(shown[5][name]), name
    now = session.now
    assert now is not None
    assert now.step == 5
    assert "attacked, step 5 of 7" in verdicts.table(session)
    assert "Step 5 of 7." in verdicts.banner(session)
    bars = shown[5]["entropies"].data
    heights = sorted(float(y) for bar in bars if bar.name != "pick" for y in bar.y)
    assert heights == pytest.approx(sorted(session.film[4].side.trace.confidence.entropy))


def test_scrubbing_moves_the_attacked_side_inside_rita_and_encodes_nothing(
    inside: Inside, jobs: Jobs, session: Session, engine: Deaf, visitor: str
) -> None:
    list(jobs.behind.film(session))
    inside.opened(visitor)
    engine.asleep = True
    shown = {step: by_name(look(inside, session, step, "inside")) for step in (1, 5)}
    for name in SECOND_TAB:
        assert str(shown[1][name]) != str(shown[5][name]), name
    assert "attacked, step 5 of 7" in thread.strip(session)
    assert "views" not in shown[5]  # the first tab is drawn when it is seen again
    assert (
        by_name(returned(inside.desk, visitor))["views"]
        == by_name(inside.desk.board.redraw(session, "step"))["views"]
    )
    for name in ("in-views-clean", "in-entropies-clean"):
        assert str(shown[1][name]) == str(shown[5][name]), name


def test_both_ends_are_the_run_itself(inside: Inside, jobs: Jobs, session: Session) -> None:
    list(jobs.behind.film(session))
    look(inside, session, 0)
    now, story = session.now, session.story
    assert now is not None
    assert story is not None
    assert now.attacked is story.clean
    assert session.crops_of("attacked") is session.crops["clean"]
    look(inside, session, 7)
    assert session.now is story
    assert session.crops_of("attacked") is session.crops["attacked"]


def test_a_step_that_is_not_kept_says_so_and_the_slider_stays_where_it_is(
    inside: Inside, jobs: Jobs, session: Session
) -> None:
    list(jobs.behind.film(session))
    updates = by_name(look(inside, session, 4))
    assert by_name(inside.desk.board.redraw(session, "inside"))["in-scrubber"]["value"] == 4
    assert "Step 4 is not kept: everything shows step 5, the nearest" in note(session)
    assert "Kept: steps 0, 1, 2, 3, 5 and 7 of 7." in note(session)
    assert updates["scrubber"]["value"] == 4


def test_no_row_and_no_scale_jumps_from_step_to_step(
    inside: Inside, jobs: Jobs, session: Session
) -> None:
    list(jobs.behind.film(session))
    figures = [by_name(look(inside, session, step))["costs"] for step in (0, 2, 5, 7)]
    assert len({str(f.layout.xaxis.range) for f in figures}) == 1
    assert len({str(f.layout.yaxis.ticktext) for f in figures}) == 1


def test_a_what_if_follows_to_the_step(
    inside: Inside, jobs: Jobs, session: Session, engine: Deaf, visitor: str
) -> None:
    list(jobs.behind.film(session))
    inside.opened(visitor)
    assert session.story is not None
    wanted = session.story.settings.but(entropy_weight=0.1)
    what_if.change(engine, session, settings=wanted)
    look(inside, session, 2, "inside")
    seen = what_if.seen(session)
    assert seen is not None
    assert (seen.step, seen.settings) == (2, wanted)
    side = session.film[2].side
    trace, _ = engine.decide(side.glance, seen.bank, seen.cache_before, wanted)
    assert np.allclose(seen.attacked.trace.total, trace.total)
    compare.pin(session)
    assert session.pinned is not None
    assert "step 2 of 7" in session.pinned.title


def test_a_what_if_follows_when_its_tab_is_opened_again(
    inside: Inside, jobs: Jobs, session: Session, engine: Deaf, visitor: str
) -> None:
    list(jobs.behind.film(session))
    inside.opened(visitor)
    what_if.change(engine, session, label=2)
    inside.left(visitor)
    look(inside, session, 3)
    inside.opened(visitor)
    assert session.what_if.story is not None
    assert session.what_if.story.step == 3


@pytest.mark.slow
def test_the_memory_and_its_history_stay_the_delivered_pictures(
    inside: Inside, jobs: Jobs, session: Session
) -> None:
    history, story = session.history, session.story
    list(jobs.behind.film(session))
    look(inside, session, 2)
    assert session.history is history
    assert session.story is story
    assert by_name(look(inside, session, 3)).keys().isdisjoint({"heading-memory", "memory-holds"})


@pytest.mark.parametrize("step", ["3", None, float("nan"), float("inf"), 1e300, [1], {}])
def test_a_forged_step_changes_nothing(inside: Inside, session: Session, step: Any) -> None:
    before = session.selection
    assert look(inside, session, step) == {}
    assert session.selection == before


@pytest.mark.parametrize(("step", "asked"), [(-3, 0), (99, 7), (2.6, 3), (True, 1)])
def test_a_step_out_of_range_is_brought_into_it(
    inside: Inside, session: Session, step: Any, asked: int
) -> None:
    look(inside, session, step)
    assert session.selection.step == asked


@pytest.mark.parametrize(("record", "steps"), [(1, 6), (FILM_BYTES // 4, 6), (FILM_BYTES // 3, 5), (FILM_BYTES, 3), (FILM_BYTES + 1, 2)])  # fmt: skip
def test_a_visitor_keeps_fewer_steps_when_each_is_large(record: int, steps: int) -> None:
    assert steps_that_fit(record, 0) == steps
    assert (len(kept_steps(100, steps)) - 2) * record <= FILM_BYTES


def test_the_film_stays_within_its_bytes_and_is_counted(jobs: Jobs, session: Session) -> None:
    before = session.bytes()
    list(jobs.behind.film(session))
    added = session.bytes() - before
    one = measured(session.film[2].side) + session.crops["step 2"].nbytes
    assert one < added <= FILM_BYTES + session.crops["clean"].nbytes


def with_strengths(jobs: Jobs, session: Session) -> None:
    list(jobs.behind.film(session))
    list(jobs.behind.strengths(session))


def test_other_strengths_come_one_after_the_other_and_are_offered(
    jobs: Jobs, session: Session
) -> None:
    list(jobs.behind.film(session))
    offered = []
    for update in jobs.behind.strengths(session):
        radio = by_name(update).get("strength-shown")
        if radio is not None:
            offered.append([value for _, value in radio["choices"]])
    assert offered == [[1, 4], [1, 2, 4], [1, 2, 4, 8]]
    assert session.story is not None
    assert session.story.settings.budget == 4
    assert list(jobs.behind.strengths(session)) == []  # once


def test_a_strength_moves_every_panel_and_encodes_nothing(
    inside: Inside, jobs: Jobs, session: Session, engine: Deaf, visitor: str
) -> None:
    with_strengths(jobs, session)
    run = session.story
    engine.asleep = True
    shown = {n: by_name(stronger(inside, session, n)) for n in (1, 8)}
    for name in {*FIRST_TAB, "threat"} - {"heading-costs"}:  # RITA holds at both
        assert str(shown[1][name]) != str(shown[8][name]), name
    engine.asleep = False
    inside.opened(visitor)
    for n in (1, 8):
        stronger(inside, session, n, "inside")  # cuts what was not in sight so far
    engine.asleep = True
    shown = {n: by_name(stronger(inside, session, n, "inside")) for n in (1, 8)}
    for name in SECOND_TAB:
        if name != "in-scrubber":
            assert str(shown[1][name]) != str(shown[8][name]), name
    stronger(inside, session, 4, "inside")
    assert session.story is run
    assert sorted(session.reels) == [1, 2, 8]


def test_a_strength_leaves_step_selection_and_memory_as_they_are(
    inside: Inside, jobs: Jobs, session: Session
) -> None:
    with_strengths(jobs, session)
    look(inside, session, 3)
    selection, history = session.selection, session.history
    stronger(inside, session, 8)
    assert session.selection == selection
    assert session.history is history
    assert session.now is not None
    assert (session.now.step, session.now.settings.budget) == (3, 8)
    assert session.now.attack is not None
    assert session.now.attack.linf == 8


def test_a_what_if_follows_the_strength(
    inside: Inside, jobs: Jobs, session: Session, engine: Deaf, visitor: str
) -> None:
    with_strengths(jobs, session)
    inside.opened(visitor)
    assert session.story is not None
    what_if.change(engine, session, settings=session.story.settings.but(entropy_weight=0.3))
    stronger(inside, session, 8, "inside")
    told = session.what_if.story
    assert told is not None
    assert told.attack is session.story.attack
    assert (told.settings.budget, told.settings.entropy_weight) == (8, 0.3)
    assert what_if.differing(session)
    assert "0.3" in what_if.differing(session)[0]


def test_strengths_of_an_earlier_picture_are_not_kept(
    jobs: Jobs, session: Session, engine: Deaf
) -> None:
    list(jobs.behind.film(session))
    work = jobs.behind.strengths(session)
    next(work)
    session.show(told(engine, label=1))
    assert list(work) == []
    assert session.reels == {}


@pytest.mark.slow
@pytest.mark.parametrize("sent", [3, 4.5, "8", None, -1, 10**9, True, float("nan"), [8]])
def test_a_strength_that_is_not_kept_changes_nothing(
    inside: Inside, jobs: Jobs, session: Session, sent: Any
) -> None:
    with_strengths(jobs, session)
    session.reels.pop(1)
    before = session.story
    assert stronger(inside, session, sent) == {}
    assert session.story is before


def test_what_comes_quickly_is_told_at_once_and_whole(
    jobs: Jobs, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "RARELY", 3600.0)
    first, last = list(jobs.behind.film(session))
    assert "0 of 6 steps" in str(by_name(first))
    assert [f.step for f in session.film] == [0, 1, 2, 3, 5, 7]
    (only,) = list(jobs.behind.strengths(session))
    assert sorted(session.reels) == [1, 2, 8]
    assert by_name(only).keys() == by_name(first).keys()
    assert "looked at" not in str(by_name(last))
