"""A long job and its stop button: it ends at its next yield, has the last word, and nothing follows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr
import pytest

from rita_demo.ui import notice
from rita_demo.ui.inside import Inside
from rita_demo.ui.stopping import STOPPING, Stoppable
from tests.ui.conftest import inside_tab
from tests.ui.fake import FakeEngine

SAID = notice.done("Stopped.")


@pytest.fixture(scope="module")
def inside() -> Inside:
    return inside_tab(FakeEngine(spread=0.2))


class Bench:
    """One button on a page, and what the jobs' work has come to."""

    def __init__(self, inside: Inside) -> None:
        self.desk = inside.desk
        self.closed = 0
        with gr.Blocks() as page:
            for part in (self.desk.visitor, self.desk.status, self.desk.notice):
                part.render()
            self.button = gr.Button("Stop", elem_id="stop-it")
            self.jobs = Stoppable(
                self.desk, self.button, lambda _: {self.desk.status: SAID}, self.desk.turns.taken
            )
        (self.press,) = [one.fn for one in page.fns.values() if one.fn]
        self.visitor = self.desk.sessions.open()

    def work(self, visitor: Any) -> Iterator[dict[Any, Any]]:
        try:
            for step in range(3):
                yield {self.desk.status: f"step {step}"}
        finally:
            self.closed += 1

    def hidden(self, update: dict[Any, Any]) -> bool:
        return update[self.button] == gr.update(visible=False)


@pytest.fixture
def bench(inside: Inside) -> Bench:
    return Bench(inside)


def test_a_job_that_nobody_stops_shows_the_button_while_it_runs(bench: Bench) -> None:
    steps = bench.jobs.job(bench.work)(bench.visitor)
    first = next(steps)
    assert first[bench.button] == gr.update(visible=True)
    assert bench.desk.turns.busy == 1
    *told, last = steps
    assert [one[bench.desk.status] for one in told] == ["step 0", "step 1", "step 2"]
    assert bench.hidden(last)
    assert bench.desk.turns.busy == 0


def test_a_stopped_job_has_the_last_word_and_nothing_follows_it(bench: Bench) -> None:
    steps = bench.jobs.job(bench.work)(bench.visitor)
    next(steps), next(steps)
    answer = bench.press(bench.visitor)
    assert STOPPING in answer[bench.desk.status]
    assert bench.hidden(answer)
    (last,) = steps
    assert last[bench.desk.status] == SAID
    assert bench.hidden(last)
    assert bench.closed == 1
    assert bench.desk.turns.busy == 0
    followed = list(bench.jobs.after(bench.work)(bench.visitor))
    assert followed == [{bench.desk.notice: gr.skip()}]
    assert bench.closed == 1, "what follows began although the job was stopped"


def test_a_stop_after_the_last_step_is_told_and_holds_for_what_follows(bench: Bench) -> None:
    steps = bench.jobs.job(bench.work)(bench.visitor)
    for _ in range(4):
        next(steps)
    assert STOPPING in bench.press(bench.visitor)[bench.desk.status]
    (last,) = steps
    assert last[bench.desk.status] == SAID, "it would say for ever that it is stopping"
    assert list(bench.jobs.after(bench.work)(bench.visitor)) == [{bench.desk.notice: gr.skip()}]


def test_what_follows_a_finished_job_runs_and_can_be_stopped(bench: Bench) -> None:
    list(bench.jobs.job(bench.work)(bench.visitor))
    steps = bench.jobs.after(bench.work)(bench.visitor)
    next(steps), next(steps)
    bench.press(bench.visitor)
    assert [one[bench.desk.status] for one in steps] == [SAID]


def test_stopping_what_has_ended_says_nothing_and_holds_for_no_later_job(bench: Bench) -> None:
    list(bench.jobs.job(bench.work)(bench.visitor))
    answer = bench.press(bench.visitor)
    assert bench.desk.status not in answer
    assert bench.hidden(answer)
    assert len(list(bench.jobs.job(bench.work)(bench.visitor))) == 5


def test_other_visitors_and_other_buttons_are_left_alone(bench: Bench, inside: Inside) -> None:
    other = bench.desk.sessions.open()
    steps = bench.jobs.job(bench.work)(other)
    next(steps)
    elsewhere = Bench(inside)
    elsewhere.jobs._name = "another"
    running = elsewhere.jobs.job(elsewhere.work)(bench.visitor)
    next(running)
    bench.press(bench.visitor)
    assert len(list(steps)) == 4
    assert len(list(running)) == 4


def test_a_job_that_fails_gives_its_turn_back_and_hides_the_button(bench: Bench) -> None:
    def fails(visitor: Any) -> Iterator[dict[Any, Any]]:
        yield {bench.desk.status: "step 0"}
        raise RuntimeError("it broke")

    *_, last = bench.jobs.job(fails)(bench.visitor)
    assert bench.hidden(last)
    assert notice.SURPRISE in last[bench.desk.notice]
    assert bench.desk.turns.busy == 0
    assert not bench.desk.sessions.get(bench.visitor).jobs["stop-it"]
