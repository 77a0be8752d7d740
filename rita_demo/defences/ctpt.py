"""C-TPT: TPT that keeps the prompts of the classes apart (Yoon et al. 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rita_demo.defences.contract import TUNING_SENTENCE, Adaptive, Defence, DefenceInput
from rita_demo.defences.tpt import tpt, tuned_logits
from rita_demo.records import Verdict
from rita_demo.settings.setting import Setting

if TYPE_CHECKING:
    from torch import Tensor


def answer(inputs: DefenceInput) -> Verdict:
    """TPT with the own setting ``weight``; the authors use 50, on ImageNet's variants 20."""
    return tpt(inputs, inputs.own["weight"])


def logits(inputs: DefenceInput) -> Tensor:
    """:func:`rita_demo.defences.tpt.tuned_logits` with the own setting ``weight``."""
    return tuned_logits(inputs, inputs.own["weight"])


DEFENCE = Defence(
    name="ctpt",
    title="C-TPT",
    sentence="TPT that also keeps the classes' prompts apart, so that it does not become too sure of itself.",
    cites="Yoon et al. 2024",
    url="https://arxiv.org/abs/2403.14119",
    sees="prompts",
    input_description="1 view, tuned on the surest of {n}",
    answer=answer,
    adaptive=Adaptive("exact", logits, TUNING_SENTENCE),
    uses=(),
    role="quiet",
    dash="longdash",
    symbol="triangle-down",
    paper_name="C-TPT",
    settings=(
        Setting(
            "weight",
            "float",
            50.0,
            "C-TPT's weight",
            "How much C-TPT cares for prompts that stay apart; its authors use 20 on ImageNet and its variants.",
            low=0.0,
            high=1000.0,
            symbol="w",
            flat_name="ctpt_weight",
        ),
    ),
)
