"""Entropy of every view before and after the prompt update."""

import numpy as np

from rita_demo.records import ImageResult


def entropies(side: ImageResult, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """H_n of every view (N,) in nats under the initial and under the tuned prompts (definition 8).

    Computed from the costs of the trace: ``mean_m cos = 1 - mean_m C[n, m]``. ``cache_text`` names the one of the two
    that decided which views are confident. ``temperature``: tau.
    """
    weight = np.asarray(side.trace.prompt_weight, np.float64)
    found = []
    for moved in (side.trace.untuned_prompt_transport, side.trace.prompt_transport):
        logit = (1 - np.einsum("knm,km->nk", np.asarray(moved.cost, np.float64), weight)) / temperature
        logit -= logit.max(1, keepdims=True)
        share = np.exp(logit)
        total = share.sum(1, keepdims=True)
        found.append(np.log(total[:, 0]) - (share / total * logit).sum(1))
    return found[0], found[1]
