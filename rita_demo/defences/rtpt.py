"""R-TPT: prompt tuning against attacks (Sheng et al. 2025)."""

from rita_demo.defences.contract import TUNING_SENTENCE, Adaptive, Defence, DefenceInput, answer_of, method
from rita_demo.defences.prompt_tuning import tuned_on_surest
from rita_demo.process.lazy import Tensor


def logits(inputs: DefenceInput) -> Tensor:
    """Lower ``mean_n H(p_n)`` over the most confident views, then ``sum_n w_n logits_n`` (K,).
    ``w = softmax(mean cosine to the 20 nearest other views / 0.01)``. Differentiable in the views; the tuned prompt is
    a constant."""
    z = tuned_on_surest(inputs, lambda log_p: method.entropy_of(log_p).mean())
    x = method.unit(inputs.views)
    return method.agreement_weight(x) @ (x @ z.T / inputs.temperature)


DEFENCE = Defence(
    name="rtpt",
    title="R-TPT",
    sentence="Prompt tuning against attacks: one step that makes each of the surest crops more certain, then "
    "an average in which crops that resemble others count more.",
    cites="Sheng et al. 2025",
    url="https://arxiv.org/abs/2504.11195",
    sees="prompts",
    input_description="{n} views, tuned on the surest",
    answer=answer_of(logits),
    adaptive=Adaptive("exact", logits, f"The gradient goes through the weights of the crops. {TUNING_SENTENCE}"),
    uses=(),
    role="quiet",
    symbol="star",
    paper_name="R-TPT",
    attack_seconds=10,
)
