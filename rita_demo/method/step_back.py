"""Beyond the paper: move the views from the whole square towards the mean of its crops.

An attack made for the whole square moves that view far and its crops little, all in one direction. The offset from the
whole square to its crops is then an estimate of the opposite direction."""

import torch
from torch import Tensor

from rita_demo.method.confidence import area_weight
from rita_demo.method.cost import unit

WHOLE_SQUARE_FRACTION = 1 - 1e-6  # a view with this area fraction counts as the whole square


def step_back(x: Tensor, strength: float, area_fraction: Tensor | None, view_mask: Tensor | None = None) -> Tensor:
    """``unit(x_n + kappa |d|^2 d)``, where ``d`` is :func:`crop_offset`. ``|d|^2`` makes the step short where the whole
    square is close to its crops, as in clean pictures. Returns (N, D) unit rows, differentiable with respect to ``x``.

    Args:
        x: (N, D) view features; rows are scaled to length 1.
        strength: kappa, at least 0; 0 means no step.
        area_fraction, view_mask: as for :func:`crop_offset`."""
    x = unit(x)
    if not strength:
        return x
    d = crop_offset(x, area_fraction, view_mask)
    return unit(x + strength * d.square().sum() * d)


def crop_offset(x: Tensor, area_fraction: Tensor | None, view_mask: Tensor | None = None) -> Tensor:
    """``d`` (D,): the mean of the crops, weighted by :func:`area_weight`, minus the whole square. Returns zeros without
    area fractions, without a whole square, or without a crop.

    Args:
        x: (N, D) unit view features.
        area_fraction: (N,) area of each view as a share of the square, in (0, 1]; None: unknown. Best on the CPU:
            there it is known which views are crops, without waiting for a GPU.
        view_mask: (N,) bool, the views that take part; None: all."""
    if area_fraction is None:
        return x.new_zeros(x.shape[1])
    mask = torch.ones_like(area_fraction, dtype=torch.bool) if view_mask is None else view_mask.to(area_fraction.device)
    whole, crops = mask & (area_fraction >= WHOLE_SQUARE_FRACTION), mask & (area_fraction < WHOLE_SQUARE_FRACTION)
    if not whole.any() or not crops.any():
        return x.new_zeros(x.shape[1])
    return area_weight(area_fraction[crops].to(x)) @ x[crops] - x[whole].mean(0)
