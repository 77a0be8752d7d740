"""Where artifacts of a picture are stored: in packed files or PNG files on disk, or in memory.

An artifact is made once per picture: its encoded views, its attacked square, or its tuned prompts. In memory it can
travel to another process and back. The key of a picture is its id and its size in bytes.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.evaluation.store import files
from rita_demo.process.output_file import replace_file
from rita_demo.records.errors import DataError

Key = tuple[str, int]


@dataclass(frozen=True)
class Artifact:
    """What was made for a picture: ``data`` (features in half precision, or a PNG file) and a JSON ``row``."""

    row: dict[str, Any]
    data: bytes


@dataclass
class MemoryStore:
    """Holds the ``known`` artifacts of some pictures; ``added``: those that were put here."""

    known: dict[Key, Artifact]
    added: dict[Key, Artifact] = field(default_factory=dict)
    name: str = "memory"

    def __contains__(self, key: Key) -> bool:
        return self.find(key) is not None

    def find(self, key: Key) -> Artifact | None:
        return self.known.get(key) or self.added.get(key)

    def put(self, key: Key, artifact: Artifact) -> None:
        self.added[key] = artifact


class DirectoryStore:
    """Artifacts on disk: one line per picture in ``index_name``, the data found by the number of the line.

    With ``item_bytes`` the data are so many bytes each, one after the other in ``features.f16``; without it, a numbered
    PNG file per picture. Data are written before their line, so that every line has its data.
    """

    def __init__(self, folder: Path, index_name: str, item_bytes: int | None = None) -> None:
        self.folder, self.name, self.item_bytes = folder, folder.name, item_bytes
        folder.mkdir(parents=True, exist_ok=True)
        self._index_file, self._packed = folder / index_name, folder / "features.f16"
        files.truncate_partial_line(self._index_file)
        rows = files.read_lines(self._index_file)
        if item_bytes is not None:
            files.truncate(self._packed, len(rows) * item_bytes)
        self.positions = {(row["id"], row["size"]): (at, row) for at, row in enumerate(rows)}

    def __contains__(self, key: Key) -> bool:
        return key in self.positions

    def find(self, key: Key) -> Artifact | None:
        """The artifact of a picture, if it is stored."""
        if key not in self:
            return None
        position, row = self.positions[key]
        if self.item_bytes is None:
            return Artifact(row, self._png(position).read_bytes())
        with self._packed.open("rb") as file:
            file.seek(position * self.item_bytes)
            data = file.read(self.item_bytes)
        if len(data) != self.item_bytes:
            raise DataError(
                "The stored features are shorter than their list.",
                f"Delete {self.folder.name} in the folder {self.folder.parent.name} and start again.",
            )
        return Artifact(row, data)

    def put(self, key: Key, artifact: Artifact) -> None:
        """Store an artifact, unless the picture has one: made again, it would be the same."""
        if key in self:
            return
        row, position = {"id": key[0], "size": key[1]} | artifact.row, len(self.positions)
        if self.item_bytes is None:
            replace_file(self._png(position), artifact.data)
        else:
            files.append_bytes(self._packed, artifact.data)
        files.append_line(self._index_file, row)
        self.positions[key] = (position, row)

    def _png(self, position: int) -> Path:
        return self.folder / f"{position:06d}.png"


ArtifactStore = MemoryStore | DirectoryStore


@dataclass(frozen=True)
class FeatureStore:
    """Unit features of one shape (..., D) per picture, stored in half precision.

    Methods always start from the stored features, also when they were just made: a number does not depend on whether
    they were read back.
    """

    store: ArtifactStore
    shape: tuple[int, ...]

    def find(self, key: Key) -> tuple[dict[str, Any], np.ndarray] | None:
        """The row and the features (float32, unit length) of a picture, if they are stored."""
        if (artifact := self.store.find(key)) is None:
            return None
        return artifact.row, unit_features(np.frombuffer(artifact.data, "<f2").reshape(self.shape))

    def put(self, key: Key, features: np.ndarray, row: dict[str, Any]) -> None:
        """Store the features and the row of a picture."""
        self.store.put(key, Artifact(row, features.astype("<f2").tobytes()))


def unit_features(stored: np.ndarray) -> np.ndarray:
    """Half-precision features (..., D) as float32 of unit length."""
    features = stored.astype(np.float32)
    features /= np.linalg.norm(features, axis=-1, keepdims=True).clip(1e-12)
    return features
