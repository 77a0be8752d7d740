"""The prompt tuning that TPT, C-TPT and R-TPT share: one learnable context of 4 tokens, one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rita_demo.defences.contract import DefenceInput

if TYPE_CHECKING:
    from torch import Tensor

STEPS, RATE = 1, 5e-3  # of AdamW
CONFIDENT_FRACTION = 0.1  # of the views: those of lowest entropy


def tuned_prompts(inputs: DefenceInput, loss: Callable[[Tensor], Tensor], spread: float = 0.0) -> Tensor:
    """Prompts (K, D) after one step of AdamW from the given context; weight decay 0, as for RITA.

    The step lowers ``loss(log p) - spread * dispersion(z)`` over the most confident views: the 10 % of lowest
    entropy under the untuned prompt, at least one.

    Args:
        loss: log probabilities (n, K) of those views -> a scalar.
        spread: weight of the prompts' :func:`dispersion`, at least 0.
    """
    import torch

    from rita_demo.method import optimise_contexts, view_log_probability
    from rita_demo.method.dtypes import unit
    from rita_demo.method.tuning import most_confident

    # The page may run under inference_mode, whose tensors cannot take part in a gradient.
    with torch.inference_mode(False), torch.enable_grad():
        x, start = unit(inputs.views.detach()).clone(), inputs.context.detach().clone()
        count = max(1, int(CONFIDENT_FRACTION * len(x)))
        with torch.no_grad():
            z = inputs.encode(start)
            sure = most_confident(x, z, z.new_ones(len(z), 1), inputs.temperature, count)

        def value(z: Tensor) -> Tensor:
            now = loss(view_log_probability(sure, z, z.new_ones(len(z), 1), inputs.temperature))
            return now - spread * dispersion(z[:, 0]) if spread else now

        tuned = optimise_contexts(inputs.encode, start, value, STEPS, RATE)
    return tuned.features[:, 0]


def dispersion(z: Tensor) -> Tensor:
    """``mean_k |z_k - mean z|`` of prompts (K, D): how far apart the classes' texts are (C-TPT)."""
    return (z - z.mean(0)).norm(dim=-1).mean()
