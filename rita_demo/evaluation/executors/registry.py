"""The executors by name: ``local`` (this process) and ``ray`` (a Ray cluster), imported only when used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rita_demo.records.errors import DemoError, SettingError, did_you_mean

if TYPE_CHECKING:
    from rita_demo.evaluation.pictures import PictureSet
    from rita_demo.evaluation.request import Request

Report = Callable[[str], None]
#: Measures what the run folder of a request lacks and returns the number of new rows. The caller
#: has the lock of the folder.
Executor = Callable[["Request", "Mapping[str, PictureSet]", Report], int]

EXECUTORS = {"local": "rita_demo.evaluation.executors.local", "ray": "rita_demo.evaluation.executors.ray"}


def executor(name: str) -> Executor:
    """The executor of that name.

    Raises:
        SettingError: there is none; the valid ones are listed.
        DemoError: it needs a package that is not installed.
    """
    if name not in EXECUTORS:
        raise SettingError(
            f"The executor is one of {', '.join(EXECUTORS)}; got {name[:40]!r}.", did_you_mean(name, EXECUTORS)
        )
    if name == "ray" and find_spec("ray") is None:
        raise DemoError(
            "The executor ray needs the package ray, which is not installed.",
            "Install it with: pip install -r requirements-ray.txt -c constraints.txt",
        )
    return import_module(EXECUTORS[name]).measure
