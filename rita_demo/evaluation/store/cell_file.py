"""One cell on disk: ``header.json``, ``rows.jsonl`` and, for a stream, the views that entered its cache.

A row is one picture and one method: ``label``, ``answer`` and ``target`` are class names (``target`` "" for an
untargeted attack); ``linf`` in 1/255; ``already_wrong``: CLIP was wrong on the clean square (None without an attack);
``gradient``: the norm of the attack's first gradient (None without one);
``picture_seed`` repeats the picture with ``explain --seed``; ``seconds`` per stage.

A cache is never stored as a whole. Every row lists the views that entered (class, slot, view, entropy), and
``memory.f32`` holds their features in the same order: replaying them gives the cache bit for bit.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.evaluation.cell_header import CellHeader
from rita_demo.evaluation.grouping import group_by
from rita_demo.evaluation.store import files
from rita_demo.records import CacheState, CacheUpdate
from rita_demo.records.errors import DataError

Row = dict[str, Any]  # one line of rows.jsonl


@dataclass
class RowWriter:
    """Takes the rows of a cell: ``columns`` of its tables, ``cache`` after the last row (None without a stream),
    ``count``: index of the first picture without a row."""

    columns: dict[str, Any]
    cache: CacheState | None
    count: int

    def append(self, row: dict[str, Any], change: CacheUpdate | None, after: CacheState | None) -> None:
        """Add the row of the next picture; ``change`` and ``after``: the cache update and the updated cache."""
        features = b""
        if self.cache is not None and after is not None and change is not None:
            row = row | {"entered": [(e.label, e.slot, e.view, e.entropy) for e in change.events]}
            features = b"".join(after.features[e.label, e.slot].astype("<f4").tobytes() for e in change.events)
            self.cache = after
        self.write(row, features)

    def write(self, line: dict[str, Any], features: bytes) -> None:
        """Add a row as it is stored, and the features that entered the cache."""
        raise NotImplementedError


class CellFile(RowWriter):
    """A cell's folder, opened to resume."""

    def __init__(self, folder: Path, header: CellHeader, cache: CacheState | None) -> None:
        self._rows, self._features = folder / "rows.jsonl", folder / "memory.f32"
        folder.mkdir(parents=True, exist_ok=True)
        _write_header(folder / "header.json", header)
        files.truncate_partial_line(self._rows)
        rows = files.read_lines(self._rows)
        super().__init__(header.columns, cache, len(rows))
        if cache is not None:
            views = sum(len(row["entered"]) for row in rows)
            files.truncate(self._features, views * cache.features.shape[2] * 4)
            self.cache = cache_after_rows(folder, cache, rows)

    def write(self, line: dict[str, Any], features: bytes) -> None:
        """The features are written first, then the line that counts them."""
        if features:
            files.append_bytes(self._features, features)
        files.append_line(self._rows, line)
        self.count += 1


def _write_header(path: Path, header: CellHeader) -> None:
    """Write the header of a new cell. A stored one stays, apart from the pictures that are left out: a broken file may
    have been added or removed beside the same pictures."""
    content = header.as_json()
    if path.is_file():
        try:
            stored = json.loads(path.read_text("utf-8"))
            unchanged = stored.get("left_out", {}) == header.left_out
        except (OSError, ValueError, AttributeError):  # its readers say that it is damaged
            return
        if unchanged:
            return
        content = stored | {"left_out": header.left_out}
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    files.atomic_write(path, (text + "\n").encode())


@dataclass(frozen=True)
class SeedGroup:
    """The stored cells that differ in the seed alone: the header and the rows of each."""

    headers: tuple[CellHeader, ...]
    rows_by_seed: tuple[list[Row], ...]

    @property
    def header(self) -> CellHeader:
        """That of the first; they differ in the seed alone."""
        return self.headers[0]

    @property
    def rows(self) -> list[Row]:
        """The rows of all seeds."""
        return [row for rows in self.rows_by_seed for row in rows]


def seed_groups(folder: Path) -> list[SeedGroup]:
    """The cells of a run folder that have rows, with headers as this version writes them.

    Raises:
        DataError: this is not a run folder, or one of its files is damaged.
    """
    if not (folder / "cells").is_dir():
        raise DataError("There are no measurements in this folder.", "Name the folder that evaluate wrote to.")
    cells = [
        (CellHeader.read(place, current=True), rows)
        for place in sorted((folder / "cells").iterdir())
        if (place / "header.json").is_file() and (rows := files.read_lines(place / "rows.jsonl"))
    ]
    return [SeedGroup(*zip(*same)) for same in group_by(cells, lambda cell: cell[0].pool).values()]


def cache_after_rows(folder: Path, empty: CacheState, rows: list[dict[str, Any]]) -> CacheState:
    """The cache of a cell after its first ``rows``; ``empty`` is the cache before them."""
    count = sum(len(row["entered"]) for row in rows)
    features = iter(inserted_features(folder, count, empty.features.shape[2]))
    arrays = {name: getattr(empty, name).copy() for name in ("features", "entropy", "born", "view", "count")}
    state = replace(empty, **arrays, pictures=empty.pictures + len(rows))
    for born, row in enumerate(rows):
        for label, slot, view, entropy in row["entered"]:
            state.features[label, slot] = next(features)
            state.entropy[label, slot] = entropy
            state.born[label, slot] = empty.pictures + born
            state.view[label, slot] = view
            state.count[label] = max(int(state.count[label]), slot + 1)
    return state


def inserted_features(folder: Path, count: int, width: int) -> np.ndarray:
    """The features of the first ``count`` views that entered a cell's cache: (count, D) float32.

    Raises:
        DataError: there are fewer of them than its rows say.
    """
    path = folder / "memory.f32"
    data = np.fromfile(path, "<f4", count * width) if count and path.is_file() else np.zeros(0, "<f4")
    if len(data) < count * width:
        raise DataError(
            f"The memory of {folder.name} is shorter than its rows say.",
            "Delete that folder inside the run folder and evaluate again.",
        )
    return data.reshape(count, width)
