"""Test-time prompt tuning: TPT, C-TPT and R-TPT (method, section 4), one learnable context of 4 tokens."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rita_demo.baselines.zero_shot import verdict_of, zero_shot
from rita_demo.method import agreement_weight, descend, view_log_probability
from rita_demo.method.confidence import entropy_of
from rita_demo.method.precision import unit
from rita_demo.method.tuning import Encode, entropy_of_mean, surest
from rita_demo.records import Verdict

STEPS, RATE = 1, 5e-3  # of AdamW
SHARE = 0.1  # of the views: those of lowest entropy


def tpt(
    view_features: Tensor,
    encode: Encode,
    context: Tensor,
    temperature: float,
    dispersion_weight: float = 0.0,
) -> Verdict:
    """Lower ``H(mean_n p_n) - w mean_k |z_k - mean z|`` over the surest views, then ask view 0.

    ``w = 0`` is TPT (Shu et al. 2022), ``w > 0`` C-TPT (Yoon et al. 2024; 50, on ImageNet's variants 20).

    Args:
        view_features: (N, D) unit length; the 10 % of lowest entropy under the untuned prompt, at
            least one, enter the loss.
        encode: contexts (1, L, E) to prompts (K, 1, D), differentiable.
        context: (1, L, E) "a photo of a", left as it is.
        temperature: tau. dispersion_weight: w, at least 0.
    """

    def loss(sure: Tensor, z: Tensor) -> Tensor:
        value = entropy_of_mean(_log_probability(sure, z, temperature))
        return value - dispersion_weight * dispersion(z[:, 0]) if dispersion_weight else value

    return zero_shot(
        view_features, _tuned(view_features, encode, context, temperature, loss), temperature
    )


def rtpt(view_features: Tensor, encode: Encode, context: Tensor, temperature: float) -> Verdict:
    """Lower ``mean_n H(p_n)`` over the surest views, then ``sum_n w_n logits_n`` (R-TPT, Sheng et al. 2025).

    ``w = softmax(mean cosine to the 20 nearest other views / 0.01)``. Arguments as :func:`tpt`.
    """

    def loss(sure: Tensor, z: Tensor) -> Tensor:
        return entropy_of(_log_probability(sure, z, temperature)).mean()

    z = _tuned(view_features, encode, context, temperature, loss)
    x = unit(view_features)
    return verdict_of((agreement_weight(x) @ (x @ z.T / temperature)).softmax(-1))


def dispersion(z: Tensor) -> Tensor:
    """``mean_k |z_k - mean z|`` of prompts (K, D): how far apart the classes' texts are (C-TPT)."""
    return (z - z.mean(0)).norm(dim=-1).mean()


def _tuned(
    view_features: Tensor,
    encode: Encode,
    context: Tensor,
    temperature: float,
    loss: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Prompts (K, D) after one step of AdamW from the given context; weight decay 0, as for RITA."""
    # The page may run under inference_mode, whose tensors cannot take part in a gradient.
    with torch.inference_mode(False), torch.enable_grad():
        x, start = unit(view_features).clone(), context.detach().clone()
        with torch.no_grad():
            z = encode(start)
            sure = surest(x, z, z.new_ones(len(z), 1), temperature, max(1, int(SHARE * len(x))))
        tuned = descend(encode, start, lambda z: loss(sure, z), STEPS, RATE)
    return tuned.features[:, 0]


def _log_probability(x: Tensor, z: Tensor, temperature: float) -> Tensor:
    """Row 8 with one prompt per class: (N, K)."""
    return view_log_probability(x, z, z.new_ones(len(z), 1), temperature)
