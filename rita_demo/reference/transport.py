"""Transport plan and rotation of one class, by their definitions."""

from __future__ import annotations

import torch
from torch import Tensor

from rita_demo.settings import Settings


def distance(x: Tensor, z: Tensor, weight: Tensor, settings: Settings) -> float:
    """Definitions 5 to 7 for one class: ``<T, 1 - x z'> / rho``, views x (N, D) of mass weight (N,), atoms z (M, D)."""
    cost = 1 - x @ z.T
    plan = sinkhorn(cost, weight, settings)
    return float((plan * cost).sum()) / settings.transported_mass


def sinkhorn(cost: Tensor, weight: Tensor, settings: Settings) -> Tensor:
    """The plan (N, M) of one cost matrix: log-domain Sinkhorn until the marginals fit.

    With rho < 1 an extra column of mass 1 - rho and cost zero takes the mass that is not transported.
    """
    blur, rho, atoms = settings.entropy_weight, settings.transported_mass, cost.shape[1]
    b = torch.full((atoms,), rho / atoms)
    if rho < 1:
        cost = torch.cat([cost, torch.zeros(len(cost), 1)], dim=1)
        b = torch.cat([b, torch.tensor([1 - rho])])
    a, b = weight.to(cost), b.to(cost)
    g = torch.zeros_like(b)
    for _ in range(settings.sinkhorn_iterations):
        f = blur * (a.log() - ((g - cost) / blur).logsumexp(1))
        g = blur * (b.log() - ((f[:, None] - cost) / blur).logsumexp(0))
        plan = ((f[:, None] + g - cost) / blur).exp()
        if (plan.sum(1) - a).abs().max() <= settings.sinkhorn_tolerance:
            break
    return plan[:, :atoms]


def rotation(cached: Tensor, text_mean: Tensor) -> Tensor:
    """Definition 10: the orthogonal W (D, D) with the smallest ``||X W - 1 zbar'||``, X (J, D), by SVD."""
    target = text_mean.expand(len(cached), -1)
    u, _, v = torch.linalg.svd(cached.T @ target)
    return u @ v
