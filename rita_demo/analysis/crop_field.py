"""The crop field: on which of two answers' sides each crop, the whole picture and each defence stands."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rita_demo.records import Array, AttackStepResult, ImageResult, Run


@dataclass(frozen=True)
class CropFieldStep:
    """One attack step. Positions are differences of cosines in [-2, 2]: above 0 the reference class fits better."""

    step: int
    crops: Array  # (N,) each crop as the model sees it
    counted: Array  # (N,) the same after the defence moved crops or prompts
    share: Array  # (N,) the crop's part of the mass that RITA moves onto its answer; sums to 1
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
    pair = [run.label, rival_class(run)]
    steps = tuple(_at_step(run, step, sides[step], pair) for step in sorted(sides))
    return CropField(pair[0], pair[1], np.asarray(run.attacked.encoded_views.views.boxes), steps)


def rival_class(run: Run) -> int:
    """The wrong answer that the reference class is compared with: CLIP's on the delivered picture, else the first
    defence's that is wrong, else CLIP's second best."""
    verdicts = run.attacked.verdicts
    wrong = (verdicts[name].label for name in run.answered if verdicts[name].label != run.label)
    return int(next(wrong, np.argsort(verdicts["clip"].probability)[-2]))


def view_labels(side: ImageResult) -> Array:
    """The answer (N,) of each view alone, as the model sees it: before any step back."""
    before = side.trace.label_before_step
    return np.asarray(side.trace.confidence.label if before is None else before)


def _at_step(run: Run, step: int, side: ImageResult, pair: list[int]) -> CropFieldStep:
    prompts, trace = run.class_prompts, side.trace

    def difference(views: Array, text: Array, weight: Array) -> Array:
        cosines = np.asarray(views) @ np.einsum("kmd,km->kd", text[pair], weight[pair]).T
        return cosines[:, 0] - cosines[:, 1]

    moved = trace.prompt_transport.plan[side.verdicts["rita"].label].sum(1)
    methods = {}
    for name in run.answered:
        logs = np.log(np.maximum(np.asarray(side.verdicts[name].probability, float)[pair], 1e-38))
        methods[name] = float(prompts.temperature * (logs[0] - logs[1]))
    return CropFieldStep(
        step,
        difference(side.encoded_views.features, prompts.features, prompts.weight),
        difference(trace.view_features, trace.prompt_features, trace.prompt_weight),
        moved / moved.sum(),
        view_labels(side),
        methods,
    )
