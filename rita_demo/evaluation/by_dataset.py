"""What a request means for one of its datasets: some settings follow from the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rita_demo.data.hand_prompts import of_dataset
from rita_demo.data.vocabularies import index_of
from rita_demo.evaluation.collection import PRESENT
from rita_demo.evaluation.request import NEXT, Request


def on(request: Request, dataset: str, names: Sequence[str] = ()) -> Request:
    """The request for one dataset, every setting a value that can be stored: CLIP's sentence is written out, and
    the attack's target (where the class ``names`` are known) as the dataset spells it.

    Raises:
        SettingError: the dataset has no sentence of its own. VocabularyError: it has no such class.
    """
    base = dataset.removesuffix(PRESENT)
    points = (
        point.but(hand_prompt=of_dataset(point.hand_prompt, base)) for point in request.points
    )
    target = request.target
    if names and target not in ("", NEXT):
        target = names[index_of(names, target)]
    return replace(request, datasets=(dataset,), points=tuple(dict.fromkeys(points)), target=target)
