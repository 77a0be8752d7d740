"""Entropy of every view before and after the prompt update."""

from __future__ import annotations

import numpy as np

from rita_demo.records import ImageResult, Transport


def entropies(side: ImageResult, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """H_n of every view (N,) in nats under the initial and under the tuned prompts (definition 8).

    Computed from the costs of the trace: ``mean_m cos = 1 - mean_m C[n, m]``. ``cache_text`` names the one of the two
    that decided which views are confident.

    Args:
        side: a decided picture.
        temperature: tau.
    """
    weight = np.asarray(side.trace.prompt_weight, np.float64)
    before, after = (
        _entropy(moved, weight, temperature)
        for moved in (side.trace.untuned_prompt_transport, side.trace.prompt_transport)
    )
    return before, after


def _entropy(moved: Transport, weight: np.ndarray, temperature: float) -> np.ndarray:
    cosine = 1 - np.einsum("knm,km->nk", np.asarray(moved.cost, np.float64), weight)
    logit = cosine / temperature
    logit -= logit.max(1, keepdims=True)
    share = np.exp(logit)
    total = share.sum(1, keepdims=True)
    return np.log(total[:, 0]) - (share / total * logit).sum(1)
