"""The plain ensemble: the mean over all views. A defence has to be better than this to be worth its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, verdict_of
from rita_demo.records import Verdict
from rita_demo.records.errors import SettingError
from rita_demo.settings import Settings
from rita_demo.settings.setting import Setting

if TYPE_CHECKING:
    from torch import Tensor


def ensemble(
    view_features: Tensor,
    template_features: Tensor,
    temperature: float,
    average: str = "probability",
    weight: Tensor | None = None,
) -> Verdict:
    """Mean of the views' answers, taken over probabilities, logits or features.

    Args:
        view_features: (N, D) unit length.
        template_features: (K, D) unit length.
        temperature: tau.
        average: "probability", "logit" or "feature".
        weight: (N,) weight of each view, sums to 1; None: all views count the same.
    """
    if average == "probability":
        probability = (view_features @ template_features.T / temperature).softmax(-1)
        return verdict_of(probability.mean(0) if weight is None else weight.to(probability) @ probability)
    return verdict_of(mean_logits(view_features, template_features, temperature, average, weight).softmax(-1))


def mean_logits(
    view_features: Tensor,
    template_features: Tensor,
    temperature: float,
    average: str = "probability",
    weight: Tensor | None = None,
) -> Tensor:
    """Logits (K,) whose softmax is the probability of :func:`ensemble`, with the same arguments; differentiable."""
    from torch.nn.functional import normalize

    def mean(of: Tensor) -> Tensor:
        return of.mean(0) if weight is None else weight.to(of) @ of

    if average == "feature":
        return normalize(mean(view_features), dim=-1) @ template_features.T / temperature
    logits = view_features @ template_features.T / temperature
    if average == "logit":
        return mean(logits)
    n = len(logits)
    share = logits.new_full((n,), 1 / n) if weight is None else weight.to(logits)
    return (logits.log_softmax(-1) + share.log()[:, None]).logsumexp(0)


def answer(inputs: DefenceInput) -> Verdict:
    """The ensemble with its own settings.

    Raises:
        SettingError: descriptions are asked for, but there are none.
    """
    return ensemble(*_arguments(inputs))


def logits(inputs: DefenceInput) -> Tensor:
    """The logarithm of the mean probability (or the mean logits, or those of the mean feature), (K,)."""
    return mean_logits(*_arguments(inputs))


def _arguments(inputs: DefenceInput) -> tuple[Tensor, Tensor, float, str, Tensor | None]:
    """Views after the step, sentences, temperature, average and weights: the arguments of :func:`ensemble`."""
    from rita_demo.method.confidence import area_based_weight
    from rita_demo.method.step_back import step_back

    own, kind = inputs.own, inputs.own["weight"]
    text = inputs.template_features if own["text"] == "template" else inputs.description_features
    if text is None:
        raise SettingError(
            "ensemble_text=descriptions needs class descriptions, but descriptions is none.",
            "Set descriptions as well, or go back to ensemble_text=template.",
        )
    views = step_back(inputs.views, own["step_back"], inputs.area_fraction)
    weight = None if kind == "uniform" else area_based_weight(kind, inputs.area_fraction)
    return views, text, inputs.temperature, own["average"], weight


def _ignored_settings(settings: Settings) -> frozenset[str]:
    """Only one of the two kinds of sentences is used."""
    return frozenset({"descriptions" if settings.ensemble_text == "template" else "hand_prompt"})


DEFENCE = Defence(
    name="ensemble",
    title="Ensemble",
    sentence="The same CLIP asked about 64 random crops of the picture; the answers are averaged.",
    answer=answer,
    adaptive=Adaptive("exact", logits, "The gradient goes through the average over fresh crops."),
    uses=("hand_prompt", "descriptions"),
    ignored_settings=_ignored_settings,
    role="quiet",
    dash="dash",
    symbol="diamond",
    paper_name="Ensemble",
    settings=(
        Setting(
            "average",
            "choice",
            "probability",
            "What Ensemble averages",
            "The crops' answers as probabilities, their logits, or the crops' features.",
            choices=("probability", "logit", "feature"),
            flat_name="ensemble_average",
        ),
        Setting(
            "weight",
            "choice",
            "uniform",
            "Ensemble's weight of a crop",
            "Every crop alike, or by what it leaves out or shows of the picture, as RITA may weigh them.",
            choices=("uniform", "area", "shown"),
            flat_name="ensemble_weight",
        ),
        Setting(
            "step_back",
            "float",
            0.0,
            "Ensemble's step back",
            "The same step for Ensemble's crops: how much of RITA's gain an average has as well.",
            low=0.0,
            high=10.0,
            flat_name="ensemble_step_back",
        ),
        Setting(
            "text",
            "choice",
            "template",
            "Ensemble's sentences",
            "One hand-written sentence per class, or the mean of its descriptions.",
            choices=("template", "descriptions"),
            flat_name="ensemble_text",
        ),
    ),
)
