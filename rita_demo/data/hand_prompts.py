"""The sentence that plain CLIP is asked with: "a photo of a", a dataset's own, or any other."""

from __future__ import annotations

from collections.abc import Sequence

from rita_demo.data.datasets import DATASETS
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.errors import SettingError
from rita_demo.settings import HAND_SENTENCE


def hand_sentence(asked: str, names: Sequence[str]) -> str:
    """The sentence with ``{}`` for a class name that the setting ``hand_prompt`` means for these names.

    Args:
        asked: ``photo``, ``dataset`` (of the ready list that the names are), or the sentence itself.
        names: K class names.

    Raises:
        SettingError: ``dataset``, and the names are no ready list's.
    """
    if asked != "dataset":
        return HAND_SENTENCE if asked == "photo" else asked
    for name, vocabulary in VOCABULARIES.items():
        if tuple(names) == vocabulary.names:
            return DATASETS[name].template
    raise SettingError(
        f"hand_prompt=dataset needs a dataset's own class names ({', '.join(VOCABULARIES)}); these are others.",
        "Go back to hand_prompt=photo, or write the sentence itself: hand_prompt='a photo of a {}.'.",
    )


def of_dataset(asked: str, dataset: str) -> str:
    """``hand_prompt`` for a dataset by its name: ``photo``, or the sentence itself, and ``dataset`` no more.

    A dataset whose own sentence is "a photo of a {}." has ``photo``: it is the same measurement.

    Raises:
        SettingError: ``dataset``, and CoOp has no sentence for it.
    """
    if asked == "dataset":
        if dataset not in DATASETS:
            raise SettingError(
                f"There is no sentence for the folder {dataset[:60]!r}: hand_prompt=dataset is for "
                f"{', '.join(DATASETS)}.",
                "Write it yourself: --set hand_prompt='a photo of a {}.'.",
            )
        asked = DATASETS[dataset].template
    return "photo" if asked == HAND_SENTENCE else asked
