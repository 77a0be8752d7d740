"""Graceful shutdown: no new events, and a grace period for those that run."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rita_demo.records.errors import DemoError

FINAL_STEP_SECONDS = 3.0  # from the end of the grace period to the end of an event's current step


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
        if self._state.expired:
            raise ShuttingDown


class ShutdownState:
    """Thread-safe. ``draining``: no new events; ``expired``: running events end at their next step."""

    def __init__(self) -> None:
        self.draining = self.expired = False
        self._events: set[RunningEvent] = set()
        self._lock = threading.Lock()

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

    def drain(self, grace: float) -> int:
        """Take no new events; wait ``grace`` seconds for the running ones to end, then for their next step. Returns the
        number of events that did not end."""
        with self._lock:
            self.draining = True
        self._wait(grace, lambda: self.expired)
        self.expired = True
        self._wait(FINAL_STEP_SECONDS)
        return self.running

    def _wait(self, seconds: float, stop_early: Callable[[], bool] = lambda: False) -> None:
        end = time.monotonic() + seconds
        while self.running and time.monotonic() < end and not stop_early():
            time.sleep(0.05)


SHUTDOWN = ShutdownState()  # of this process


class SignalHandler:
    """SIGTERM and SIGINT. Before the page is open they end the process; afterwards the first one ends the wait of
    :meth:`wait`, and the next one ends the grace period. Only flags are set: a signal may come while a lock is held."""

    def __init__(self, state: ShutdownState = SHUTDOWN) -> None:
        self._state = state
        self.page_open = self.received = False

    def install(self) -> None:
        """Handle signals from now on; only the main thread of a process can."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._on_signal)

    def wait(self) -> None:
        while not self.received:
            time.sleep(0.1)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self.page_open:
            sys.exit(0)
        self._state.expired = self._state.expired or self.received
        self.received = True
