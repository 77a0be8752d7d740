"""What was encoded once: attacked squares as PNG, views in half precision.

Scoring always starts from the stored half-precision features, also the first time: a number does not
depend on whether its views were just encoded or read back.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rita_demo.data.pictures import open_picture, picture_of, png_bytes
from rita_demo.engine import Engine
from rita_demo.evaluation.collection import Entry
from rita_demo.evaluation.kept import Kept, Place
from rita_demo.records import AttackTrace, CacheState, Glance, Picture, TextBank, ViewSet
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
    """Unit features of one shape per picture, kept in half precision."""

    place: Place
    shape: tuple[int, ...]  # (..., D)

    def read(self, entry: Entry) -> tuple[dict[str, Any], np.ndarray] | None:
        """What is kept about a picture, if anything: its line, and its features at unit length."""
        if (kept := self.place.find(entry)) is None:
            return None
        features = np.frombuffer(kept.data, "<f2").reshape(self.shape).astype(np.float32)
        features /= np.linalg.norm(features, axis=-1, keepdims=True).clip(1e-12)
        return kept.row, features

    def write(self, entry: Entry, features: np.ndarray, row: dict[str, Any]) -> None:
        """Keep features and a line about a picture."""
        self.place.keep(entry, Kept(row, features.astype("<f2").tobytes()))


@dataclass
class LookStore(Shelf):
    """The views (N, D) of one look: dataset, attack, views, seed. ``smallest``: the setting ``view_scale``."""

    smallest: float

    def find(self, entry: Entry) -> Look | None:
        """The stored look at a picture, if there is one."""
        if (kept := self.read(entry)) is None:
            return None
        row, features = kept
        boxes, flipped = draw_boxes(len(features), row["seed"], (self.smallest, 1.0))
        views = ViewSet(boxes, flipped, row["seed"])
        glance = Glance(views, features, f"{self.place.name}/{entry.id}")
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

    place: Place

    def picture(
        self,
        engine: Engine,
        entry: Entry,
        clean: Picture,
        bank: TextBank,
        settings: Settings,
        memory: CacheState | None = None,
        target: int | None = None,
    ) -> tuple[Picture, Attacked]:
        """The attacked square of a picture, made now if it was never made. ``memory``: what the defence
        remembers, for the attack that knows it; ``target``: the class to reach."""
        if (kept := self.place.find(entry)) is not None:
            side = clean.pixels.shape[0]  # never resampled
            return open_picture(kept.data, square="model", side=side), Attacked(
                **kept.row["attacked"]
            )
        trace = engine.attack(clean, bank, settings, entry.label, target, cache=memory)
        return picture_of(trace.pixels), self.keep(entry, trace)

    def keep(self, entry: Entry, trace: AttackTrace) -> Attacked:
        """Keep what an attack delivered, and what it did."""
        attacked = Attacked(
            trace.linf, trace.l2, trace.fooled, trace.already_wrong, round(trace.seconds, 4)
        )
        self.place.keep(entry, Kept({"attacked": asdict(attacked)}, png_bytes(trace.pixels)))
        return attacked


def look_at(
    engine: Engine,
    entry: Entry,
    bank: TextBank,
    settings: Settings,
    looks: LookStore,
    attacks: AttackStore | None,
    memory: CacheState | None = None,
    target: int | None = None,
) -> Look:
    """The look at a picture: read, or opened, attacked (where there is an attack), viewed, encoded, stored.

    ``settings`` carry the seeds of this picture; ``memory`` and ``target`` as in
    :meth:`AttackStore.picture`.
    """
    if (known := looks.find(entry)) is not None:
        return known
    picture = open_picture(entry.source(), square=settings.square, side=engine.info.side)
    attacked = Attacked()
    if attacks is not None:
        picture, attacked = attacks.picture(engine, entry, picture, bank, settings, memory, target)
    begin = time.perf_counter()
    glance = engine.look(picture, settings)
    seconds = time.perf_counter() - begin
    return looks.add(entry, glance.features, settings.view_seed, attacked, seconds)
