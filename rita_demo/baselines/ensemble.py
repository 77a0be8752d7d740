"""The plain ensemble: the mean over all views, the hand prompt. The bar every defence has to clear."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import normalize

from rita_demo.baselines.zero_shot import verdict_of
from rita_demo.records import Verdict

AVERAGES = ("probability", "logit", "feature")


def ensemble(
    view_features: Tensor,
    hand: Tensor,
    temperature: float,
    average: str = "probability",
    weight: Tensor | None = None,
) -> Verdict:
    """Mean of the views' answers, taken over probabilities, logits or features.

    Args:
        view_features: (N, D) unit length.
        hand: (K, D) unit length.
        temperature: tau.
        average: one of ``AVERAGES``; anything else raises ``ValueError``.
        weight: (N,) how much each view counts, sums to 1; None: all alike, the plain ensemble.
    """

    def mean(of: Tensor) -> Tensor:
        return of.mean(0) if weight is None else weight.to(of) @ of

    if average == "feature":
        centre = normalize(mean(view_features), dim=-1)
        return verdict_of((centre @ hand.T / temperature).softmax(-1))
    logits = view_features @ hand.T / temperature
    if average == "logit":
        return verdict_of(mean(logits).softmax(-1))
    if average == "probability":
        return verdict_of(mean(logits.softmax(-1)))
    raise ValueError(f"average is one of {', '.join(AVERAGES)}; got {average!r}")
