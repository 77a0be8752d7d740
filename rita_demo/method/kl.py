"""Definition 15: the KL divergence from a one-hot answer to the mean answer of a class's features."""

import math

import torch
from torch import Tensor

from rita_demo.method.cost import text_mean
from rita_demo.method.dtypes import unit


def kl_to_one_hot(features: Tensor, labels: Tensor, z: Tensor, z_weight: Tensor, *, temperature: float) -> Tensor:
    """``KL(one-hot || q_k) = -log q_k[k]``, ``q_k`` the mean of ``softmax(cos(x, zhat) / tau)`` over class k.

    ``zhat_k = zbar_k / |zbar_k|``. The paper describes it in words; the formula is ours.

    Args:
        features: (n, D) features of views or cached views. labels: (n,) their classes, 0 to K - 1.
        z: (K, M, D) prompts. z_weight: (K, M), rows sum to 1. temperature: tau.

    Returns:
        (K,) nats, at least 0; NaN for a class without features.
    """
    x, zhat = unit(features), unit(text_mean(z, z_weight))
    own = (x @ zhat.T / temperature).log_softmax(-1).gather(1, labels[:, None])[:, 0]
    mine = labels[None, :] == torch.arange(len(z), device=x.device)[:, None]
    total = torch.where(mine, own[None, :], -math.inf).logsumexp(1)
    count = mine.sum(1)
    return torch.where(count > 0, (count.to(total).log() - total).clamp(min=0), math.nan)
