"""The picture on screen attacked with another budget, ready to be shown."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from rita_demo.pipeline import attack_steps as pipeline_steps
from rita_demo.pipeline import rerun
from rita_demo.records import Run
from rita_demo.ui.panels.picture_triptych import pictures_value
from rita_demo.ui.session.session import BudgetVariant, Session, array_bytes

ATTACK_STEPS_BYTES = 64 << 20  # memory of the stored steps, per visitor


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
