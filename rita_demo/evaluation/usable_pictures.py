"""Which pictures of a dataset can be used: each is opened before the first of them is measured.

A header says nothing about the end of a file, so every picture is decoded, to a small square: 0.5 ms for one of 200 x 200
pixels, 2 ms for one of 500 x 375. The answer is remembered while the file stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rita_demo.data.pictures import SMALLEST_SIDE, open_picture
from rita_demo.evaluation.grouping import group_by
from rita_demo.records.errors import DemoError, join_names

if TYPE_CHECKING:
    from rita_demo.evaluation.pictures import DatasetItem

THREADS = 2  # as many pictures as are decoded at once
REPORT_EVERY = 500  # pictures
MAX_REMEMBERED = 1 << 16
MAX_NAMED = 200  # pictures with the same fault that a message lists


@dataclass(frozen=True)
class UnusablePicture:
    """A picture that cannot be opened, and the sentence that says why."""

    id: str
    reason: str


def choose_usable(
    items: Sequence[DatasetItem],
    choose: Callable[[Sequence[DatasetItem]], Sequence[DatasetItem]],
    report: Callable[[str], object] = lambda _: None,
) -> tuple[tuple[DatasetItem, ...], tuple[UnusablePicture, ...]]:
    """What ``choose`` takes of the pictures that can be used, and those that would have been taken and cannot.

    Only chosen pictures are opened; others take the places of those that cannot be used.
    """
    usable, faults = set[str](), dict[str, str]()
    while True:
        chosen = choose([item for item in items if item.id not in faults])
        found = _faults([item for item in chosen if item.id not in usable], report)
        if not found:
            return tuple(chosen), tuple(UnusablePicture(*fault) for fault in sorted(faults.items()))
        faults |= found
        usable |= {item.id for item in chosen} - faults.keys()


def unusable_text(unusable: Sequence[UnusablePicture], usable: int, most: int = MAX_NAMED) -> str:
    """How many cannot be used beside ``usable`` others, and every reason with the pictures that it holds for."""
    groups = group_by(unusable, lambda one: one.reason).items()
    reasons = (f"{why.rstrip('.')} ({join_names([one.id for one in same], most)})." for why, same in groups)
    return f"{len(unusable)} of {len(unusable) + usable} pictures cannot be used. {' '.join(reasons)}"


def _faults(items: Sequence[DatasetItem], report: Callable[[str], object]) -> dict[str, str]:
    """Picture -> why it cannot be used."""
    files = {item.id: item.path for item in items if item.path is not None}
    found, pool = dict[str, str](), ThreadPoolExecutor(THREADS)
    try:
        for done, (name, fault) in enumerate(zip(files, pool.map(_fault, files.values()))):
            if done and done % REPORT_EVERY == 0:
                report(f"Opening every picture once: {done} of {len(files)}")
            found |= {name: fault} if fault else {}
    finally:  # after Ctrl-C the others are not waited for
        pool.shutdown(cancel_futures=True)
    return found


def _fault(path: Path) -> str:
    """Why a picture cannot be used, "" if it can."""
    try:
        facts = path.stat()
    except OSError:
        return _fault_of_file(path, 0, 0)
    return _fault_of_file(path, facts.st_size, facts.st_ctime_ns)


@lru_cache(MAX_REMEMBERED)
def _fault_of_file(path: Path, size: int, changed: int) -> str:
    """The same; ``size`` and ``changed`` are others once the file is another one."""
    try:
        open_picture(path, square="model", side=SMALLEST_SIDE)
    except DemoError as error:
        return error.message
    return ""
