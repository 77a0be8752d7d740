"""R-TPT: prompt tuning against attacks (Sheng et al. 2025)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rita_demo.defences.contract import TUNING_SENTENCE, Adaptive, Defence, DefenceInput, verdict_of
from rita_demo.records import Verdict

if TYPE_CHECKING:
    from torch import Tensor


def rtpt(inputs: DefenceInput) -> Verdict:
    """Lower ``mean_n H(p_n)`` over the most confident views, then ``sum_n w_n logits_n``.

    ``w = softmax(mean cosine to the 20 nearest other views / 0.01)``.
    """
    return verdict_of(logits(inputs).softmax(-1))


def logits(inputs: DefenceInput) -> Tensor:
    """``sum_n w_n logits_n`` (K,), differentiable in the views; the tuned prompt is a constant."""
    from rita_demo.defences.prompt_tuning import tuned_prompts
    from rita_demo.method import agreement_weight
    from rita_demo.method.confidence import entropy_of
    from rita_demo.method.dtypes import unit

    def mean_entropy(log_probability: Tensor) -> Tensor:
        return entropy_of(log_probability).mean()

    z, x = tuned_prompts(inputs, mean_entropy), unit(inputs.views)
    return agreement_weight(x) @ (x @ z.T / inputs.temperature)


DEFENCE = Defence(
    name="rtpt",
    title="R-TPT",
    sentence="Prompt tuning against attacks: one step that makes each of the surest crops more certain, then "
    "an average in which crops that resemble others count more.",
    cites="Sheng et al. 2025",
    url="https://arxiv.org/abs/2504.11195",
    sees="prompts",
    input_description="{n} views, tuned on the surest",
    answer=rtpt,
    adaptive=Adaptive("exact", logits, f"The gradient goes through the weights of the crops. {TUNING_SENTENCE}"),
    uses=(),
    role="quiet",
    dash="solid",
    symbol="star",
    paper_name="R-TPT",
)
