"""What RITA is compared with: one function each, on the same encoded views. ``answer`` asks one by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from rita_demo.baselines.ensemble import ensemble
from rita_demo.baselines.mta import mta
from rita_demo.baselines.tpt import rtpt, tpt
from rita_demo.baselines.zero_shot import zero_shot
from rita_demo.errors import SettingError
from rita_demo.method.confidence import shares_weight
from rita_demo.method.step_back import step_back
from rita_demo.records import Verdict
from rita_demo.settings import Settings

__all__ = ["BASELINES", "Question", "answer", "ensemble", "mta", "rtpt", "tpt", "zero_shot"]


@dataclass(frozen=True)
class Question:
    """One picture's views and a vocabulary, as every baseline needs them.

    ``views`` (N, D) unit length; ``shown`` (N,), the share of the square that each shows, in (0, 1];
    ``hand`` (K, D), the prompt of plain CLIP; ``written`` (K, D), the mean direction of each class's
    descriptions, or None without any; ``context`` (1, L, E), "a photo of a"; ``encode`` turns contexts
    (1, L, E) into prompts (K, 1, D) and is differentiable.
    """

    views: Tensor
    shown: Tensor
    hand: Tensor
    written: Tensor | None
    context: Tensor
    encode: Callable[[Tensor], Tensor]
    temperature: float


BASELINES: dict[str, Callable[[Question, Settings], Verdict]] = {
    "clip": lambda q, _: zero_shot(q.views, q.hand, q.temperature),
    "ensemble": lambda q, s: ensemble(
        step_back(q.views, s.ensemble_step_back, q.shown),
        _texts(q, s),
        q.temperature,
        s.ensemble_average,
        _weights(q, s),
    ),
    "tpt": lambda q, _: tpt(q.views, q.encode, q.context, q.temperature),
    "ctpt": lambda q, s: tpt(q.views, q.encode, q.context, q.temperature, s.ctpt_weight),
    "mta": lambda q, _: mta(q.views, q.hand, q.temperature),
    "rtpt": lambda q, _: rtpt(q.views, q.encode, q.context, q.temperature),
}


def answer(name: str, question: Question, settings: Settings) -> Verdict:
    """What the baseline of that name answers.

    Raises:
        SettingError: a setting that cannot be used here; KeyError: no such baseline.
    """
    return BASELINES[name](question, settings)


def _weights(question: Question, settings: Settings) -> Tensor | None:
    """How much each view counts for the ensemble; None: all alike."""
    kind = settings.ensemble_weight
    return None if kind == "uniform" else shares_weight(kind, question.shown)


def _texts(question: Question, settings: Settings) -> Tensor:
    """What the ensemble compares the views with."""
    if settings.ensemble_text == "template":
        return question.hand
    if question.written is None:
        raise SettingError(
            "ensemble_text=descriptions needs class descriptions, but descriptions is none.",
            "Set descriptions as well, or go back to ensemble_text=template.",
        )
    return question.written
