"""The crops of a run: on which of two answers' sides they and each defence stand (the crop field), how much of the attack is
left in each, some of them in a plane with some sentences, and their entropy before and after the prompt update."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rita_demo.records import Array, AttackStepResult, ImageResult, Run

PLACES, SENTENCES = (0.1, 0.5, 0.9), 2  # of the small plan: its crops' places in their order, its sentences


@dataclass(frozen=True)
class CropFieldStep:
    """One attack step. Positions are differences of cosines in [-2, 2]: above 0 the reference class fits better."""

    step: int
    crops: Array  # (N,) each crop as the model sees it
    answers: Array  # (N,) the class of each crop alone
    methods: dict[str, float]  # name of a defence -> its own margin between the two classes


@dataclass(frozen=True)
class CropField:
    """Where the crops stand between two answers, along the attack."""

    reference: int  # the class that counts as right
    rival: int  # the class it is compared with
    boxes: Array  # (N, 4) left, top, right, bottom of each crop as shares of the side
    steps: tuple[CropFieldStep, ...]  # in order, the last is the delivered picture


def crop_field(run: Run, step_results: Sequence[AttackStepResult] = ()) -> CropField:
    """The crop field of a run, at the delivered picture (``run.attacked``) and at ``step_results``, in any order."""
    sides = {result.step: result.image_result for result in step_results}
    last = 0 if run.attack is None else len(run.attack.frames) - 1
    sides |= {0: run.clean, last: run.attacked}
    pair, steps = [run.label, rival_class(run)], []
    for step, side in sorted(sides.items()):
        methods = {}
        for name in run.answered:
            logs = np.log(np.maximum(np.asarray(side.verdicts[name].probability, float)[pair], 1e-38))
            methods[name] = float(run.class_prompts.temperature * (logs[0] - logs[1]))
        steps.append(CropFieldStep(step, margins(run, side, pair), view_labels(side), methods))
    boxes = np.asarray(run.attacked.encoded_views.views.boxes)
    return CropField(pair[0], pair[1], boxes, tuple(steps))


def rival_class(run: Run) -> int:
    """The class that the reference class is compared with, in the crop field and in the small plan: the wrong answer on
    ``run.attacked``; where every answer is the reference class, CLIP's second best."""
    wrong = run.wrong_answer
    return int(np.argsort(run.attacked.verdicts["clip"].probability)[-2]) if wrong is None else wrong


def view_labels(side: ImageResult) -> Array:
    """The answer (N,) of each view alone, as the model sees it: before any step back."""
    before = side.trace.label_before_step
    return np.asarray(side.trace.confidence.label if before is None else before)


def margins(run: Run, side: ImageResult, pair: Sequence[int]) -> Array:
    """(N,) by how much each view, as the model sees it, fits the first class of ``pair`` better than the second: the
    difference of its mean cosines with the weighted prompts, in [-2, 2]."""
    return between(run, side.encoded_views.features, pair)[0]


def between(run: Run, features: Array, pair: Sequence[int]) -> tuple[Array, Array]:
    """:func:`margins` (N,) of view features (N, D), and each view's class by its mean cosines (N,)."""
    prompts = run.class_prompts
    cosines = np.asarray(features) @ np.einsum("kmd,km->kd", prompts.features, prompts.weight).T
    return cosines[:, pair[0]] - cosines[:, pair[1]], cosines.argmax(1)


@dataclass(frozen=True)
class PushLeft:
    """How much of the fall of the margin between two classes is left in each view: why crops help against an attack on the whole
    picture, which is view 0."""

    share: Array  # (N,) fall / fall of view 0; below 0: the attack helps the right class in this crop
    median: int | None  # the crop with the median share of crops 1..N-1 (of two the lower); None without crops


