"""Definition 5: the cost of moving a view onto a prompt."""

import torch
from torch import Tensor

from rita_demo.method.dtypes import unit


def cosine_cost(x: Tensor, z: Tensor) -> Tensor:
    """``C_k[n, m] = 1 - cos(x_n, z_km)`` (definition 5).

    Args:
        x: (N, D) view features. z: (K, M, D) atoms. Rows are scaled to length 1 in float32; a zero row (padding)
            costs 1.

    Returns:
        (K, N, M) cosine distances in [0, 2], differentiable with respect to both.
    """
    return (1 - torch.einsum("nd,kmd->knm", unit(x), unit(z))).clamp(0, 2)


def text_mean(z: Tensor, z_weight: Tensor) -> Tensor:
    """``zbar_k = sum_m w_km z_km`` (definition 10): the mean prompt of each class, not scaled.

    ``z`` (K, M, D) unit rows, ``z_weight`` (K, M) rows sum to 1; returns (K, D), length at most 1.
    """
    z = unit(z)
    return torch.einsum("kmd,km->kd", z, z_weight.to(z))
