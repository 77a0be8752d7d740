"""What the commands share: one line of progress, where the data lie, whether a file can be written."""

from __future__ import annotations

import sys
from pathlib import Path

from rita_demo import environment
from rita_demo.errors import DataError


def say(sentence: str) -> None:
    """One line of progress that overwrites itself; nothing where no person looks."""
    if sys.stderr.isatty():
        print(f"\r\033[K{sentence}", end="", file=sys.stderr, flush=True)


def data_root(given: Path | None) -> Path | None:
    """The folder that holds the datasets: the one given, else ``RITA_DATA``, else ./data where it exists."""
    if given is not None:
        return given
    named: Path = environment.value("RITA_DATA")
    unset = named == environment.VARIABLES["RITA_DATA"].unset
    return None if unset and not named.is_dir() else named


def check_folder(path: Path | None) -> None:
    """Before the work, not after it: a :class:`DataError` when the file could not be written."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise DataError(f"{path} cannot be written.", "Name a file in a folder that exists.")
