"""Tuned prompts, kept: the costly part of RITA's answer depends on few settings and is done once.

A sweep over transport or memory settings, in this process or a later one, reads them back. As with views, an
answer always starts from what is stored in half precision, also the first time.
"""

from __future__ import annotations

import time

import numpy as np

from rita_demo.engine import Engine
from rita_demo.evaluation.collection import Entry
from rita_demo.evaluation.looks import Look, Shelf
from rita_demo.records import TextBank, Tuning
from rita_demo.settings import Settings

LARGEST = 1 << 20  # bytes per picture; larger vocabularies are tuned again in every process


def kept_shape(classes: int, width: int, settings: Settings) -> tuple[int, int, int] | None:
    """(K, P, D) of a store of tuned prompts; None when nothing is tuned, or it would need too much room."""
    tuned = settings.tuning_steps > 0 and settings.tuning_loss != "none"
    if not tuned or 2 * classes * settings.prompts * width > LARGEST:
        return None
    return classes, settings.prompts, width


class TuningStore(Shelf):
    """The tuned prompts (K, P, D) of every picture of one look, P = the learnable ones.

    Losses, movements and gradients are not kept: no table shows them.
    """

    def tuned(
        self, engine: Engine, entry: Entry, look: Look, bank: TextBank, settings: Settings
    ) -> tuple[Tuning, float]:
        """The prompt update of a picture, read or made and kept; and the seconds it took when it was made."""
        if entry not in self.place:
            begin = time.perf_counter()
            tuning = engine.tune(look.glance, bank, settings)
            row = {"seconds": round(time.perf_counter() - begin, 4)}
            self.write(entry, tuning.features[:, : settings.prompts], row)
        kept = self.read(entry)
        assert kept is not None  # it was just written
        row, learned = kept
        frozen = bank.features[:, settings.prompts :]
        nothing = np.zeros(0, np.float32)
        return Tuning(nothing, np.concatenate([learned, frozen], 1), nothing, nothing), row[
            "seconds"
        ]
