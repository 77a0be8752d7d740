"""Definition 14: Theorem 1's bounds on the Wasserstein distance between the views and each class's prompts."""

import torch
from torch import Tensor

from rita_demo.method.dtypes import to_float64, unit


def theorem_bounds(x: Tensor, z: Tensor, z_weight: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``|mu gap|^2 + B^2(S_x, S_z) <= 2 d_OT(lambda -> 0) <= |mu gap|^2 + tr S_x + tr S_z`` (definition 14).

    ``B^2(A, B) = tr(A + B - 2 (A^1/2 B A^1/2)^1/2)``: exact for Gaussians, a lower bound otherwise.
    On unit vectors ``|x - z|^2 = 2 (1 - cos)``, hence the 2. The theorem is about balanced transport (rho = 1).
    No D x D matrix is formed: with ``A = X'X`` and ``B = Z'Z`` (X and Z centred and weighted), the eigenvalues of AB are
    the squared singular values of ``X Z'``, so the trace of the square root is the nuclear norm of one N x M matrix.

    Args:
        x: (N, D) views. z: (K, M, D) prompts. Both are scaled to length 1.
        z_weight: (K, M), scaled to sum to 1, 0 for padding; None: uniform.

    Returns:
        ``lower <= W2^2 <= upper``, ``|mu_x - mu_z|^2`` and ``B^2(S_x, S_z)``, each (K,), squared distances between
        unit vectors, in [0, 4]; lower is the sum of the last two.
    """
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
