"""Where tasks are done. A task is a small value that depends on no other task; so far: here, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rita_demo.errors import SettingError

Executor = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def local(work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """One task after the other in this process."""
    return [work(task) for task in tasks]


EXECUTORS: dict[str, Executor] = {"local": local}


def executor(name: str) -> Executor:
    """The executor of that name, or a :class:`SettingError` that lists the valid ones."""
    if name not in EXECUTORS:
        raise SettingError(f"The executor is one of {', '.join(EXECUTORS)}; got {name[:40]!r}.")
    return EXECUTORS[name]
