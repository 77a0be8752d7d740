"""Generators that report progress and return a result."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

Y = TypeVar("Y")
R = TypeVar("R")


def run_to_end(steps: Generator[Y, None, R], on_progress: Callable[[Y], object] = lambda _: None) -> R:
    """Run a generator to its end and return its value; every progress goes to ``on_progress``."""
    while True:
        try:
            on_progress(next(steps))
        except StopIteration as end:
            return end.value
