"""Where artifacts of a picture are stored: in packed files or PNG files on disk, or in memory.

An artifact is made once per picture: its encoded views, its attacked square, or its tuned prompts. In memory it can
travel to another process and back.
"""

from dataclasses import dataclass
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
        return self.artifact

    def put(self, item: DatasetItem, artifact: Artifact) -> None:
        if self.artifact is None:
            self.artifact = self.added = artifact


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

    def __contains__(self, item: DatasetItem) -> bool:
        return (item.id, item.size) in self.positions

    def find(self, item: DatasetItem) -> Artifact | None:
        """The artifact of a picture, if it is stored."""
        if item not in self:
            return None
        position, row = self.positions[item.id, item.size]
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

    def put(self, item: DatasetItem, artifact: Artifact) -> None:
        """Store an artifact, unless the picture has one: made again, it would be the same."""
        if item in self:
            return
        row, position = {"id": item.id, "size": item.size} | artifact.row, len(self.positions)
        if self.item_bytes is None:
            files.atomic_write(self._png(position), artifact.data)
        else:
            files.append_bytes(self._packed, artifact.data)
        files.append_line(self._index_file, row)
        self.positions[item.id, item.size] = (position, row)

    def _png(self, position: int) -> Path:
        return self.folder / f"{position:06d}.png"


ArtifactStore = MemoryStore | DirectoryStore
