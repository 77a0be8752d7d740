"""A few crops and sentences of two classes in one plane, small enough to draw the transport plan as arrows."""

from dataclasses import dataclass

import numpy as np

from rita_demo.records import ImageResult, Run

CROPS, SENTENCES = 3, 2


@dataclass(frozen=True)
class SmallTransport:
    """n crops and m sentences of two classes: ``cost = |crop_at - sentence_at|² / 2 + hidden`` (2, n, m) is the run's."""

    classes: tuple[int, int]  # the true class (or CLIP's clean answer) and its rival
    views: np.ndarray  # (n,) indices of the crops
    atoms: np.ndarray  # (2, m) indices of the sentences
    crop_at: np.ndarray  # (n, 2)
    sentence_at: np.ndarray  # (2, m, 2)
    hidden: np.ndarray  # (2, n, m) the part of the cosine distance that the plane does not show


def small_transport(run: Run, side: ImageResult, rival: int) -> SmallTransport:
    """The crops that fit the rival best, middling and worst, beside the true class, and of both classes the two
    sentences that differ most.

    The first axis leads from the rival's sentences to those of the true class, the second is the largest difference
    between two sentences of one class.
    """
    classes = run.label, rival
    trace = side.trace
    cost = np.asarray(trace.prompt_transport.cost, np.float64)[list(classes)]
    weight = np.asarray(trace.prompt_weight, np.float64)[list(classes), None]
    margin = ((cost * weight).sum(2) * [[-1], [1]]).sum(0)
    carrying = np.flatnonzero(np.asarray(trace.view_weight) > 0)
    order = carrying[np.argsort(margin[carrying], kind="stable")]
    views = order[np.unique(np.linspace(0, len(order) - 1, CROPS).round().astype(int))]
    z = np.asarray(trace.prompt_features, np.float64)[list(classes)]
    atoms = _most_different(z, weight[:, 0])
    z = np.take_along_axis(z, atoms[:, :, None], 1)
    x = np.asarray(trace.view_features, np.float64)[views]
    plane = _plane(z)
    crop_at, sentence_at = x @ plane, z @ plane
    cost = np.take_along_axis(cost[:, views], atoms[:, None], 2)
    shown = ((crop_at[None, :, None] - sentence_at[:, None]) ** 2).sum(-1) / 2
    return SmallTransport(classes, views, atoms, crop_at, sentence_at, cost - shown)


def _most_different(z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(2, m) the sentences of each class that are farthest apart; m is 1 where a class has only one."""
    found = []
    for features, own in zip(z, weight, strict=True):
        real = np.flatnonzero(own > 0)
        likeness = features[real] @ features[real].T
        found.append(real[sorted(np.unravel_index(likeness.argmin(), likeness.shape))])
    if any(len(set(pair)) < SENTENCES for pair in found):
        found = [pair[:1] for pair in found]
    return np.stack(found)


def _plane(z: np.ndarray) -> np.ndarray:
    """(D, 2) orthonormal axes for the sentences (2, m, D)."""
    between = z[0].mean(0) - z[1].mean(0)
    first = between / max(np.linalg.norm(between), 1e-12)
    within = (z - z.mean(1, keepdims=True)).reshape(-1, z.shape[2])
    second = np.linalg.svd(within - np.outer(within @ first, first), full_matrices=False)[2][0]
    second = second - (second @ first) * first
    return np.stack([first, second / max(np.linalg.norm(second), 1e-12)], 1)
