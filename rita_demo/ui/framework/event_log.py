"""Counts an event of the page while it runs, and writes a log line: how long it took and how it ended."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from rita_demo.process import logging as logs
from rita_demo.process.shutdown import SHUTDOWN, ShuttingDown
from rita_demo.records.errors import DemoError

MIN_LOGGED_SECONDS = 1.0  # a shorter event gets no line


class EventLogger:
    """Entered while a handler runs. The log line has the handler's name, seconds, and ``outcome``: ``done``, ``refused``
    (an error message for the visitor; with its kind), ``failed``, ``cut`` (the server shuts down) or ``left`` (the
    visitor left).

    Args:
        handler: the function that runs.
        always_log: also log a short one.
    """

    def __init__(self, handler: Any, *, always_log: bool = False) -> None:
        name = getattr(handler, "__qualname__", type(handler).__name__)
        self._name, self._always_log = name.replace("<locals>.", ""), always_log
        self._started = 0.0
        self._shutdown_guard: AbstractContextManager[None] = SHUTDOWN.track_event()

    def __enter__(self) -> EventLogger:
        self._shutdown_guard.__enter__()
        self._started = time.perf_counter()
        return self

    def check_shutdown(self) -> None:
        """Between two steps. Raises :class:`ShuttingDown` during shutdown."""
        SHUTDOWN.check()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shutdown_guard.__exit__(None, None, None)
        spent = round(time.perf_counter() - self._started, 3)
        fields: dict[str, Any] = {"name": self._name, "seconds": spent, "outcome": outcome(error)}
        if isinstance(error, DemoError):
            fields["kind"] = type(error).__name__
        if self._always_log or spent >= MIN_LOGGED_SECONDS:
            logs.log_event("event", **fields)


def outcome(error: BaseException | None) -> str:
    """How an event ended, in a word."""
    if error is None:
        return "done"
    if isinstance(error, GeneratorExit):
        return "left"
    if isinstance(error, ShuttingDown):
        return "cut"
    return "refused" if isinstance(error, DemoError) else "failed"
