"""The small plan of "What does RITA add?": three crops of the picture on screen and two sentences of each of two classes."""

from typing import Any

import numpy as np

from rita_demo.figures.analysis.crop_field import rival_class, small_transport
from rita_demo.figures.labels import truncated
from rita_demo.records import Run

CROPS, SENTENCE_LENGTH = 3, 48


def small_plan(run: Run) -> dict[str, Any] | None:
    """Three crops, from top to bottom by which sentence of the reference class they lean to; None: there are fewer.

    "cost": of the reference class and of its rival, crop by crop, the cosine distance to each sentence. "pull": what a
    crop that moves by one to the right, or down, comes nearer to each sentence, beside what it comes nearer to all of
    them. "at": how far right a crop stands: 0 where it fits both classes alike."""
    small = small_transport(run, run.attacked, rival_class(run))
    if len(small.views) < CROPS:
        return None
    cost, pull, atoms = small.cost, small.sentence_at - small.sentence_at.mean((0, 1)), small.atoms
    if cost.shape[2] > 1:  # the first sentence of each class is the one that the top crop leans to
        leans = cost[..., 0] - cost[..., 1]
        order = np.argsort(leans[0], kind="stable")
        order = order if order[0] < order[-1] else order[::-1]
        cost, views = cost[:, order], small.views[order]
        turned = leans[:, order[0]] > leans[:, order[-1]]
        for c in np.flatnonzero(turned):
            cost[c], pull[c], atoms[c] = cost[c, :, ::-1], pull[c, ::-1], atoms[c, ::-1]
        if (pull[:, 0, 1] > pull[:, 1, 1]).sum() * 2 > len(pull):  # down is towards the second
            pull[..., 1] *= -1
    else:
        views = small.views
    apart = pull[0, :, 0].mean() - pull[1, :, 0].mean()
    return {
        "views": views.tolist(),
        "at": ((cost[1].mean(1) - cost[0].mean(1)) / apart).round(5).tolist(),
        "cost": cost.round(6).tolist(),
        "pull": pull.round(5).tolist(),
        "sentences": [
            [_sentence(run.class_prompts.prompts[k][m]) for m in row]
            for k, row in zip(small.classes, atoms, strict=True)
        ],
    }


def _sentence(prompt: str) -> str:
    """A prompt; of a mean of several the first, and how many more there are."""
    first, _, more = prompt.partition(" (and ")
    several = more.endswith("their mean)")
    return (
        f"{truncated(first, SENTENCE_LENGTH).rstrip('.')} (and {more.split(' ')[0]} more)"
        if several
        else truncated(prompt, SENTENCE_LENGTH)
    )
