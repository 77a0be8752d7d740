"""What was encoded once: attacked squares as PNG, views in half precision; nothing is ever pickled.

Scoring always starts from the stored half-precision features, also the first time: a number does not
depend on whether its views were just encoded or read back.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rita_demo.data.pictures import open_picture, picture_of, png_bytes
from rita_demo.engine import Engine
from rita_demo.errors import DataError
from rita_demo.evaluation import files
from rita_demo.evaluation.collection import Entry
from rita_demo.records import CacheState, Glance, Picture, TextBank, ViewSet
from rita_demo.settings import Settings
from rita_demo.views import draw_boxes


@dataclass(frozen=True)
class Attacked:
    """What the attack did: ``linf`` in 1/255 and ``l2`` of the 8-bit square; see ``AttackTrace``."""

    linf: float = 0.0
    l2: float = 0.0
    fooled: bool = False
    already_wrong: bool | None = None  # unknown when nothing was attacked
    seconds: float = 0.0


@dataclass(frozen=True)
class Look:
    """One picture as the methods see it: ``glance.features`` (N, D) unit length, from half precision."""

    glance: Glance
    attacked: Attacked
    seconds: float  # views and encoding, when they were made


@dataclass
class Shelf:
    """Unit features of one shape per picture, in half precision: ``features.f16`` and one line each.

    The features are written before their line, so that a line never lacks its features.
    """

    folder: Path
    shape: tuple[int, ...]  # (..., D)
    listing: ClassVar[str] = "looks.jsonl"
    places: dict[tuple[str, int], tuple[int, dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        files.drop_torn_line(self._lines)
        rows = files.read_lines(self._lines)
        if self._file.is_file() and self._file.stat().st_size > len(rows) * self._bytes:
            with self._file.open("r+b") as file:
                file.truncate(len(rows) * self._bytes)
        self.places = {(row["id"], row["size"]): (at, row) for at, row in enumerate(rows)}

    @property
    def _lines(self) -> Path:
        return self.folder / self.listing

    @property
    def _file(self) -> Path:
        return self.folder / "features.f16"

    @property
    def _bytes(self) -> int:
        return 2 * math.prod(self.shape)

    def read(self, entry: Entry) -> tuple[int, dict[str, Any], np.ndarray] | None:
        """What is kept about a picture, if anything: its place, its line, its features, unit length."""
        if (entry.id, entry.size) not in self.places:
            return None
        place, row = self.places[entry.id, entry.size]
        with self._file.open("rb") as file:
            file.seek(place * self._bytes)
            data = file.read(self._bytes)
        if len(data) != self._bytes:
            raise DataError(
                "The stored features are shorter than their list.",
                f"Delete {self.folder.name} in the folder {self.folder.parent.name} and start again.",
            )
        features = np.frombuffer(data, "<f2").reshape(self.shape).astype(np.float32)
        features /= np.linalg.norm(features, axis=-1, keepdims=True).clip(1e-12)
        return place, row, features

    def write(self, entry: Entry, features: np.ndarray, row: dict[str, Any]) -> None:
        """Keep features and a line about a picture."""
        row = {"id": entry.id, "size": entry.size} | row
        files.append_bytes(self._file, features.astype("<f2").tobytes())
        files.append_line(self._lines, row)
        self.places[entry.id, entry.size] = (len(self.places), row)


@dataclass
class LookStore(Shelf):
    """The views (N, D) of one look: dataset, attack, views, seed. ``smallest``: the setting ``view_scale``."""

    smallest: float = 0.08

    def find(self, entry: Entry) -> Look | None:
        """The stored look at a picture, if there is one."""
        if (kept := self.read(entry)) is None:
            return None
        place, row, features = kept
        boxes, flipped = draw_boxes(self.shape[0], row["seed"], (self.smallest, 1.0))
        views = ViewSet(boxes, flipped, row["seed"])
        glance = Glance(views, features, f"{self.folder.name}/{place}")
        return Look(glance, Attacked(**row["attacked"]), row["seconds"])

    def add(
        self, entry: Entry, features: np.ndarray, seed: int, attacked: Attacked, seconds: float
    ) -> Look:
        """Store a look and give it back as it will be read."""
        row = {"seed": seed, "attacked": asdict(attacked), "seconds": round(seconds, 4)}
        self.write(entry, features, row)
        look = self.find(entry)
        assert look is not None  # it was just added
        return look


@dataclass
class AttackStore:
    """Attacked squares of one attack, as lossless PNG: other views and settings need no new attack."""

    folder: Path
    places: dict[tuple[str, int], tuple[int, Attacked]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        files.drop_torn_line(self.folder / "attacked.jsonl")
        rows = files.read_lines(self.folder / "attacked.jsonl")
        self.places = {
            (row["id"], row["size"]): (at, Attacked(**row["attacked"]))
            for at, row in enumerate(rows)
        }

    def picture(
        self,
        engine: Engine,
        entry: Entry,
        clean: Picture,
        bank: TextBank,
        settings: Settings,
        memory: CacheState | None = None,
    ) -> tuple[Picture, Attacked]:
        """The attacked square of a picture, made now if it was never made. ``memory``: what the defence
        remembers, for the attack that knows it."""
        key = (entry.id, entry.size)
        if key in self.places:
            place, attacked = self.places[key]
            png, side = self.folder / f"{place:06d}.png", clean.pixels.shape[0]
            return open_picture(png, square="model", side=side), attacked  # never resampled
        trace = engine.attack(clean, bank, settings, entry.label, cache=memory)
        attacked = Attacked(
            trace.linf, trace.l2, trace.fooled, trace.already_wrong, round(trace.seconds, 4)
        )
        place = len(self.places)
        files.write_whole(self.folder / f"{place:06d}.png", png_bytes(trace.pixels))
        row = {"id": entry.id, "size": entry.size, "attacked": asdict(attacked)}
        files.append_line(self.folder / "attacked.jsonl", row)
        self.places[key] = (place, attacked)
        return picture_of(trace.pixels), attacked


def look_at(
    engine: Engine,
    entry: Entry,
    bank: TextBank,
    settings: Settings,
    looks: LookStore,
    attacks: AttackStore | None,
    memory: CacheState | None = None,
) -> Look:
    """The look at a picture: read, or opened, attacked (where there is an attack), viewed, encoded, stored.

    ``settings`` carry the seeds of this picture; ``memory`` as in :meth:`AttackStore.picture`.
    """
    if (known := looks.find(entry)) is not None:
        return known
    picture = open_picture(entry.source(), square=settings.square, side=engine.info.side)
    attacked = Attacked()
    if attacks is not None:
        picture, attacked = attacks.picture(engine, entry, picture, bank, settings, memory)
    begin = time.perf_counter()
    glance = engine.look(picture, settings)
    seconds = time.perf_counter() - begin
    return looks.add(entry, glance.features, settings.view_seed, attacked, seconds)
