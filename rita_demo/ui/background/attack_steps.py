"""Computed in the background after an answer: the attack's stored steps, and the attack with other budgets.

It waits while an answer of any visitor is computed.
"""

import time
from collections.abc import Generator, Iterator
from typing import Any

import gradio as gr

from rita_demo.pipeline import attack_steps as pipeline_steps
from rita_demo.pipeline import rerun
from rita_demo.records import Run
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.panels.picture_triptych import pictures_value
from rita_demo.ui.session.session import BudgetVariant, Session, array_bytes

ATTACK_STEPS_BYTES = 64 << 20  # memory of the stored steps, per visitor
AUTO_STEPS_SECONDS = 60.0  # attack steps that take longer are computed only when a button is pressed
AUTO_BUDGETS_SECONDS = 180.0  # the same for other budgets, which come last
#: Seconds between two updates of the page; each takes about 0.1 s.
UPDATE_INTERVAL = 0.5
STEP_TOPICS = ("step", "inside", "crops")
#: The timed stages of a run that are repeated for each stored step.
STEP_STAGES = ("views and encoding", "decision", "other methods")


def budget_variant_steps(engine: Any, run: Run, budget: int) -> Generator[object, None, BudgetVariant]:
    """The picture of ``run`` attacked with ``budget``/255, its stored steps, and its pictures and views for the screen;
    yields after every step of the work."""
    other = yield from rerun.at_budget_steps(engine, run, budget)
    most = max_stored_steps(array_bytes(other.attacked), 0)
    results = []
    for frame in pipeline_steps.attack_step_results(engine, other, most):
        results.append(frame)
        yield frame
    crops = {"attacked": engine.view_pixels(other.attacked.picture, other.settings)}
    shown = Session(run=other)
    pictures_value(shown)
    return BudgetVariant(other, tuple(results), crops, shown.image_cache)


def max_stored_steps(record: int, crops: int) -> int:
    """How many attack steps may be stored for a visitor, the first and the last included.

    Args:
        record: bytes of one result. crops: bytes of its views for the screen.
    """
    return min(pipeline_steps.MAX_STEPS, 2 + ATTACK_STEPS_BYTES // max(record + crops, 1))


class BackgroundJobs:
    """The two jobs."""

    def __init__(self, context: AppContext) -> None:
        self._context = context

    def attack_steps(self, session: Session) -> Iterator[Updates]:
        """Compute the attack's stored steps, and show them as they come."""
        run, panels = session.run, self._context.panels
        if run is None or run.attack is None or session.attack_steps or session.pending_steps:
            return
        engine = self._context.engine_of(session)
        most = max_stored_steps(array_bytes(run.attacked), session.crops["attacked"].nbytes)
        session.pending_steps = len(pipeline_steps.sampled_steps(pipeline_steps.last_step(run), most))
        yield panels.redraw(session, "attack_steps")
        frames = pipeline_steps.attack_step_results(engine, run, most)
        updated, moved = time.monotonic(), False
        try:
            for _ in range(session.pending_steps):
                yield from self._wait_until_idle()
                frame = next(frames)
                crops = session.crops.get(session.step_key(frame.step))
                if crops is None:
                    crops = engine.view_pixels(frame.image_result.picture, run.settings)
                with session.lock:
                    if session.run is not run:
                        return  # a new run has its own event
                    before = session.run_at_step
                    session.store_attack_step(frame, crops)
                    now = session.run_at_step
                moved = moved or before is None or now is None or now.step != before.step
                if session.pending_steps and time.monotonic() < updated + UPDATE_INTERVAL:
                    continue
                yield panels.redraw(session, "attack_steps", *(STEP_TOPICS if moved else ()))
                updated, moved = time.monotonic(), False
        finally:
            if session.run is run:
                session.pending_steps = 0

    def _wait_until_idle(self) -> Iterator[Updates]:
        """Wait until no answer is being computed."""
        for _ in self._context.activity.wait_until_idle():
            yield {self._context.status: gr.skip()}

    def budget_steps(self, session: Session) -> Iterator[Updates]:
        """Compute the attack on screen with the other budgets, each with its stored steps."""
        run, panels = session.run, self._context.panels
        if run is None or session.pending_steps:
            return
        engine, updated = self._context.engine_of(session), time.monotonic()
        for budget in rerun.other_budgets(run):
            if budget in session.budget_variants:
                continue
            work = budget_variant_steps(engine, run, budget)
            variant = None
            while variant is None:
                yield from self._wait_until_idle()
                if not session.same_picture(run):
                    return  # a new run has its own event
                try:
                    next(work)
                except StopIteration as end:
                    variant = end.value
                if time.monotonic() > updated + UPDATE_INTERVAL:
                    yield {self._context.status: gr.skip()}
                    updated = time.monotonic()
            with session.lock:
                if not session.same_picture(run):
                    return
                session.store_budget_variant(budget, variant)
            self._context.sessions.evict()
            more = budget != rerun.other_budgets(run)[-1]
            if more and time.monotonic() < updated + UPDATE_INTERVAL:
                continue
            yield panels.redraw(session, "attack_steps")
            updated = time.monotonic()


def _decide_seconds(run: Run) -> float:
    return sum(run.seconds.get(s, 0.0) for s in STEP_STAGES) / 2


def attack_steps_seconds(run: Run) -> float:
    """Estimated seconds for the stored steps: each is defended like the delivered picture."""
    one = _decide_seconds(run)
    return one * max(len(pipeline_steps.sampled_steps(pipeline_steps.last_step(run))) - 2, 0)


def budgets_seconds(run: Run) -> float:
    """Estimated seconds for the attack with the other budgets and their stored steps."""
    if run.attack is None:
        return 0.0
    one = run.attack.seconds + _decide_seconds(run) + attack_steps_seconds(run)
    return one * len(rerun.other_budgets(run))
