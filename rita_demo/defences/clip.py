"""CLIP itself: view 0 and one prompt per class (docs/method.md, definition 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, verdict_of
from rita_demo.records import Verdict

if TYPE_CHECKING:
    from torch import Tensor


def zero_shot(view_features: Tensor, template_features: Tensor, temperature: float) -> Verdict:
    """``p(k|x_0) = softmax_k(cos(x_0, z_k) / tau)`` on view 0 alone.

    Args:
        view_features: (N, D) unit length; only row 0 is used.
        template_features: (K, D) unit length, one prompt per class.
        temperature: tau, 1 / CLIP's logit scale.
    """
    return verdict_of((view_features[0] @ template_features.T / temperature).softmax(-1))


def logits(inputs: DefenceInput) -> Tensor:
    """``cos(x_0, z_k) / tau`` (K,)."""
    return inputs.views[0] @ inputs.template_features.T / inputs.temperature


def answer(inputs: DefenceInput) -> Verdict:
    """CLIP's answer."""
    return zero_shot(inputs.views, inputs.template_features, inputs.temperature)


DEFENCE = Defence(
    name="clip",
    title="CLIP",
    sentence="A model that compares a picture with sentences; the class whose sentence fits best wins.",
    cites="Radford et al. 2021",
    url="https://arxiv.org/abs/2103.00020",
    sees="picture",
    input_description="1 view",
    answer=answer,
    adaptive=Adaptive("exact", logits, ""),
    role="text",
    dash="dot",
    symbol="square",
    paper_name="CLIP",
)
