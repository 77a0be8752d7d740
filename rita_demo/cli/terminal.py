"""What the commands write: progress on the terminal, and files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rita_demo.records.errors import DataError


def print_progress(sentence: str) -> None:
    """One line of progress that overwrites itself; nothing where stderr is not a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{sentence}", end="", file=sys.stderr, flush=True)


def check_writable(*paths: Path | None) -> None:
    """Before the work: a :class:`DataError` about the first file that could not be written."""
    for path in paths:
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise DataError(f"{path} cannot be written.", "Name a file in a folder that exists.")


@contextmanager
def write_errors() -> Iterator[None]:
    """Turn an error of the file system into a :class:`DataError`."""
    try:
        yield
    except OSError as error:
        raise DataError(f"The result could not be written: {error.strerror}.") from error
