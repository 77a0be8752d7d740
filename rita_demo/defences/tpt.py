"""TPT: test-time prompt tuning (Shu et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rita_demo.defences.contract import TUNING_SENTENCE, Adaptive, Defence, DefenceInput, verdict_of
from rita_demo.records import Verdict

if TYPE_CHECKING:
    from torch import Tensor


def tpt(inputs: DefenceInput, spread: float = 0.0) -> Verdict:
    """Lower ``H(mean_n p_n) - w mean_k |z_k - mean z|`` over the most confident views, then use view 0.

    ``spread`` is w: 0 is TPT, more than 0 is C-TPT.
    """
    return verdict_of(tuned_logits(inputs, spread).softmax(-1))


def tuned_logits(inputs: DefenceInput, spread: float = 0.0) -> Tensor:
    """CLIP's logits (K,) of view 0 with the tuned prompts, which are constants in its gradient."""
    from rita_demo.defences.prompt_tuning import tuned_prompts
    from rita_demo.method.tuning import entropy_of_mean

    return inputs.views[0] @ tuned_prompts(inputs, entropy_of_mean, spread).T / inputs.temperature


DEFENCE = Defence(
    name="tpt",
    title="TPT",
    sentence="Test-time prompt tuning: one step that makes the mean answer of the surest tenth of the "
    "crops more certain, then CLIP with the tuned prompt.",
    cites="Shu et al. 2022",
    url="https://arxiv.org/abs/2209.07511",
    sees="prompts",
    input_description="1 view, tuned on the surest of {n}",
    answer=tpt,
    adaptive=Adaptive("exact", tuned_logits, TUNING_SENTENCE),
    uses=(),
    role="quiet",
    dash="dashdot",
    symbol="triangle-up",
    paper_name="TPT",
)
