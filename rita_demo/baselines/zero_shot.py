"""CLIP itself: view 0, hand prompt (definition 1)."""

from __future__ import annotations

from torch import Tensor

from rita_demo.records import Verdict


def zero_shot(view_features: Tensor, hand: Tensor, temperature: float) -> Verdict:
    """``p(k|x_0) = softmax_k(cos(x_0, z_k) / tau)`` on view 0 alone.

    Args:
        view_features: (N, D) unit length; only row 0 is used.
        hand: (K, D) unit length, the prompt "a photo of a {class}." of every class.
        temperature: tau, 1 / CLIP's logit scale.
    """
    return verdict_of((view_features[0] @ hand.T / temperature).softmax(-1))


def verdict_of(probability: Tensor) -> Verdict:
    """A :class:`Verdict` from probabilities (K,): margin = best minus second best (0 when K = 1)."""
    best = probability.topk(min(2, len(probability)))
    margin = float(best.values[0] - best.values[1]) if len(probability) > 1 else 0.0
    return Verdict(int(best.indices[0]), probability, margin, "probability")
