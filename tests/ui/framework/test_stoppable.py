"""A long job and its stop button: it ends at its next yield, sets the final status, and nothing follows it."""

from collections.abc import Iterator
from typing import Any

import gradio as gr
import pytest

from rita_demo.ui.framework import notice
from rita_demo.ui.framework.stoppable import STOPPING, Finished, StoppableJob
from rita_demo.ui.inside.tab import InsideTab

STOPPED_TEXT = notice.done_html("Stopped.")
SHOWN, HIDDEN = (gr.update(visible=visible, value="Stop", interactive=True) for visible in (True, False))


class Job:
    """A job of three steps with its stop button, for one visitor."""

    def __init__(self, context: Any, name: str = "stop-it") -> None:
        self.context, self.status, self.closed, self.visitor = context, context.status, 0, context.sessions.open()
        with gr.Blocks() as page:
            for part in (context.visitor, context.status, context.error_banner):
                part.render()
            self.button = gr.Button("Stop", elem_id=name)
            stopped, counted = {context.status: STOPPED_TEXT}, context.activity.track_job
            self.jobs = StoppableJob(context, self.button, lambda _: stopped, counted)
        (self.press,) = [one.fn for one in page.fns.values() if one.fn]

    def work(self, visitor: Any) -> Iterator[dict[Any, Any]]:
        try:
            for step in range(3):
                yield {self.status: f"step {step}"}
            yield Finished({self.status: "all is computed"})
            yield {self.status: "and drawn"}
        finally:
            self.closed += 1

    def start(self, visitor: str = "", **options: Any) -> Iterator[dict[Any, Any]]:
        return self.jobs.handler(self.work, **options)(visitor or self.visitor)

    def stop(self, visitor: str = "") -> dict[Any, Any]:
        """What the stop button answers: nothing that the status line says, or that hides or shows the button."""
        answer = self.press(visitor or self.visitor)
        assert self.status not in answer
        assert "visible" not in answer.get(self.button, {})
        return answer

    def assert_nothing_follows(self) -> None:
        assert list(self.start(follows=True)) == [{self.context.error_banner: gr.skip()}]


@pytest.fixture
def job(inside_tab: InsideTab) -> Job:
    return Job(inside_tab.context)


def test_a_running_job_shows_its_stop_button(job: Job) -> None:
    steps = job.start()
    assert next(steps)[job.button] == SHOWN
    assert job.context.activity.running_jobs == 1
    *updates, last = steps
    assert [one[job.status] for one in updates] == ["step 0", "step 1", "step 2", "all is computed", "and drawn"]
    assert last[job.button] == HIDDEN
    assert job.context.activity.running_jobs == 0


@pytest.mark.parametrize("steps_before", [3])
def test_a_stopped_job_sets_the_final_status_and_runs_no_follow_up(job: Job, steps_before: int) -> None:
    steps = job.start()
    for _ in range(steps_before):
        next(steps)
    assert job.stop()[job.button]["value"] == STOPPING
    (last,) = steps
    assert (last[job.status], last[job.button]) == (STOPPED_TEXT, HIDDEN)
    assert job.context.activity.running_jobs == 0
    job.assert_nothing_follows()
    assert job.closed == 1, "what follows began although the job was stopped"


@pytest.mark.parametrize("steps_before", [4, 7])  # computed; ended
def test_a_stop_that_comes_when_all_is_computed_lets_it_be_drawn(job: Job, steps_before: int) -> None:
    steps = job.start()
    updates = [next(steps) for _ in range(steps_before)]
    assert (job.button in job.stop()) is (steps_before < 7)
    updates += steps
    assert [one.get(job.status) for one in updates[-3:-1]] == ["all is computed", "and drawn"]
    job.assert_nothing_follows()


def test_other_sessions_other_buttons_and_later_jobs_are_not_affected(job: Job) -> None:
    other, elsewhere = job.start(job.context.sessions.open()), Job(job.context, "another").start(job.visitor)
    next(other), next(elsewhere)
    job.stop()
    assert len(list(other)) == len(list(elsewhere)) == 6
    assert len(list(job.start())) == 7


def test_a_failed_job_releases_its_slot_and_hides_the_button(job: Job) -> None:
    def fails(visitor: Any) -> Iterator[dict[Any, Any]]:
        yield {job.status: "step 0"}
        raise RuntimeError("it broke")

    *_, last = job.jobs.handler(fails)(job.visitor)
    assert last[job.button] == HIDDEN
    assert notice.INTERNAL_ERROR in last[job.context.error_banner]
    assert job.context.activity.running_jobs == 0
    assert not job.context.sessions.get(job.visitor).jobs.running["stop-it"]
