"""TPT: test-time prompt tuning (Shu et al. 2022)."""

from rita_demo.defences.contract import TUNING_SENTENCE, Adaptive, Defence, DefenceInput, answer_of, method
from rita_demo.defences.prompt_tuning import tuned_on_surest
from rita_demo.process.lazy import Tensor


def logits(inputs: DefenceInput) -> Tensor:
    """Lower ``H(mean_n p_n) - w mean_k |z_k - mean z|`` over the most confident views, then CLIP's logits (K,) of view
    0. w is the own setting ``weight`` of C-TPT; TPT has none. The tuned prompts are constants in the gradient."""
    z = tuned_on_surest(inputs, method.entropy_of_mean, inputs.params.get("weight", 0.0))
    return inputs.views[0] @ z.T / inputs.temperature


DEFENCE = Defence(
    name="tpt",
    title="TPT",
    sentence="Test-time prompt tuning: one step that makes the mean answer of the surest tenth of the "
    "crops more certain, then CLIP with the tuned prompt.",
    cites="Shu et al. 2022",
    url="https://arxiv.org/abs/2209.07511",
    sees="prompts",
    input_description="1 view, tuned on the surest of {n}",
    answer=answer_of(logits),
    adaptive=Adaptive("exact", logits, TUNING_SENTENCE),
    uses=(),
    role="quiet",
    dash="dashdot",
    symbol="triangle-up",
    paper_name="TPT",
    attack_seconds=10,
)
