"""Definition 5, the cost of moving a view onto a prompt, and the number types of the method. Half precision becomes
float32, because log-domain Sinkhorn divides by lambda. float64 stays float64 for exact tests."""

import torch
from torch import Tensor


def at_least_float32(values: Tensor) -> Tensor:
    """``values`` as float32; float64 stays float64."""
    return values if values.dtype in (torch.float32, torch.float64) else values.float()


def to_float64(values: Tensor) -> Tensor:
    """``values`` as float64, for small linear systems and differences of close directions. Apple's ``mps`` has no
    float64 and keeps at least float32."""
    return at_least_float32(values) if values.device.type == "mps" else values.double()


def unit(values: Tensor) -> Tensor:
    """Rows of ``values`` (..., D) scaled to length 1, at least float32; a zero row stays zero."""
    return torch.nn.functional.normalize(at_least_float32(values), dim=-1)


def cosine_cost(x: Tensor, z: Tensor) -> Tensor:
    """``C_k[n, m] = 1 - cos(x_n, z_km)`` (definition 5). ``x``: (N, D) view features. ``z``: (K, M, D) atoms. Rows are
    scaled to length 1 in float32; a zero row (padding) costs 1. Returns (K, N, M) cosine distances in [0, 2],
    differentiable with respect to both."""
    return (1 - torch.einsum("nd,kmd->knm", unit(x), unit(z))).clamp(0, 2)


def text_mean(z: Tensor, z_weight: Tensor) -> Tensor:
    """``zbar_k = sum_m w_km z_km`` (definition 10): the mean prompt of each class, not scaled. ``z`` (K, M, D) unit
    rows, ``z_weight`` (K, M) rows sum to 1; returns (K, D), length at most 1."""
    z = unit(z)
    return torch.einsum("kmd,km->kd", z, z_weight.to(z))


def view_log_probability(x: Tensor, z: Tensor, z_weight: Tensor, temperature: float) -> Tensor:
    """``log p_n(k) = log_softmax_k(mean_m cos(x_n, z_km) / tau)`` (definition 8): (N, K). With the printed formula's
    "sum up to tau M" the entropy would stay at log K, so tau divides here."""
    return (unit(x) @ text_mean(z, z_weight).T / temperature).log_softmax(-1)


def loglik_cost(x: Tensor, z: Tensor, z_weight: Tensor, temperature: float) -> Tensor:
    """``C_k[n, m] = -tau log p_n(k)`` (beyond the paper), the same for all atoms of a class.

    It is ``1 - cos`` to the class minus the soft minimum of that over all classes, so its unit is the cosine distance
    and lambda and alpha keep their meaning. A class without atoms (an empty one under ``zero``) is no alternative to
    the others, and costs 0.

    Args:
        x: (N, D) view features. z: (K, M, D) atoms. z_weight: (K, M), not negative, 0 for padding.
        temperature: tau, 0.01 for CLIP."""
    present = z_weight.sum(1) > 0
    share = z_weight[present] / z_weight[present].sum(1, keepdim=True)
    cost = unit(x).new_zeros(len(z), len(x))
    if present.any():
        cost = cost.index_put((present,), -temperature * view_log_probability(x, z[present], share, temperature).T)
    return cost[:, :, None].expand(-1, -1, z.shape[1])


def view_cost(kind: str, x: Tensor, z: Tensor, z_weight: Tensor, temperature: float) -> Tensor:
    """The cost (K, N, M) of the setting ``cost``: :func:`cosine_cost` or :func:`loglik_cost`."""
    return cosine_cost(x, z) if kind == "cosine" else loglik_cost(x, z, z_weight, temperature)
