"""The settings of a request for one of its datasets: some follow from the dataset."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rita_demo.data.datasets import paper_settings
from rita_demo.data.vocabularies import index_of, resolve_hand_prompt
from rita_demo.evaluation.pictures import PRESENT_SUFFIX
from rita_demo.evaluation.request import NEXT_CLASS, Request


def settings_for(request: Request, dataset: str, names: Sequence[str] = ()) -> Request:
    """The request for one dataset, with values that can be stored.

    CLIP's prompt template is written out, the settings that the request leaves to the dataset get the paper's values,
    and the target is spelled as in ``names``, the dataset's classes, if they are given.

    Raises:
        SettingError: the dataset has no prompt template. VocabularyError: it has no such class.
    """
    base = dataset.removesuffix(PRESENT_SUFFIX)
    paper = paper_settings(base, request.backbone)
    own: dict[str, Any] = {name: value for name, value in paper.items() if name in request.dataset_settings}
    points = (
        point.replace(hand_prompt=resolve_hand_prompt(point.hand_prompt, base), **own) for point in request.points
    )
    target = request.target
    if names and target not in ("", NEXT_CLASS):
        target = names[index_of(names, target)]
    return replace(request, datasets=(dataset,), points=tuple(dict.fromkeys(points)), target=target)


def dataset_defaults(request: Request, dataset: str) -> dict[str, Any]:
    """The settings that the request leaves to the dataset, where its values differ from the preset's."""
    own = paper_settings(dataset.removesuffix(PRESENT_SUFFIX), request.backbone)
    return {name: own[name] for name in sorted(own.keys() & request.dataset_settings)}
