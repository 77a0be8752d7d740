"""Counts an event of the page while it runs, and writes a log line: how long it took and how it ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rita_demo.process import logging as logs
from rita_demo.process.shutdown import SHUTDOWN, ShuttingDown
from rita_demo.records.errors import DemoError

MIN_LOGGED_SECONDS = 1.0  # a shorter event gets no line


@contextmanager
def logged_event(handler: Any, *, always_log: bool = False) -> Iterator[None]:
    """Entered while a handler runs. The log line has the handler's name, seconds, and ``outcome``: ``done``, ``refused``
    (an error message for the visitor; with its kind), ``failed``, ``cut`` (the server shuts down) or ``left`` (the
    visitor left). A short event is logged with ``always_log`` only."""
    name = getattr(handler, "__qualname__", type(handler).__name__).replace("<locals>.", "")
    error: BaseException | None = None
    with SHUTDOWN.track_event():
        started = time.perf_counter()
        try:
            yield
        except BaseException as caught:
            error = caught
            raise
        finally:
            spent = round(time.perf_counter() - started, 3)
            kind = {"kind": type(error).__name__} if isinstance(error, DemoError) else {}
            if always_log or spent >= MIN_LOGGED_SECONDS:
                logs.log_event("event", name=name, seconds=spent, outcome=outcome(error), **kind)


def outcome(error: BaseException | None) -> str:
    if error is None:
        return "done"
    if isinstance(error, GeneratorExit):
        return "left"
    if isinstance(error, ShuttingDown):
        return "cut"
    return "refused" if isinstance(error, DemoError) else "failed"
