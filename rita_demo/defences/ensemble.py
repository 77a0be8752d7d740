"""The plain ensemble: the mean over all views. A defence has to be better than this to be worth its cost."""

from dataclasses import replace

from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, method, verdict_of
from rita_demo.process.lazy import Tensor, torch
from rita_demo.records import Verdict
from rita_demo.records.errors import SettingError
from rita_demo.settings.setting import Setting


def answer(inputs: DefenceInput) -> Verdict:
    """The mean of the views' answers, taken over probabilities, logits or features. Raises SettingError: descriptions
    are asked for, but there are none."""
    if inputs.params["average"] != "probability":
        return verdict_of(logits(inputs).softmax(-1))
    views, text, weight = _seen(inputs)
    return verdict_of(_mean((views @ text.T / inputs.temperature).softmax(-1), weight))


def logits(inputs: DefenceInput) -> Tensor:
    """Logits (K,) whose softmax is the probability of :func:`answer`, differentiable in the views."""
    views, text, weight = _seen(inputs)
    if inputs.params["average"] == "feature":
        return torch.nn.functional.normalize(_mean(views, weight), dim=-1) @ text.T / inputs.temperature
    each = views @ text.T / inputs.temperature
    if inputs.params["average"] == "logit":
        return _mean(each, weight)
    share = each.new_full((len(each),), 1 / len(each)) if weight is None else weight.to(each)
    return (each.log_softmax(-1) + share.log()[:, None]).logsumexp(0)


def _mean(values: Tensor, weight: Tensor | None) -> Tensor:
    return values.mean(0) if weight is None else weight.to(values) @ values


def _seen(inputs: DefenceInput) -> tuple[Tensor, Tensor, Tensor | None]:
    """Views (N, D) after the step, sentences (K, D), and weights (N,) that sum to 1; None: all views count the same."""
    params, kind = inputs.params, inputs.params["weight"]
    text = inputs.template_features if params["text"] == "template" else inputs.description_features
    if text is None:
        raise SettingError(
            "ensemble_text=descriptions needs class descriptions, but descriptions is none.",
            "Set descriptions as well, or go back to ensemble_text=template.",
        )
    views = method.step_back(inputs.views, params["step_back"], inputs.area_fraction)
    return views, text, None if kind == "uniform" else method.area_based_weight(kind, inputs.area_fraction)


AVERAGE_HELP = "The crops' answers as probabilities, their logits, or the crops' features."
WEIGHT_HELP = "Every crop alike, or by what it leaves out or shows of the picture, as RITA may weigh them."
STEP_BACK_HELP = "The same step for Ensemble's crops: how much of RITA's gain an average has as well."
TEXT_HELP = "One hand-written sentence per class, or the mean of its descriptions."
KINDS, WEIGHTS = ("probability", "logit", "feature"), ("uniform", "area", "shown")
OWN = (
    Setting("average", "choice", "probability", "What Ensemble averages", AVERAGE_HELP, choices=KINDS),
    Setting("weight", "choice", "uniform", "Ensemble's weight of a crop", WEIGHT_HELP, choices=WEIGHTS),
    Setting("step_back", "float", 0.0, "Ensemble's step back", STEP_BACK_HELP, low=0.0, high=10.0),
    Setting("text", "choice", "template", "Ensemble's sentences", TEXT_HELP, choices=("template", "descriptions")),
)
DEFENCE = Defence(
    name="ensemble",
    title="Ensemble",
    sentence="The same CLIP asked about the whole picture and 63 random crops; the answers are averaged.",
    answer=answer,
    adaptive=Adaptive("exact", logits, "The gradient goes through the average over fresh crops."),
    uses=("hand_prompt", "descriptions"),
    ignored_settings=lambda s: frozenset({"descriptions" if s.ensemble_text == "template" else "hand_prompt"}),
    role="quiet",
    dash="dash",
    symbol="diamond",
    paper_name="Ensemble",
    attack_seconds=7,
    settings=tuple(replace(setting, stored_name=f"ensemble_{setting.name}") for setting in OWN),
)
