"""The plain ensemble: the mean over all views, the hand prompt. The bar every defence has to clear."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import normalize

from rita_demo.baselines.zero_shot import verdict_of
from rita_demo.records import Verdict

AVERAGES = ("probability", "logit", "feature")


def ensemble(
    view_features: Tensor, hand: Tensor, temperature: float, average: str = "probability"
) -> Verdict:
    """Mean of the views' answers, taken over probabilities, logits or features.

    Args:
        view_features: (N, D) unit length.
        hand: (K, D) unit length.
        temperature: tau.
        average: one of ``AVERAGES``; anything else raises ``ValueError``.
    """
    if average == "feature":
        return verdict_of(
            (normalize(view_features.mean(0), dim=-1) @ hand.T / temperature).softmax(-1)
        )
    logits = view_features @ hand.T / temperature
    if average == "logit":
        return verdict_of(logits.mean(0).softmax(-1))
    if average == "probability":
        return verdict_of(logits.softmax(-1).mean(0))
    raise ValueError(f"average is one of {', '.join(AVERAGES)}; got {average!r}")
