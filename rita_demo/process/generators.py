"""Generators that report progress and return a result."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Generic, TypeVar

Y = TypeVar("Y")
R = TypeVar("R")


def run_to_end(steps: Generator[Y, None, R], on_progress: Callable[[Y], object] = lambda _: None) -> R:
    """Run a generator to its end and return its value; every progress goes to ``on_progress``."""
    while True:
        try:
            on_progress(next(steps))
        except StopIteration as end:
            return end.value


def step_of(steps: Generator[Y, None, R]) -> tuple[Y | None, R | None]:
    """(progress, None) of the next step, or (None, the value) at the end."""
    try:
        return next(steps), None
    except StopIteration as end:
        return None, end.value


class EndedError(RuntimeError):
    """A step ended with an exception that is no error and would end the process, or the thread of all requests."""


@contextmanager
def contained() -> Iterator[None]:
    """Turn SystemExit, KeyboardInterrupt and their like into an :class:`EndedError`. Not for the main thread, where Ctrl-C
    is a KeyboardInterrupt, and not around a ``yield``, where a generator that is closed gets a GeneratorExit."""
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        raise EndedError(type(error).__name__) from error


def contained_steps(steps: Generator[Y, None, R]) -> Generator[Y, None, R]:
    """The steps of a generator, each :func:`contained`."""
    return steps_in(contained, steps)


def steps_in(block: Callable[[], AbstractContextManager[None]], steps: Generator[Y, None, R]) -> Generator[Y, None, R]:
    """The steps of a generator, each in a ``block`` of its own; what is between the steps is not."""
    with closing(steps):
        while True:
            with block():
                try:
                    step = next(steps)
                except StopIteration as end:
                    return end.value
            yield step


class Steps(Generic[Y, R]):
    """A generator to iterate over; its return value is ``value`` afterwards."""

    value: R

    def __init__(self, generator: Generator[Y, None, R]) -> None:
        self._generator = generator

    def __iter__(self) -> Iterator[Y]:
        self.value = yield from self._generator
