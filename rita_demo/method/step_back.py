"""Beyond the paper: away from where the whole square lies off its own crops.

An attack made for the whole square moves that one view far and its crops little, all of them in the same
direction. The way from the whole square to its crops is then the way back.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rita_demo.method.confidence import area_weight
from rita_demo.method.precision import unit

WHOLE = 1 - 1e-6  # a view that shows this share of the square shows all of it


def step_back(
    x: Tensor, strength: float, shown: Tensor | None, present: Tensor | None = None
) -> Tensor:
    """``unit(x_n + kappa |d|^2 d)``, where ``d`` is :func:`off_crops`.

    The length of ``d`` enters squared so that little happens where the whole square looks like its crops, as in
    pictures that nobody attacked.

    Args:
        x: (N, D) view features; rows are scaled to length 1.
        strength: kappa, at least 0; 0 leaves the rows as they are.
        shown, present: as :func:`off_crops`.

    Returns:
        (N, D) unit rows, differentiable with respect to ``x``.
    """
    x = unit(x)
    if not strength:
        return x
    d = off_crops(x, shown, present)
    return unit(x + strength * d.square().sum() * d)


def off_crops(x: Tensor, shown: Tensor | None, present: Tensor | None = None) -> Tensor:
    """``d`` (D,): the mean of the crops, weighted by what they leave out (:func:`area_weight`), minus the whole square.

    Args:
        x: (N, D) unit view features.
        shown: (N,) the share of the square that each view shows, in (0, 1]; None: nobody knows.
        present: (N,) bool, the views that count; None: all.

    Returns:
        Zeros where nobody knows what the views show, and without a whole square or without a crop.
    """
    if shown is None:
        return x.new_zeros(x.shape[1])
    there = torch.ones_like(shown, dtype=torch.bool) if present is None else present
    whole, crops = there & (shown >= WHOLE), there & (shown < WHOLE)
    if not whole.any() or not crops.any():
        return x.new_zeros(x.shape[1])
    return area_weight(shown[crops].to(x)) @ x[crops] - x[whole].mean(0)
