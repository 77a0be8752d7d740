"""Following a table that is filled while other visitors use the engine."""

from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

import gradio as gr

from rita_demo.pipeline.arena import ArenaTable, TableProgress
from rita_demo.pipeline.smallest_budget import BudgetTable
from rita_demo.process.time_left import TimeLeft
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.session import Session

T = TypeVar("T", ArenaTable, BudgetTable)


def fill(
    context: AppContext,
    session: Session,
    steps: Iterator[TableProgress[T]],
    time_left: TimeLeft,
    show: Callable[[T], Updates],
) -> Generator[Updates, None, bool]:
    """Progress after every step, and what ``show`` gives for every new table. Between two steps the engine is left to other
    visitors. Returns whether all is done: another run on screen ends it."""
    shown: T | None = None
    for at in steps:
        for _ in context.activity.wait_until_idle():
            yield {context.error_banner: gr.skip()}
        if not at.table.fits(session.run):
            yield context.done("Stopped: another run is on screen.")
            return False
        update = context.progress(at.sentence, at.fraction, time_left)
        if at.table is not shown:
            shown = at.table
            update |= show(at.table)
        yield update
    context.sessions.evict()
    return True
