"""Where the work is done: in this process, or by workers of a Ray cluster. Imports stay light."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rita_demo.errors import DemoError, SettingError

if TYPE_CHECKING:
    from rita_demo.evaluation.collection import Collection
    from rita_demo.evaluation.request import Request

Say = Callable[[str], None]
#: Measures what a request asks for and its run folder lacks, and returns the number of new rows. The
#: caller holds the folder's lock.
Executor = Callable[["Request", "Mapping[str, Collection]", Say], int]

EXECUTORS = {"local": "rita_demo.evaluation.here", "ray": "rita_demo.evaluation.on_ray"}


def executor(name: str) -> Executor:
    """The executor of that name; its module is imported now.

    Raises:
        SettingError: there is none; the valid ones are listed.
        DemoError: it needs a package that is not installed.
    """
    if name not in EXECUTORS:
        raise SettingError(f"The executor is one of {', '.join(EXECUTORS)}; got {name[:40]!r}.")
    if name == "ray" and find_spec("ray") is None:
        raise DemoError(
            "The executor ray needs the package ray, which is not installed.",
            "Install it with: pip install -r requirements-ray.txt -c constraints.txt",
        )
    return import_module(EXECUTORS[name]).measure
