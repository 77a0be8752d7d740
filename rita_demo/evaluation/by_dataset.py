"""What a request means for one of its datasets: some settings follow from the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rita_demo.data.datasets import DATASETS
from rita_demo.data.hand_prompts import of_dataset
from rita_demo.data.vocabularies import index_of
from rita_demo.evaluation.collection import PRESENT
from rita_demo.evaluation.request import NEXT, Request


def on(request: Request, dataset: str, names: Sequence[str] = ()) -> Request:
    """The request for one dataset, every setting a value that can be stored: CLIP's sentence is written out, what the
    paper has otherwise for this dataset is put in, and the attack's target (where the class ``names`` are
    known) is as the dataset spells it.

    Raises:
        SettingError: the dataset has no sentence of its own. VocabularyError: it has no such class.
    """
    base = dataset.removesuffix(PRESENT)
    points = (
        point.but(hand_prompt=of_dataset(point.hand_prompt, base), **_own(request, base))
        for point in request.points
    )
    target = request.target
    if names and target not in ("", NEXT):
        target = names[index_of(names, target)]
    return replace(request, datasets=(dataset,), points=tuple(dict.fromkeys(points)), target=target)


def left_to_it(request: Request, dataset: str) -> dict[str, Any]:
    """The settings that the request leaves to the dataset, with the values they have for it."""
    if not request.by_dataset:
        return {}
    point = on(request, dataset).points[0]
    return {name: getattr(point, name) for name in sorted(request.by_dataset)}


def _own(request: Request, base: str) -> dict[str, Any]:
    paper = DATASETS[base].paper if base in DATASETS else {}
    return {name: value for name, value in paper.items() if name in request.by_dataset}
