"""Where things that were made once are kept, by picture: in a file, in PNG files, or on a tray in memory.

Stores (``looks``, ``tuned``) say what is kept and how it is read; a place only holds it. On a tray it can
travel to another process and back; nothing here is ever pickled to disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rita_demo.errors import DataError
from rita_demo.evaluation import files
from rita_demo.evaluation.collection import Entry


@dataclass(frozen=True)
class Kept:
    """What was made for a picture: ``data`` (features in half precision, or a PNG file) and a JSON ``row``."""

    row: dict[str, Any]
    data: bytes


class Place(Protocol):
    """Holds one :class:`Kept` per picture."""

    name: str

    def __contains__(self, entry: Entry) -> bool: ...

    def find(self, entry: Entry) -> Kept | None:
        """What is kept about a picture, if anything."""

    def keep(self, entry: Entry, kept: Kept) -> None:
        """Keep it. What is there already stays: made again, it would be the same."""


@dataclass
class Tray:
    """A place for one picture, in memory: it holds what came with it, and tells what was ``made`` since."""

    kept: Kept | None = None
    made: Kept | None = None
    name: str = "tray"

    def __contains__(self, entry: Entry) -> bool:
        return self.kept is not None

    def find(self, entry: Entry) -> Kept | None:
        return self.kept

    def keep(self, entry: Entry, kept: Kept) -> None:
        if self.kept is None:
            self.kept = self.made = kept


@dataclass
class Folder:
    """A place on disk: one line per picture in ``listing``, its data found by the number of the line.

    The data are written before their line, so that a line never lacks them.
    """

    folder: Path
    listing: str
    places: dict[tuple[str, int], tuple[int, dict[str, Any]]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        self.name = self.folder.name
        self.folder.mkdir(parents=True, exist_ok=True)
        files.drop_torn_line(self._lines)
        rows = files.read_lines(self._lines)
        self._begin(len(rows))
        self.places = {(row["id"], row["size"]): (at, row) for at, row in enumerate(rows)}

    @property
    def _lines(self) -> Path:
        return self.folder / self.listing

    def __contains__(self, entry: Entry) -> bool:
        return (entry.id, entry.size) in self.places

    def find(self, entry: Entry) -> Kept | None:
        if entry not in self:
            return None
        place, row = self.places[entry.id, entry.size]
        return Kept(row, self._read(place))

    def keep(self, entry: Entry, kept: Kept) -> None:
        if entry in self:
            return
        row = {"id": entry.id, "size": entry.size} | kept.row
        self._write(len(self.places), kept.data)
        files.append_line(self._lines, row)
        self.places[entry.id, entry.size] = (len(self.places), row)

    def _begin(self, count: int) -> None:
        """``count`` pictures are there; what a killed process left beyond them may go."""

    def _read(self, place: int) -> bytes:
        raise NotImplementedError

    def _write(self, place: int, data: bytes) -> None:
        raise NotImplementedError


@dataclass
class OneFile(Folder):
    """Data of one ``length`` in bytes, one after the other in ``features.f16``."""

    length: int

    @property
    def _file(self) -> Path:
        return self.folder / "features.f16"

    def _begin(self, count: int) -> None:
        if self._file.is_file() and self._file.stat().st_size > count * self.length:
            with self._file.open("r+b") as file:
                file.truncate(count * self.length)

    def _read(self, place: int) -> bytes:
        with self._file.open("rb") as file:
            file.seek(place * self.length)
            data = file.read(self.length)
        if len(data) != self.length:
            raise DataError(
                "The stored features are shorter than their list.",
                f"Delete {self.folder.name} in the folder {self.folder.parent.name} and start again.",
            )
        return data

    def _write(self, place: int, data: bytes) -> None:
        files.append_bytes(self._file, data)


@dataclass
class Pngs(Folder):
    """A PNG file per picture, numbered."""

    def _read(self, place: int) -> bytes:
        return (self.folder / f"{place:06d}.png").read_bytes()

    def _write(self, place: int, data: bytes) -> None:
        files.write_whole(self.folder / f"{place:06d}.png", data)
