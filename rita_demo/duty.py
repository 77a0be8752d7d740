"""Whether this process still takes work, and how it comes to an end: no new events, some seconds for those that run."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rita_demo.errors import DemoError

LAST_STEP = 3.0  # seconds: how long an event may take from its last step to its end


class Leaving(DemoError):
    """The server is going down."""

    def __init__(self) -> None:
        super().__init__(
            "The server is going down; what has been stored stays.", "Reload the page in a minute."
        )


class Duty:
    """Thread-safe. ``leaving``: no new events; ``over``: running ones end at their next step; ``running``: how
    many there are."""

    def __init__(self) -> None:
        self.leaving = self.over = False
        self.running = 0
        self._lock = threading.Lock()

    @contextmanager
    def event(self) -> Iterator[None]:
        """Counts an event while it runs.

        Raises:
            Leaving: when there shall be no new ones.
        """
        with self._lock:  # whoever gets in before it leaves is waited for
            if self.leaving:
                raise Leaving
            self.running += 1
        try:
            yield
        finally:
            with self._lock:
                self.running -= 1

    def step(self) -> None:
        """Called between two steps of an event.

        Raises:
            Leaving: when its time is over.
        """
        if self.over:
            raise Leaving

    def leave(self, grace: float) -> int:
        """Take no new events and wait for those that run: ``grace`` seconds for their end, then for their next
        step. Returns how many did not end."""
        with self._lock:
            self.leaving = True
        self._wait(grace, lambda: self.over)
        self.over = True
        self._wait(LAST_STEP)
        return self.running

    def _wait(self, seconds: float, impatient: Callable[[], bool] = lambda: False) -> None:
        end = time.monotonic() + seconds
        while self.running and time.monotonic() < end and not impatient():
            time.sleep(0.05)


#: Of this process. There is one, as there is one process to end.
DUTY = Duty()


class Bell:
    """SIGTERM and SIGINT. Before the page is open they end the process; then the first one rings, and the next
    ends what still runs. Only flags are set: a signal may come while any lock is held."""

    def __init__(self, duty: Duty = DUTY) -> None:
        self._duty = duty
        self.open = self.rung = False

    def listen(self) -> None:
        """From now on; in a thread that gets no signals, nothing happens."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._ring)

    def wait(self) -> None:
        """Until it rings."""
        while not self.rung:
            time.sleep(0.1)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if not self.open:
            sys.exit(0)
        self._duty.over = self._duty.over or self.rung
        self.rung = True
