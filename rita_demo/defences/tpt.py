"""TPT: test-time prompt tuning (Shu et al. 2022)."""

from __future__ import annotations

from rita_demo.defences.contract import Defence, DefenceInput
from rita_demo.records import Verdict


def tpt(inputs: DefenceInput, spread: float = 0.0) -> Verdict:
    """Lower ``H(mean_n p_n) - w mean_k |z_k - mean z|`` over the most confident views, then use view 0.

    ``spread`` is w: 0 is TPT, more than 0 is C-TPT.
    """
    from rita_demo.defences.clip import zero_shot
    from rita_demo.defences.prompt_tuning import tuned_prompts
    from rita_demo.method.tuning import entropy_of_mean

    return zero_shot(inputs.views, tuned_prompts(inputs, entropy_of_mean, spread), inputs.temperature)


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
    uses=(),
    role="quiet",
    dash="dashdot",
    symbol="triangle-up",
    paper_name="TPT",
)
