"""The prompt of plain CLIP (setting ``hand_prompt``): "a photo of a {}.", a dataset's own, or any other."""

from collections.abc import Sequence

from rita_demo.data.datasets import DATASETS
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.records.errors import SettingError
from rita_demo.settings import DEFAULT_PROMPT_TEMPLATE


def prompt_template(asked: str, names: Sequence[str]) -> str:
    """The prompt, with ``{}`` for a class name, that ``hand_prompt`` means for K class names: ``asked`` is ``photo``,
    ``dataset`` (of the ready list with these names), or the prompt itself.

    Raises:
        SettingError: ``dataset``, and no ready list has these names.
    """
    if asked != "dataset":
        return DEFAULT_PROMPT_TEMPLATE if asked == "photo" else asked
    for name, vocabulary in VOCABULARIES.items():
        if tuple(names) == vocabulary.names:
            return DATASETS[name].template
    message = f"hand_prompt=dataset needs a dataset's own class names ({', '.join(VOCABULARIES)}); these are others."
    raise SettingError(message, "Use hand_prompt=photo, or write the sentence itself: hand_prompt='a photo of a {}.'.")


def resolve_hand_prompt(asked: str, dataset: str) -> str:
    """``hand_prompt`` for a dataset: ``photo`` (also where the dataset's own prompt is that one) or the prompt itself.

    Raises:
        SettingError: ``dataset``, and CoOp has no prompt for it.
    """
    if asked == "dataset":
        if dataset not in DATASETS:
            known = f"hand_prompt=dataset is for {', '.join(DATASETS)}."
            message = f"There is no sentence for the folder {dataset[:60]!r}: {known}"
            raise SettingError(message, "Write it yourself: --set hand_prompt='a photo of a {}.'.")
        asked = DATASETS[dataset].template
    return "photo" if asked == DEFAULT_PROMPT_TEMPLATE else asked
