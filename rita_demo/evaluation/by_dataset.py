"""What a request means for one of its datasets: some settings follow from the dataset."""

from __future__ import annotations

from dataclasses import replace

from rita_demo.data.hand_prompts import of_dataset
from rita_demo.evaluation.collection import PRESENT
from rita_demo.evaluation.request import Request


def on(request: Request, dataset: str) -> Request:
    """The request for one dataset, every setting a value that can be stored: CLIP's sentence is written out.

    Raises:
        SettingError: the dataset has no sentence of its own.
    """
    base = dataset.removesuffix(PRESENT)
    points = (
        point.but(hand_prompt=of_dataset(point.hand_prompt, base)) for point in request.points
    )
    return replace(request, datasets=(dataset,), points=tuple(dict.fromkeys(points)))
