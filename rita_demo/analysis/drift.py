"""Is this picture attacked? Measured drifts of clean and attacked pictures, and what a threshold finds among them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rita_demo.records import Array
from rita_demo.records.measurement import DriftRow

Kind = Literal["crop_offset", "noise"]


@dataclass(frozen=True)
class Detector:
    """Drifts of one kind, of clean pictures and of the same pictures under one attack, ascending."""

    kind: Kind
    attack: str
    clean: Array  # (n,)
    attacked: Array  # (m,)

    def false_alarms(self, threshold: float) -> float:
        """The share of the clean pictures at or above a threshold, in [0, 1]."""
        return _at_least(self.clean, threshold)

    def hits(self, threshold: float) -> float:
        """The share of the attacked pictures at or above a threshold, in [0, 1]."""
        return _at_least(self.attacked, threshold)

    @property
    def separation(self) -> float:
        """The chance that an attacked picture drifts more than a clean one (area under the ROC curve), in [0, 1]; 0.5:
        the drift says nothing. Ties count half."""
        below = np.searchsorted(self.clean, self.attacked, "left") + np.searchsorted(self.clean, self.attacked, "right")
        return float(below.mean() / 2 / len(self.clean))

    def threshold(self, false_alarms: float) -> float:
        """The lowest of the clean drifts, or just above the highest, with at most this share of false alarms."""
        candidates = [*self.clean, np.nextafter(self.clean[-1], np.inf)]
        return float(next(at for at in candidates if self.false_alarms(at) <= false_alarms))


def detector(rows: Iterable[DriftRow], kind: Kind, attack: str, square: str) -> Detector | None:
    """The drifts of the clean pictures and of those under ``attack``, both with ``square``; None: one was not measured."""
    of: dict[str, list[float]] = {"none": [], attack: []}
    for row in rows:
        if row.square == square and row.attack in of:
            of[row.attack].append(getattr(row, kind))
    clean, attacked = (np.sort(np.array(of[name])) for name in ("none", attack))
    return Detector(kind, attack, clean, attacked) if len(clean) and len(attacked) else None


def _at_least(ascending: np.ndarray, threshold: float) -> float:
    return 1 - float(np.searchsorted(ascending, threshold, "left")) / len(ascending)
