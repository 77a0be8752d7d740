"""Stored tuned prompts: tuning is the costly part of RITA, and it depends on few settings.

A sweep over transport or cache settings reads them back, also in a later process. A decision always starts from the
stored half-precision features, also when they were just made.
"""

import time

import numpy as np

from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.pictures import DatasetItem
from rita_demo.evaluation.store.views_and_attacks import EncodedPicture, HalfPrecisionStore
from rita_demo.records import ClassPrompts, Tuning
from rita_demo.settings import Settings

MAX_BYTES = 1 << 20  # per picture; prompts of larger vocabularies are tuned again in every process


def stored_shape(classes: int, width: int, settings: Settings) -> tuple[int, int, int] | None:
    """Shape (K, P, D) of stored tuned prompts; None when nothing is tuned, or they are larger than ``MAX_BYTES``."""
    tuned = settings.tuning_steps > 0 and settings.tuning_loss != "none"
    if not tuned or 2 * classes * settings.prompts * width > MAX_BYTES:
        return None
    return classes, settings.prompts, width


class TunedPromptStore(HalfPrecisionStore):
    """The tuned prompts (K, P, D) of every picture, for one set of views; P counts the learnable prompts.

    Losses, movements and gradients are not stored: no table shows them.
    """

    def get_or_tune(
        self,
        engine: Engine,
        item: DatasetItem,
        encoded: EncodedPicture,
        class_prompts: ClassPrompts,
        settings: Settings,
    ) -> tuple[Tuning, float]:
        """The prompt update of a picture, stored if it was not yet, and the seconds that making it took."""
        stored = self.read(item)
        if stored is None:
            begin = time.perf_counter()
            tuning = engine.tune(encoded.encoded_views, class_prompts, settings)
            row = {"seconds": round(time.perf_counter() - begin, 4)}
            stored = self.write(item, tuning.features[:, : settings.prompts], row)
        row, tuned = stored
        frozen = class_prompts.features[:, settings.prompts :]
        nothing = np.zeros(0, np.float32)
        return Tuning(nothing, np.concatenate([tuned, frozen], 1), nothing, nothing), row["seconds"]
