"""Where the work is done: so far in this process. Imports stay light."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from rita_demo.errors import SettingError

if TYPE_CHECKING:
    from rita_demo.evaluation.collection import Collection
    from rita_demo.evaluation.request import Request

Say = Callable[[str], None]
#: Measures what a request asks for and its run folder lacks, and returns the number of new rows. The
#: caller holds the folder's lock.
Executor = Callable[["Request", "Mapping[str, Collection]", Say], int]

EXECUTORS = {"local": "rita_demo.evaluation.here"}


def executor(name: str) -> Executor:
    """The executor of that name; its module is imported now.

    Raises:
        SettingError: there is none; the valid ones are listed.
    """
    if name not in EXECUTORS:
        raise SettingError(f"The executor is one of {', '.join(EXECUTORS)}; got {name[:40]!r}.")
    return import_module(EXECUTORS[name]).measure
