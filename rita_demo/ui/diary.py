"""One event of the page as the process and its log see it: that it runs, how long, and how it ended."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from rita_demo import logs
from rita_demo.duty import DUTY, Leaving
from rita_demo.errors import DemoError

LONG = 1.0  # seconds; a shorter touch is not worth a line


class Diary:
    """Entered while a handler runs. What it writes: the handler's name, seconds, and ``outcome``: ``done``,
    ``refused`` (a sentence for the visitor; its kind), ``failed``, ``cut`` (the server goes down) or ``left``
    (the visitor did).

    Args:
        handler: whose name is written.
        long: written however short it was.
    """

    def __init__(self, handler: Any, *, long: bool = False) -> None:
        name = getattr(handler, "__qualname__", type(handler).__name__)
        self._name, self._long = name.replace("<locals>.", ""), long
        self._begin = 0.0
        self._duty: AbstractContextManager[None] = DUTY.event()

    def __enter__(self) -> Diary:
        self._duty.__enter__()
        self._begin = time.perf_counter()
        return self

    def step(self) -> None:
        """Between two steps. Raises :class:`Leaving` when the server goes down."""
        DUTY.step()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._duty.__exit__(None, None, None)
        spent = round(time.perf_counter() - self._begin, 3)
        fields: dict[str, Any] = {"name": self._name, "seconds": spent, "outcome": outcome(error)}
        if isinstance(error, DemoError):
            fields["kind"] = type(error).__name__
        if self._long or spent >= LONG:
            logs.event("event", **fields)


def outcome(error: BaseException | None) -> str:
    """How an event ended, in a word."""
    if error is None:
        return "done"
    if isinstance(error, GeneratorExit):
        return "left"
    if isinstance(error, Leaving):
        return "cut"
    return "refused" if isinstance(error, DemoError) else "failed"
