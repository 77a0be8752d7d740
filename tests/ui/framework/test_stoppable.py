"""A long job and its stop button: it ends at its next yield, has the last word, and nothing follows it."""

from collections.abc import Iterator
from typing import Any

import gradio as gr
import pytest

from rita_demo.ui.framework import notice
from rita_demo.ui.framework.stoppable import STOPPING, StoppableJob
from rita_demo.ui.inside.tab import InsideTab
from tests.ui.conftest import make_inside_tab
from tests.ui.fake_engine import FakeEngine

STOPPED_TEXT = notice.done_html("Stopped.")


@pytest.fixture(scope="module")
def inside() -> InsideTab:
    return make_inside_tab(FakeEngine(spread=0.2))


class JobFixture:
    """One button on a page, and what the jobs' work has come to."""

    def __init__(self, inside: InsideTab) -> None:
        self.context = inside.context
        self.closed = 0
        with gr.Blocks() as page:
            for part in (self.context.visitor, self.context.status, self.context.error_banner):
                part.render()
            self.button = gr.Button("Stop", elem_id="stop-it")
            self.jobs = StoppableJob(
                self.context,
                self.button,
                lambda _: {self.context.status: STOPPED_TEXT},
                self.context.activity.track_job,
            )
        (self.press,) = [one.fn for one in page.fns.values() if one.fn]
        self.visitor = self.context.sessions.open()

    def work(self, visitor: Any) -> Iterator[dict[Any, Any]]:
        try:
            for step in range(3):
                yield {self.context.status: f"step {step}"}
        finally:
            self.closed += 1

    def hidden(self, update: dict[Any, Any]) -> bool:
        return update[self.button] == gr.update(visible=False)


@pytest.fixture
def job_fixture(inside: InsideTab) -> JobFixture:
    return JobFixture(inside)


def test_a_running_job_shows_its_stop_button(job_fixture: JobFixture) -> None:
    steps = job_fixture.jobs.handler(job_fixture.work)(job_fixture.visitor)
    first = next(steps)
    assert first[job_fixture.button] == gr.update(visible=True)
    assert job_fixture.context.activity.running_jobs == 1
    *updates, last = steps
    assert [one[job_fixture.context.status] for one in updates] == ["step 0", "step 1", "step 2"]
    assert job_fixture.hidden(last)
    assert job_fixture.context.activity.running_jobs == 0


def test_a_stopped_job_sets_the_final_status_and_runs_no_follow_up(job_fixture: JobFixture) -> None:
    steps = job_fixture.jobs.handler(job_fixture.work)(job_fixture.visitor)
    next(steps), next(steps)
    answer = job_fixture.press(job_fixture.visitor)
    assert STOPPING in answer[job_fixture.context.status]
    assert job_fixture.hidden(answer)
    (last,) = steps
    assert last[job_fixture.context.status] == STOPPED_TEXT
    assert job_fixture.hidden(last)
    assert job_fixture.closed == 1
    assert job_fixture.context.activity.running_jobs == 0
    followed = list(job_fixture.jobs.follow_up_handler(job_fixture.work)(job_fixture.visitor))
    assert followed == [{job_fixture.context.error_banner: gr.skip()}]
    assert job_fixture.closed == 1, "what follows began although the job was stopped"


def test_a_stop_after_the_last_step_is_reported_and_stops_the_follow_up(job_fixture: JobFixture) -> None:
    steps = job_fixture.jobs.handler(job_fixture.work)(job_fixture.visitor)
    for _ in range(4):
        next(steps)
    assert STOPPING in job_fixture.press(job_fixture.visitor)[job_fixture.context.status]
    (last,) = steps
    assert last[job_fixture.context.status] == STOPPED_TEXT, "it would say for ever that it is stopping"
    assert list(job_fixture.jobs.follow_up_handler(job_fixture.work)(job_fixture.visitor)) == [
        {job_fixture.context.error_banner: gr.skip()}
    ]


def test_the_follow_up_of_a_finished_job_runs_and_can_be_stopped(job_fixture: JobFixture) -> None:
    list(job_fixture.jobs.handler(job_fixture.work)(job_fixture.visitor))
    steps = job_fixture.jobs.follow_up_handler(job_fixture.work)(job_fixture.visitor)
    next(steps), next(steps)
    job_fixture.press(job_fixture.visitor)
    assert [one[job_fixture.context.status] for one in steps] == [STOPPED_TEXT]


def test_stopping_a_finished_job_does_not_affect_later_jobs(job_fixture: JobFixture) -> None:
    list(job_fixture.jobs.handler(job_fixture.work)(job_fixture.visitor))
    answer = job_fixture.press(job_fixture.visitor)
    assert job_fixture.context.status not in answer
    assert job_fixture.hidden(answer)
    assert len(list(job_fixture.jobs.handler(job_fixture.work)(job_fixture.visitor))) == 5


def test_other_sessions_and_other_buttons_are_not_affected(job_fixture: JobFixture, inside: InsideTab) -> None:
    other = job_fixture.context.sessions.open()
    steps = job_fixture.jobs.handler(job_fixture.work)(other)
    next(steps)
    elsewhere = JobFixture(inside)
    elsewhere.jobs._name = "another"
    running = elsewhere.jobs.handler(elsewhere.work)(job_fixture.visitor)
    next(running)
    job_fixture.press(job_fixture.visitor)
    assert len(list(steps)) == 4
    assert len(list(running)) == 4


def test_a_failed_job_releases_its_slot_and_hides_the_button(job_fixture: JobFixture) -> None:
    def fails(visitor: Any) -> Iterator[dict[Any, Any]]:
        yield {job_fixture.context.status: "step 0"}
        raise RuntimeError("it broke")

    *_, last = job_fixture.jobs.handler(fails)(job_fixture.visitor)
    assert job_fixture.hidden(last)
    assert notice.INTERNAL_ERROR in last[job_fixture.context.error_banner]
    assert job_fixture.context.activity.running_jobs == 0
    assert not job_fixture.context.sessions.get(job_fixture.visitor).jobs.running["stop-it"]
