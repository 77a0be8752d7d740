"""The plain ensemble with RITA's crop weights: the control of RITA. What is left between the two is transport, prompt
update and memory."""

from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, answer_of, method
from rita_demo.process.lazy import Tensor


def logits(inputs: DefenceInput) -> Tensor:
    """``log sum_n a_n p_n(k)`` (K,), differentiable in the views. ``a_n`` is in proportion to what crop n leaves out of
    the picture: the setting ``view_weight=area``, which is recommended for RITA."""
    log_p = (inputs.views @ inputs.template_features.T / inputs.temperature).log_softmax(-1)
    weight = method.area_based_weight("area", inputs.area_fraction.to(log_p))
    return (log_p + weight.log()[:, None]).logsumexp(0)


DEFENCE = Defence(
    name="ensemble_area",
    title="Ensemble, area weights",
    sentence="Ensemble in which a crop counts more the less of the picture it shows, as RITA weighs its crops.",
    answer=answer_of(logits),
    adaptive=Adaptive("exact", logits, "The gradient goes through the weighted average over fresh crops."),
    attack_seconds=7,
    role="quiet",
    dash="dot",
    symbol="diamond-open",
)
