"""Files that survive a killed process: append-only JSON lines, one writer per folder."""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rita_demo.records.errors import DataError

if sys.platform != "win32":
    import fcntl


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Make the run folder and lock it until the block ends; the system releases the lock when a process dies.

    Raises:
        DataError: another process has the lock, or the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / ".lock").open("a")
    except OSError as error:
        raise DataError(
            f"The folder for the results cannot be used: {error.strerror}.", "Name another one with --out."
        ) from error
    with handle:
        try:
            if sys.platform != "win32":  # there is no lock, everything else works
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DataError(
                "Another evaluation is writing into this folder.",
                "Wait until it has ended, or name another folder with --out.",
            ) from error
        yield


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, one per line, without an incomplete last line; [] when there is no file.

    Raises:
        DataError: a line in the middle is damaged.
    """
    rows = []
    for number, line in enumerate(_complete_lines(path), start=1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise DataError(
                f"Line {number} of {path.parent.name}/{path.name} is damaged.",
                "Delete that folder inside the run folder and start the evaluation again.",
            )
        rows.append(row)
    return rows


def count_lines(path: Path) -> int:
    """The number of lines that :func:`read_lines` would read."""
    return len(_complete_lines(path))


def truncate_partial_line(path: Path) -> None:
    """Remove an incomplete last line, which a killed process left."""
    truncate(path, sum(map(len, _complete_lines(path))))


def truncate(path: Path, length: int) -> None:
    """Remove what a killed process left beyond so many bytes."""
    if path.is_file() and path.stat().st_size > length:
        os.truncate(path, length)


def _complete_lines(path: Path) -> list[bytes]:
    data = path.read_bytes() if path.is_file() else b""
    lines = data.splitlines(keepends=True)
    return lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines


def append_line(path: Path, row: dict[str, Any]) -> None:
    """Add one object as one line; a kill after the return cannot lose it."""
    line = json.dumps(row, ensure_ascii=False, allow_nan=False)
    append_bytes(path, (line + "\n").encode())


def append_bytes(path: Path, data: bytes) -> None:
    """Add to the end of the file, without Python's buffers."""
    with path.open("ab", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]


def digest(value: Any) -> str:
    """A hash of a JSON value, twelve characters; the order of its keys does not matter."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
