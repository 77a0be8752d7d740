"""Stored artifacts of pictures: attacked squares as PNG, encoded views in half precision.

Methods always start from the stored half-precision features, also when they were just encoded: a number does not
depend on whether its views were read back.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rita_demo.data.pictures import open_picture, picture_of, png_bytes
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.pictures import DatasetItem
from rita_demo.evaluation.store.artifacts import Artifact, ArtifactStore
from rita_demo.records import AttackTrace, CacheState, ClassPrompts, EncodedViews, Picture, ViewSet
from rita_demo.settings import Settings
from rita_demo.views.boxes import draw_boxes


@dataclass(frozen=True)
class AttackOutcome:
    """What the attack did: ``linf`` in 1/255 and ``l2`` of the 8-bit square; see ``AttackTrace``."""

    linf: float = 0.0
    l2: float = 0.0
    fooled: bool = False
    already_wrong: bool | None = None  # None without an attack
    seconds: float = 0.0
    gradient: float | None = None


@dataclass(frozen=True)
class EncodedPicture:
    """The input of all methods: ``encoded_views.features`` (N, D) of unit length, read from half precision.

    ``picture`` opens the delivered square, for a defence that reads pixels.
    """

    encoded_views: EncodedViews
    attack_outcome: AttackOutcome
    seconds: float  # of cutting and encoding the views, when they were made
    picture: Callable[[], Picture] | None = None


@dataclass
class HalfPrecisionStore:
    """Unit features of one shape per picture, stored in half precision."""

    store: ArtifactStore
    shape: tuple[int, ...]  # (..., D)

    def read(self, item: DatasetItem) -> tuple[dict[str, Any], np.ndarray] | None:
        """The row and the features (float32, unit length) of a picture, if they are stored."""
        if (artifact := self.store.find(item.key)) is None:
            return None
        return artifact.row, unit_features(np.frombuffer(artifact.data, "<f2").reshape(self.shape))

    def write(self, item: DatasetItem, features: np.ndarray, row: dict[str, Any]) -> tuple[dict[str, Any], np.ndarray]:
        """Store the features and the row of a picture, and return them as they are read back."""
        self.store.put(item.key, Artifact(row, features.astype("<f2").tobytes()))
        stored = self.read(item)
        assert stored is not None  # it was just written
        return stored


def unit_features(stored: np.ndarray) -> np.ndarray:
    """Half-precision features (..., D) as float32 of unit length."""
    features = stored.astype(np.float32)
    features /= np.linalg.norm(features, axis=-1, keepdims=True).clip(1e-12)
    return features


@dataclass
class EncodedPictureStore(HalfPrecisionStore):
    """The encoded views (N, D) for one dataset, attack, view settings and seed; ``view_scale`` is that setting."""

    view_scale: float

    def find(self, item: DatasetItem) -> EncodedPicture | None:
        """The stored views of a picture, if there are any."""
        stored = self.read(item)
        return None if stored is None else self._encoded(item, *stored)

    def _encoded(self, item: DatasetItem, row: dict[str, Any], features: np.ndarray) -> EncodedPicture:
        boxes, flipped = draw_boxes(len(features), row["seed"], self.view_scale)
        views = ViewSet(boxes, flipped, row["seed"])
        encoded_views = EncodedViews(views, features, f"{self.store.name}/{item.id}")
        return EncodedPicture(encoded_views, AttackOutcome(**row["attacked"]), row["seconds"])

    def add(
        self, item: DatasetItem, features: np.ndarray, seed: int, attack_outcome: AttackOutcome, seconds: float
    ) -> EncodedPicture:
        """Store the views of a picture and return them as they are read back."""
        row = {"seed": seed, "attacked": asdict(attack_outcome), "seconds": round(seconds, 4)}
        return self._encoded(item, *self.write(item, features, row))


@dataclass
class AttackedPictureStore:
    """Attacked squares of one attack as lossless PNG: other views and settings reuse them."""

    store: ArtifactStore

    def get_or_attack(
        self,
        engine: Engine,
        item: DatasetItem,
        clean: Picture,
        class_prompts: ClassPrompts,
        settings: Settings,
        cache: CacheState | None = None,
        target: int | None = None,
    ) -> tuple[Picture, AttackOutcome]:
        """The attacked square of a picture, attacked now if it is not stored.

        Args:
            cache: RITA's cache, for the attack that uses it. target: index of the class to reach.
        """
        if (artifact := self.store.find(item.key)) is not None:
            side = clean.pixels.shape[0]  # never resampled
            return open_picture(artifact.data, square="model", side=side), AttackOutcome(**artifact.row["attacked"])
        trace = engine.attack(clean, class_prompts, settings, item.label, target, cache=cache)
        return picture_of(trace.pixels), self.put(item, trace)

    def put(self, item: DatasetItem, trace: AttackTrace) -> AttackOutcome:
        """Store the result of an attack."""
        outcome = AttackOutcome(
            trace.linf, trace.l2, trace.fooled, trace.already_wrong, round(trace.seconds, 4), trace.gradient
        )
        self.store.put(item.key, Artifact({"attacked": asdict(outcome)}, png_bytes(trace.pixels)))
        return outcome