def push_left(run: Run) -> PushLeft | None:
    """The fall of every view from the clean to the attacked picture; the margin is that of :func:`margins`, between the
    reference class and :func:`rival_class`. None: there is no attack, or it does not lower the whole picture's margin."""
    pair = run.label, rival_class(run)
    fall = margins(run, run.clean, pair) - margins(run, run.attacked, pair)
    if run.attack is None or not fall[0] > 0:
        return None
    share = fall / fall[0]
    order = 1 + np.argsort(share[1:], kind="stable")
    return PushLeft(share, int(order[(len(order) - 1) // 2]) if len(order) else None)


@dataclass(frozen=True)
class SmallTransport:
    """n crops and m sentences of two classes."""

    classes: tuple[int, int]  # the true class (or CLIP's clean answer) and its rival
    views: np.ndarray  # (n,) indices of the crops
    atoms: np.ndarray  # (2, m) indices of the sentences
    cost: np.ndarray  # (2, n, m) in cosine distance
    sentence_at: np.ndarray  # (2, m, 2) in a plane


def small_transport(run: Run, side: ImageResult, rival: int) -> SmallTransport:
    """Three crops, at ``PLACES`` of their order by how well they fit the rival beside the true class; and of both classes the
    two sentences that differ most.

    The first axis of the plane leads from the rival's sentences to those of the true class, the second is the largest
    difference between two sentences of one class."""
    classes, trace = (run.label, rival), side.trace
    x, z = (np.asarray(part, np.float64) for part in (trace.view_features, trace.prompt_features))
    z = z[list(classes)]
    cost = 1 - np.einsum("nd,cmd->cnm", x, z)
    weight = np.asarray(trace.prompt_weight, np.float64)[list(classes), None]
    margin = ((cost * weight).sum(2) * [[-1], [1]]).sum(0)
    carrying = np.flatnonzero(np.asarray(trace.view_weight) > 0)
    order = carrying[np.argsort(margin[carrying], kind="stable")]
    views = order[np.unique((np.array(PLACES) * (len(order) - 1)).round().astype(int))]
    atoms = _most_different(z, weight[:, 0])
    z = np.take_along_axis(z, atoms[:, :, None], 1)
    return SmallTransport(classes, views, atoms, np.take_along_axis(cost[:, views], atoms[:, None], 2), z @ _plane(z))


def _most_different(z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(2, m) the sentences of each class that are farthest apart; m is 1 where a class has only one."""
    pairs = []
    for features, own in zip(z, weight, strict=True):
        real = np.flatnonzero(own > 0)
        likeness = features[real] @ features[real].T
        pairs.append(real[sorted(np.unravel_index(likeness.argmin(), likeness.shape))])
    if any(len(set(pair)) < SENTENCES for pair in pairs):
        pairs = [pair[:1] for pair in pairs]
    return np.stack(pairs)


def _plane(z: np.ndarray) -> np.ndarray:
    """(D, 2) orthonormal axes for the sentences (2, m, D)."""
    between = z[0].mean(0) - z[1].mean(0)
    first = between / max(np.linalg.norm(between), 1e-12)
    within = (z - z.mean(1, keepdims=True)).reshape(-1, z.shape[2])
    second = np.linalg.svd(within - np.outer(within @ first, first), full_matrices=False)[2][0]
    second = second - (second @ first) * first
    return np.stack([first, second / max(np.linalg.norm(second), 1e-12)], 1)


def entropies(side: ImageResult, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """H_n of every view (N,) in nats under the initial and under the tuned prompts (definition 8).

    Computed from the costs of the trace: ``mean_m cos = 1 - mean_m C[n, m]``, or ``log p_n(k) = -C[n, m] / tau``. ``cache_text`` names the one of the two
    that decided which views are confident. ``temperature``: tau."""
    weight = np.asarray(side.trace.prompt_weight, np.float64)
    both = []
    for moved in (side.trace.untuned_prompt_transport, side.trace.prompt_transport):
        logit = (1 - np.einsum("knm,km->nk", np.asarray(moved.cost, np.float64), weight)) / temperature
        logit -= logit.max(1, keepdims=True)
        share = np.exp(logit)
        total = share.sum(1, keepdims=True)
        both.append(np.log(total[:, 0]) - (share / total * logit).sum(1))
    return both[0], both[1]
