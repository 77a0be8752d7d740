"""One cell on disk: ``header.json``, ``rows.jsonl`` and, for a stream, what its memory took in.

A memory is never stored as a whole. Every row lists the views that entered (class, slot, view,
entropy) and ``memory.f32`` holds their features in the same order: replaying them gives the memory
after the last row to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.errors import DataError
from rita_demo.evaluation import files
from rita_demo.records import CacheChange, CacheState


@dataclass(frozen=True)
class Row:
    """One picture and one method: a line of ``rows.jsonl``.

    ``label`` and ``answer`` are class names; ``linf`` in 1/255; ``already_wrong``: CLIP was wrong on
    the clean square (None without an attack); ``picture_seed`` repeats the picture with ``explain
    --seed``; ``seconds`` per stage; ``entered`` rows of (class, slot, view, entropy).
    """

    picture: str
    method: str
    attack: str
    budget: int
    steps: int
    protocol: str
    seed: int
    settings: str
    label: str
    answer: str
    right: bool
    probability: float
    margin: float
    linf: float
    l2: float
    already_wrong: bool | None
    picture_seed: int
    seconds: dict[str, float]
    entered: tuple[tuple[int, int, int, float], ...] = ()


@dataclass
class CellFile:
    """A cell's folder, opened for going on: ``count`` rows are there, ``memory`` is the state after them."""

    folder: Path
    header: dict[str, Any]
    memory: CacheState | None
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "header.json").is_file():
            files.write_json(self.folder / "header.json", self.header)
        files.drop_torn_line(self._rows)
        rows = files.read_lines(self._rows)
        self.count = len(rows)
        if self.memory is not None:
            self._cut(sum(len(row["entered"]) for row in rows) * self.memory.features.shape[2] * 4)
            self.memory = replayed(self.folder, self.memory, rows)

    @property
    def _rows(self) -> Path:
        return self.folder / "rows.jsonl"

    @property
    def _vectors(self) -> Path:
        return self.folder / "memory.f32"

    def append(self, row: Row, change: CacheChange | None, after: CacheState | None) -> None:
        """One more picture. The features that entered are written first, then the line that counts them."""
        if self.memory is not None and after is not None and change is not None:
            row = replace(
                row, entered=tuple((e.label, e.slot, e.view, e.entropy) for e in change.events)
            )
            entered = [after.features[event.label, event.slot] for event in change.events]
            if entered:
                files.append_bytes(self._vectors, np.stack(entered).astype("<f4").tobytes())
            self.memory = after
        files.append_line(self._rows, asdict(row))
        self.count += 1

    def _cut(self, size: int) -> None:
        """Features that a killed process left without a row are cut off."""
        if self._vectors.is_file() and self._vectors.stat().st_size > size:
            os.truncate(self._vectors, size)


def replayed(folder: Path, empty: CacheState, rows: Sequence[dict[str, Any]]) -> CacheState:
    """The memory after the first ``rows`` of a cell's folder, starting from ``empty``; nothing is written.

    Raises:
        DataError: the features that these rows count are not all there.
    """
    width = empty.features.shape[2]
    total = sum(len(row["entered"]) for row in rows)
    path = folder / "memory.f32"
    found = np.fromfile(path, "<f4", count=total * width) if total and path.is_file() else _NOTHING
    if len(found) < total * width:
        raise DataError(
            f"The memory of {folder.name} is shorter than its rows.",
            "Delete that folder and evaluate again.",
        )
    vectors = iter(found.reshape(total, width))
    state = replace(
        empty,
        **{name: getattr(empty, name).copy() for name in _ARRAYS},
        pictures=empty.pictures + len(rows),
    )
    for born, row in enumerate(rows):
        for label, slot, view, entropy in row["entered"]:
            state.features[label, slot] = next(vectors)
            state.entropy[label, slot] = entropy
            state.born[label, slot] = empty.pictures + born
            state.view[label, slot] = view
            state.count[label] = max(int(state.count[label]), slot + 1)
    return state


_ARRAYS = ("features", "entropy", "born", "view", "count")
_NOTHING = np.zeros(0, "<f4")
