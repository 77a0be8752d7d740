"""Definition 14, Theorem 1's bounds on the Wasserstein distance between views and prompts; definition 15, KL to one-hot."""

import math

import torch
from torch import Tensor

from rita_demo.method.cost import text_mean, to_float64, unit


def theorem_bounds(x: Tensor, z: Tensor, z_weight: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``|mu gap|^2 + B^2(S_x, S_z) <= 2 d_OT(lambda -> 0) <= |mu gap|^2 + tr S_x + tr S_z`` (definition 14).

    ``B^2(A, B) = tr(A + B - 2 (A^1/2 B A^1/2)^1/2)``: exact for Gaussians, a lower bound otherwise. On unit vectors
    ``|x - z|^2 = 2 (1 - cos)``, hence the 2. The theorem is about balanced transport (rho = 1). No D x D matrix is
    formed: with ``A = X'X`` and ``B = Z'Z`` (X and Z centred and weighted), the eigenvalues of AB are the squared
    singular values of ``X Z'``, so the trace of the square root is the nuclear norm of one N x M matrix. ``x``: (N, D)
    views. ``z``: (K, M, D) prompts. Both are scaled to length 1. ``z_weight``: (K, M), scaled to sum to 1, 0 for
    padding; None: uniform. Returns ``lower <= W2^2 <= upper``, ``|mu_x - mu_z|^2`` and ``B^2(S_x, S_z)``, each (K,),
    squared distances between unit vectors, in [0, 4]; lower is the sum of the last two."""
    x, z = to_float64(unit(x)), to_float64(unit(z))
    a = x.new_ones(len(x)) / len(x)
    b = z.new_ones(z.shape[:2]) if z_weight is None else z_weight.to(z)
    b = b / b.sum(-1, keepdim=True)
    mu_x, mu_z = a @ x, torch.einsum("km,kmd->kd", b, z)
    X = (x - mu_x) * a.sqrt()[:, None]
    Z = (z - mu_z[:, None]) * b.sqrt()[..., None]
    cross = torch.einsum("nd,kmd->knm", X, Z)
    nuclear = torch.linalg.svdvals(cross).sum(-1)
    traces = X.square().sum() + Z.square().sum((1, 2))
    mean_gap = (mu_x - mu_z).square().sum(-1)
    bures = (traces - 2 * nuclear).clamp(min=0)
    return mean_gap + bures, mean_gap + traces, mean_gap, bures


def kl_to_one_hot(features: Tensor, labels: Tensor, z: Tensor, z_weight: Tensor, *, temperature: float) -> Tensor:
    """``KL(one-hot || q_k) = -log q_k[k]``, ``q_k`` the mean of ``softmax(cos(x, zhat) / tau)`` over class k.

    ``zhat_k = zbar_k / |zbar_k|``. The paper describes it in words; the formula is ours. ``features``: (n, D) features
    of views or cached views. ``labels``: (n,) their classes, 0 to K - 1. ``z``: (K, M, D) prompts. ``z_weight``:
    (K, M), rows sum to 1. ``temperature``: tau. Returns (K,) nats, at least 0; NaN for a class without features."""
    x, zhat = unit(features), unit(text_mean(z, z_weight))
    log_q = (x @ zhat.T / temperature).log_softmax(-1).gather(1, labels[:, None])[:, 0]
    of_class = labels[None, :] == torch.arange(len(z), device=x.device)[:, None]
    total = torch.where(of_class, log_q[None, :], -math.inf).logsumexp(1)
    count = of_class.sum(1)
    return torch.where(count > 0, (count.to(total).log() - total).clamp(min=0), math.nan)
