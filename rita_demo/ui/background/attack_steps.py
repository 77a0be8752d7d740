"""Computed in the background after an answer: the attack's stored steps and the Story's checks.

It waits while an answer of any visitor is computed.
"""

import math
import time
from collections.abc import Callable, Iterator

import gradio as gr

from rita_demo.engine.protocol import Engine
from rita_demo.pipeline import attack_steps as pipeline_steps
from rita_demo.pipeline.story import story_steps
from rita_demo.process.generators import Steps
from rita_demo.records import Run
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.mark import STEP_TOPICS
from rita_demo.ui.session.session import Session, array_bytes

ATTACK_STEPS_BYTES = 64 << 20  # memory of the stored steps, per visitor
AUTO_STEPS_SECONDS = 60.0  # attack steps that take longer are computed only when a button is pressed
#: Seconds between two updates of the page; each takes about 0.1 s.
UPDATE_INTERVAL = 0.5
#: The timed stages of a run that are repeated for each stored step.
STEP_STAGES = ("views and encoding", "decision", "other methods")


def store_attack_steps(engine: Engine, session: Session, run: Run) -> Iterator[tuple[str, ...]]:
    """Compute the stored steps of the attack on screen; after each of them yields the topics that changed. It ends
    when another run is on screen."""
    if run.attack is None or session.attack_steps or session.pending_steps:
        return
    most = max_stored_steps(array_bytes(run.attacked), session.crops["attacked"].nbytes)
    session.pending_steps = len(pipeline_steps.sampled_steps(pipeline_steps.last_step(run), most))
    try:
        yield ("attack_steps",)
        for frame in pipeline_steps.attack_step_results(engine, run, most):
            crops = session.crops.get(session.step_key(frame.step))
            if crops is None:
                crops = engine.view_pixels(frame.image_result.picture, run.settings)
            with session.lock:
                if session.run is not run:
                    return  # a new run has its own event
                before = session.run_at_step
                session.store_attack_step(frame, crops)
                now = session.run_at_step
            moved = before is None or now is None or now.step != before.step
            yield ("attack_steps", *STEP_TOPICS) if moved else ("attack_steps",)
    finally:
        if session.run is run:
            session.pending_steps = 0


def store_checks(engine: Engine, session: Session, run: Run) -> Iterator[tuple[str, ...]]:
    """Compute what the Story asks of the run on screen; yields the topics that changed. It ends when another run is on
    screen."""
    if session.checks is not None:
        return
    work = Steps(story_steps(engine, run))
    for _ in work:
        yield ()
        if session.run is not run:
            return
    with session.lock:
        if session.run is run:
            session.checks = work.value
    yield ("checks",)


def max_stored_steps(record: int, crops: int) -> int:
    """How many attack steps may be stored for a visitor, the first and the last included. ``record``: bytes of one
    result; ``crops``: bytes of its views for the screen."""
    return min(pipeline_steps.MAX_STEPS, 2 + ATTACK_STEPS_BYTES // max(record + crops, 1))


def in_background(
    context: AppContext, session: Session, work: Callable[[Engine, Session, Run], Iterator[tuple[str, ...]]]
) -> Iterator[Updates]:
    """One of the works above as an event, which shows what is computed at most every ``UPDATE_INTERVAL``."""
    activity, run = context.activity, session.run
    if run is None:
        return

    def show() -> Updates:
        context.sessions.evict()
        return context.changed(session, *changed) if changed else {context.status: gr.skip()}

    steps, changed, updated = work(context.engine_of(session), session, run), set[str](), -math.inf
    while (topics := next(steps, None)) is not None:
        changed.update(topics)
        if activity.running_jobs or time.monotonic() > updated + UPDATE_INTERVAL:
            yield show()
            changed, updated = set(), time.monotonic()
        for _ in activity.wait_until_idle():
            yield {context.status: gr.skip()}
    if changed:
        yield show()


def attack_steps_seconds(run: Run) -> float:
    """Estimated seconds for the stored steps: each is defended like the delivered picture."""
    steps = pipeline_steps.sampled_steps(pipeline_steps.last_step(run))
    of_one = sum(run.seconds.get(stage, 0.0) for stage in STEP_STAGES) / 2
    return of_one * max(len(steps) - 2, 0)
