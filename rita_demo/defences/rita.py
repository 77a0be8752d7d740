"""RITA: optimal transport from the views to each class's prompts and cache. The method is in ``rita_demo/method``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rita_demo.defences.contract import TUNING_SENTENCE, Adaptive, Defence, DefenceInput
from rita_demo.records import Verdict

if TYPE_CHECKING:
    from torch import Tensor


def answer(inputs: DefenceInput) -> Verdict:
    """The decision by the lowest total cost."""
    return inputs.decide(inputs.settings).verdict


def logits(inputs: DefenceInput) -> Tensor:
    """``-(d_OT + alpha d_cOT) / ((1 + alpha) tau)`` (K,), differentiable in the views; tuned prompts and cache are constants."""
    from rita_demo.method import decision_logits

    assert inputs.prompts is not None, "the attacker's engine gives prompts and cache"
    assert inputs.cache is not None
    return decision_logits(inputs.views, inputs.prompts, inputs.cache, inputs.settings, inputs.area_fraction)


DEFENCE = Defence(
    name="rita",
    title="RITA",
    sentence="The defence shown here: it asks which class's sentences the whole cloud of crops can be "
    "moved onto at the lowest cost.",
    sees="prompts",
    input_description="{n} views, transport",
    answer=answer,
    uses=(),
    adaptive=Adaptive(
        "exact",
        logits,
        "The gradient goes through the transport plans of prompts and memory, by the implicit function theorem; the "
        f"memory and weights of views that depend on their features are held fixed. {TUNING_SENTENCE}",
    ),
    role="defence",
    paper_name="RITA",
    attack_seconds=15,
    uses_decision=True,
    uses_cache=True,
)

_PART = replace(DEFENCE, paper_name="")
#: RITA without one of its parts. Without its memory, or with an emptied one, it is RITA under another ``protocol``.
ABLATIONS = (
    replace(
        _PART,
        name="rita_memory",
        title="RITA, memory only",
        sentence="A part of RITA: the transport cost to the remembered views alone.",
        input_description="{n} views, without the sentences’ cost",
        answer=lambda inputs: inputs.decide(inputs.settings).cache_verdict,
        adaptive=None,
        dash="dot",
        symbol="square-open",
        cache_only=True,
    ),
    replace(
        _PART,
        name="rita_untuned",
        title="RITA, untuned",
        sentence="RITA without the prompt update: views, transport and memory only.",
        input_description="{n} views, no prompt update",
        dash="longdash",
        symbol="triangle-up-open",
        setting_changes={"tuning_steps": 0},
    ),
)
