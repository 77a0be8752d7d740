"""What is made once per picture and only saves time: encoded views, attacked squares, tuned prompts.

They are blobs in ``RUNS/artifacts.sqlite``, beside the rows and not in them: it is a hundred times larger, no number is in
it, and it may be deleted. In memory alone they travel to another process and back.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.evaluation.pictures import DatasetItem
from rita_demo.evaluation.rows import TIMEOUT, sqlite_errors, text_of, transaction

FILE = "artifacts.sqlite"
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS artifacts (place TEXT NOT NULL, picture TEXT NOT NULL, content TEXT NOT NULL, "
    "about TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (place, picture, content))"
)
Place = tuple[str, str, str]  # what it depends on, and the picture by name and content
Artifact = tuple[dict[str, Any], bytes]  # JSON about it, and half-precision features or a PNG file


class Artifacts:
    """The artifacts of a run folder, or with None those in ``known``; ``added``: the new ones, which :meth:`write`
    stores. Raises DataError: the file is damaged, or cannot be written."""

    def __init__(self, folder: Path | None, known: dict[Place, Artifact] | None = None) -> None:
        self.known, self.added, self._db = known or {}, dict[Place, Artifact](), None
        if folder is not None:
            self._path = folder / FILE
            with sqlite_errors(self._path):
                self._db = sqlite3.connect(self._path, TIMEOUT, isolation_level=None, check_same_thread=False)
                self._db.execute("PRAGMA synchronous = OFF")  # what a power cut damages can be deleted
                self._db.execute(SCHEMA)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()

    def find(self, place: str, item: DatasetItem) -> Artifact | None:
        """The artifact of a picture, if there is one."""
        key = (place, item.id, item.content)
        if artifact := self.added.get(key) or self.known.get(key):
            return artifact
        if self._db is None:
            return None
        sql = "SELECT about, data FROM artifacts WHERE place = ? AND picture = ? AND content = ?"
        with sqlite_errors(self._path):
            stored = self._db.execute(sql, key).fetchone()
        return None if stored is None else (json.loads(stored[0]), stored[1])

    def put(self, place: str, item: DatasetItem, about: dict[str, Any], data: bytes) -> None:
        """Add an artifact; made again, it would be the same."""
        self.added[place, item.id, item.content] = about, data

    def write(self) -> None:
        """Store what was added, in one transaction."""
        if self._db is not None and self.added:
            lines = [(*key, text_of(about), data) for key, (about, data) in self.added.items()]
            with sqlite_errors(self._path), transaction(self._db):
                self._db.executemany("INSERT OR IGNORE INTO artifacts VALUES (?, ?, ?, ?, ?)", lines)
            self.added.clear()

    def of_pictures(self, places: Iterable[str], items: Iterable[DatasetItem]) -> dict[Place, Artifact]:
        """What is known of some pictures, for another process."""
        pairs = product(places, items)
        return {(p, i.id, i.content): artifact for p, i in pairs if (artifact := self.find(p, i)) is not None}


def read_artifacts(folder: Path, place: str) -> list[tuple[str, bytes]]:
    """(picture, data) of the artifacts of a run folder at a place; none where they were deleted. Raises DataError: the file
    is damaged."""
    path = folder / FILE
    if not path.is_file():
        return []
    with sqlite_errors(path), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", TIMEOUT, uri=True)) as db:
        return db.execute("SELECT picture, data FROM artifacts WHERE place = ?", (place,)).fetchall()


def features_of(data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    """Half-precision features (..., D) as float32 of unit length."""
    features = np.frombuffer(data, "<f2").reshape(shape).astype(np.float32)
    features /= np.linalg.norm(features, axis=-1, keepdims=True).clip(1e-12)
    return features


def features_data(features: np.ndarray) -> bytes:
    """The inverse. Methods always start from the stored features, also when they were just made: a number does not depend on
    whether they were read back."""
    return features.astype("<f2").tobytes()
