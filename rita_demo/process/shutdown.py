"""Graceful shutdown: no new events, and a grace period for those that run."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rita_demo.records.errors import DemoError


class ShuttingDown(DemoError):
    """Raised in an event that may not start, or not continue, because the server stops."""

    def __init__(self) -> None:
        super().__init__("The server is going down; what has been stored stays.", "Reload the page in a minute.")


class RunningEvent:
    """An event while it runs. ``step_began``: monotonic seconds."""

    def __init__(self, state: "ShutdownState") -> None:
        self._state, self.step_began = state, time.monotonic()

    def next_step(self) -> None:
        """Called between two steps. Raises ShuttingDown: the grace period is over."""
        self.step_began = time.monotonic()
        if self.step_began >= self._state.deadline:
            raise ShuttingDown


class ShutdownState:
    """Thread-safe. ``deadline``: when running events end at their next step, monotonic seconds; infinite while events may
    start."""

    def __init__(self) -> None:
        self.deadline = math.inf
        self._events: set[RunningEvent] = set()
        self._lock = threading.Lock()

    @property
    def draining(self) -> bool:
        """Whether no new event may start."""
        return self.deadline < math.inf

    @property
    def running(self) -> int:
        """The number of running events."""
        return len(self._events)

    @property
    def step_seconds(self) -> float:
        """How long the current step of an event has been running; the longest of all events, 0 where none runs."""
        with self._lock:
            return max((time.monotonic() - event.step_began for event in self._events), default=0.0)

    @contextmanager
    def track_event(self) -> Iterator[RunningEvent]:
        """Count an event while it runs. Raises ShuttingDown: the server takes no new events."""
        event = RunningEvent(self)
        with self._lock:
            if self.draining:
                raise ShuttingDown
            self._events.add(event)
        try:
            yield event
        finally:
            with self._lock:
                self._events.remove(event)

    def drain(self, grace: float) -> None:
        """Take no new events; those that run have ``grace`` seconds."""
        with self._lock:
            self.deadline = time.monotonic() + grace


SHUTDOWN = ShutdownState()  # of this process
