"""Where artifacts of a picture are stored: in packed files or PNG files on disk, or in memory.

An artifact is made once per picture: its encoded views, its attacked square, or its tuned prompts. In memory it can
travel to another process and back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rita_demo.evaluation.pictures import DatasetItem
from rita_demo.evaluation.store import files
from rita_demo.records.errors import DataError


@dataclass(frozen=True)
class Artifact:
    """What was made for a picture: ``data`` (features in half precision, or a PNG file) and a JSON ``row``."""

    row: dict[str, Any]
    data: bytes


@dataclass
class MemoryStore:
    """Holds the artifact of one picture; ``added`` is the one that was put here, if any."""

    artifact: Artifact | None = None
    added: Artifact | None = None
    name: str = "memory"

    def __contains__(self, item: DatasetItem) -> bool:
        return self.artifact is not None

    def find(self, item: DatasetItem) -> Artifact | None:
        """The stored artifact."""
        return self.artifact

    def put(self, item: DatasetItem, artifact: Artifact) -> None:
        """Store an artifact, unless there is one."""
        if self.artifact is None:
            self.artifact = self.added = artifact


@dataclass
class DirectoryStore:
    """Artifacts on disk: one line per picture in ``index_name``, the data found by the number of the line.

    Data are written before their line, so that every line has its data.
    """

    folder: Path
    index_name: str
    positions: dict[tuple[str, int], tuple[int, dict[str, Any]]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.name = self.folder.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self._index_file = self.folder / self.index_name
        files.truncate_partial_line(self._index_file)
        rows = files.read_lines(self._index_file)
        self._truncate_to(len(rows))
        self.positions = {(row["id"], row["size"]): (at, row) for at, row in enumerate(rows)}

    def __contains__(self, item: DatasetItem) -> bool:
        return (item.id, item.size) in self.positions

    def find(self, item: DatasetItem) -> Artifact | None:
        """The artifact of a picture, if it is stored."""
        if item not in self:
            return None
        position, row = self.positions[item.id, item.size]
        return Artifact(row, self._read(position))

    def put(self, item: DatasetItem, artifact: Artifact) -> None:
        """Store an artifact, unless the picture has one: made again, it would be the same."""
        if item in self:
            return
        row = {"id": item.id, "size": item.size} | artifact.row
        self._write(len(self.positions), artifact.data)
        files.append_line(self._index_file, row)
        self.positions[item.id, item.size] = (len(self.positions), row)

    def _truncate_to(self, count: int) -> None:
        """Remove data beyond ``count`` pictures: a killed process wrote them without their line."""

    def _read(self, position: int) -> bytes:
        raise NotImplementedError

    def _write(self, position: int, data: bytes) -> None:
        raise NotImplementedError


@dataclass
class PackedStore(DirectoryStore):
    """Data of ``item_bytes`` bytes each, one after the other in ``features.f16``."""

    item_bytes: int

    @property
    def _file(self) -> Path:
        return self.folder / "features.f16"

    def _truncate_to(self, count: int) -> None:
        if self._file.is_file() and self._file.stat().st_size > count * self.item_bytes:
            with self._file.open("r+b") as file:
                file.truncate(count * self.item_bytes)

    def _read(self, position: int) -> bytes:
        with self._file.open("rb") as file:
            file.seek(position * self.item_bytes)
            data = file.read(self.item_bytes)
        if len(data) != self.item_bytes:
            raise DataError(
                "The stored features are shorter than their list.",
                f"Delete {self.folder.name} in the folder {self.folder.parent.name} and start again.",
            )
        return data

    def _write(self, position: int, data: bytes) -> None:
        files.append_bytes(self._file, data)


@dataclass
class PngStore(DirectoryStore):
    """A numbered PNG file per picture."""

    def _read(self, position: int) -> bytes:
        return (self.folder / f"{position:06d}.png").read_bytes()

    def _write(self, position: int, data: bytes) -> None:
        files.atomic_write(self.folder / f"{position:06d}.png", data)


ArtifactStore = MemoryStore | DirectoryStore
