"""The seconds that a job may still take, as they are said to a person."""

import time
from collections.abc import Callable

LONGER = "longer than expected"
MOST_GROWTH = 4 / 3  # of what was said before
FIRST_SECONDS, FIRST_STEPS = 1.5, 3  # before both nothing is said


class TimeLeft:
    """The clock of one job. What it says never grows by more than a third: a person who reads 15 s and then 40
    no longer believes either. ``clock``: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock, self._begin, self._least = clock, clock(), float("inf")
        self._steps: list[tuple[float, float]] = []  # (elapsed, fraction done) of the latest

    @property
    def elapsed(self) -> float:
        """Seconds since the job began."""
        return self._clock() - self._begin

    def limit(self, seconds: float) -> int | None:
        """The estimate as it is said, in whole seconds, at least 1; None: it is more than a third above the least that
        was said, and no number is said."""
        number = max(1, round(seconds))
        if number > MOST_GROWTH * self._least:
            return None
        self._least = min(self._least, number)
        return number

    def say(self, fraction: float) -> str:
        """The words for a job of which this ``fraction`` is done; "" before there is an estimate, and at the end. The pace is
        that of the later half of its time: the first stages of a run are quicker than the steps of a long attack."""
        now = self.elapsed
        if not self._steps or fraction > self._steps[-1][1]:
            self._steps = [*(step for step in self._steps if step[0] >= now / 2), (now, fraction)]
        if now <= FIRST_SECONDS or len(self._steps) < FIRST_STEPS or fraction >= 1:
            return ""
        (begin, before), (end, done) = self._steps[0], self._steps[-1]
        number = self.limit((1 - done) * (end - begin) / (done - before) - (now - end))
        return LONGER if number is None else f"about {number} s left"
