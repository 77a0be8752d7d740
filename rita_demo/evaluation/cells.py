"""One cell on disk: ``header.json``, ``rows.jsonl`` and, for a stream, what its memory took in.

A memory is never stored as a whole. Every row lists the views that entered (class, slot, view,
entropy) and ``memory.f32`` holds their features in the same order: replaying them gives the memory
after the last row to the last bit.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
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
    --seed``; ``seconds`` per stage; ``entered`` rows of (class, slot, view, entropy); ``target``: the class
    that the attack aimed at, "" for away from the label.
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
    target: str = ""


@dataclass
class Book:
    """What a cell is written into, picture by picture: the table's ``columns`` of its rows, and the ``memory``
    after the last one (None for a method without a stream)."""

    columns: dict[str, Any]
    memory: CacheState | None

    def append(self, row: Row, change: CacheChange | None, after: CacheState | None) -> None:
        """One more picture."""
        vectors = b""
        if self.memory is not None and after is not None and change is not None:
            row = replace(
                row, entered=tuple((e.label, e.slot, e.view, e.entropy) for e in change.events)
            )
            entered = [after.features[event.label, event.slot] for event in change.events]
            if entered:
                vectors = np.stack(entered).astype("<f4").tobytes()
            self.memory = after
        self.add(asdict(row), vectors)

    def add(self, line: dict[str, Any], vectors: bytes) -> None:
        """The same as it is stored: the row, and the features that entered."""
        raise NotImplementedError


class CellFile(Book):
    """A cell's folder, opened for going on: ``count`` rows are there, ``memory`` is the state after them."""

    def __init__(self, folder: Path, header: dict[str, Any], memory: CacheState | None) -> None:
        super().__init__(header["columns"], memory)
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "header.json").is_file():
            files.write_json(self.folder / "header.json", header)
        files.drop_torn_line(self._rows)
        rows = files.read_lines(self._rows)
        self.count = len(rows)
        if self.memory is not None:
            self.memory = self._replayed(self.memory, rows)

    @property
    def _rows(self) -> Path:
        return self.folder / "rows.jsonl"

    @property
    def _vectors(self) -> Path:
        return self.folder / "memory.f32"

    def add(self, line: dict[str, Any], vectors: bytes) -> None:
        """The features that entered are written first, then the line that counts them."""
        if vectors:
            files.append_bytes(self._vectors, vectors)
        files.append_line(self._rows, line)
        self.count += 1

    def _replayed(self, empty: CacheState, rows: list[dict[str, Any]]) -> CacheState:
        """The memory after these rows; features a killed process left without a row are cut off."""
        length = sum(len(row["entered"]) for row in rows) * empty.features.shape[2] * 4
        if self._vectors.is_file() and self._vectors.stat().st_size > length:
            os.truncate(self._vectors, length)
        return replayed(self.folder, empty, rows)


def replayed(folder: Path, empty: CacheState, rows: list[dict[str, Any]]) -> CacheState:
    """The memory a cell had after its first ``rows``, from what it had before them (``empty``)."""
    count = sum(len(row["entered"]) for row in rows)
    vectors = iter(vectors_of(folder, count, empty.features.shape[2]))
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


def vectors_of(folder: Path, count: int, width: int) -> np.ndarray:
    """The features of the first ``count`` views that entered a cell's memory: (count, D) float32.

    Raises:
        DataError: there are fewer of them than its rows say.
    """
    path = folder / "memory.f32"
    data = b""
    if count and path.is_file():
        with path.open("rb") as file:
            data = file.read(count * width * 4)
    if len(data) < count * width * 4:
        raise DataError(
            f"The memory of {folder.name} is shorter than its rows say.",
            "Delete that folder inside the run folder and evaluate again.",
        )
    return np.frombuffer(data, "<f4").reshape(count, width)


_ARRAYS = ("features", "entropy", "born", "view", "count")
