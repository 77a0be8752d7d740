"""Pictures that a cell has no answer to, because a file of the user's own failed: ``failed.jsonl`` of its folder.

They count neither as right nor as wrong. A cell of edited code is another one, so that it is measured anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rita_demo.evaluation.store.cell_file import FAILED, CellHeader, Row, run_folders
from rita_demo.evaluation.store.files import read_lines
from rita_demo.records.errors import join_names
from rita_demo.records.grouping import group_by

MAX_METHODS = 5  # that are named
NO_COUNT = "They count neither as right nor as wrong."


@dataclass(frozen=True)
class Failure:
    """One fault of a user's own code: the number of ``answers`` that it left out, over all methods; ``sentence`` says which
    and why; ``detail``: the text of the first exception, for the owner of the code, not for visitors of the page."""

    answers: int
    sentence: str
    detail: str

    def __str__(self) -> str:
        return f"{self.sentence}: {self.detail}" if self.detail else self.sentence


def cell_folders(*folders: Path) -> list[Path]:
    """The cells of run folders, or of folders of them. Raises DataError: a folder is neither."""
    return [place for folder in run_folders(folders) for place in sorted((folder / "cells").iterdir())]


def failures(cells: Iterable[Path]) -> tuple[Failure, ...]:
    """The faults in some cells' folders, one for each dataset, attack and sentence.

    Raises:
        DataError: a file is damaged.
    """
    failed: list[tuple[CellHeader, Row]] = []
    for folder in cells:
        if rows := read_lines(folder / FAILED):
            header = CellHeader.read(folder)
            failed += [(header, row) for row in rows]
    alike = group_by(failed, lambda one: (one[0].columns["dataset"], one[0].columns["attack"], one[1]["fault"]))
    return tuple(map(_failure, alike.values()))


def failure_lines(failures: Sequence[Failure]) -> list[str]:
    """What the owner of the code reads about its faults; nothing where there are none."""
    count = sum(one.answers for one in failures)
    return [*(f"Failed: {one}" for one in failures), f"{count} answers failed. {NO_COUNT}"] if failures else []


def _failure(same: list[tuple[CellHeader, Row]]) -> Failure:
    header, first = same[0]
    methods = join_names([*dict.fromkeys(one.title for one, _ in same)], MAX_METHODS)
    attack = header.columns["attack"]
    pictures = (
        f"{len({row['picture'] for _, row in same})} of {header.pictures} pictures of {header.columns['dataset']}"
    )
    under = "without an attack" if attack == "none" else f"under {attack}"
    sentence = f"{methods}: no answer to {pictures} {under}, the first {first['picture']}: {first['fault']}"
    return Failure(len(same), sentence, first["detail"])
