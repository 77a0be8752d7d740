"""Row 13 made visible: how sure every view was before and after the prompt update."""

from __future__ import annotations

import numpy as np

from rita_demo.records import Side, Transport


def entropies(side: Side, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """H_n of every view (N,) in nats, under the prompts as they started and as the update left them.

    Row 8 from the costs a trace already holds: ``mean_m cos = 1 - mean_m C[n, m]``, so nothing is
    encoded.  The one of the two that ``cache_text`` names is the entropy that decided what is confident.

    Args:
        side: a decided picture.
        temperature: tau of row 8.
    """
    weight = np.asarray(side.trace.prompt_weight, np.float64)
    before, after = (
        _entropy(moved, weight, temperature)
        for moved in (side.trace.prompt_before, side.trace.prompt)
    )
    return before, after


def _entropy(moved: Transport, weight: np.ndarray, temperature: float) -> np.ndarray:
    cosine = 1 - np.einsum("knm,km->nk", np.asarray(moved.cost, np.float64), weight)
    logit = cosine / temperature
    logit -= logit.max(1, keepdims=True)
    share = np.exp(logit)
    total = share.sum(1, keepdims=True)
    return np.log(total[:, 0]) - (share / total * logit).sum(1)
