"""Definition 8: confidence and pseudo-label of each view, and the views' weights. Beyond the paper: the step from the whole
square towards the mean of its crops."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from rita_demo.method.cost import unit, view_log_probability
from rita_demo.records import Confidence
from rita_demo.settings import Settings

CONFIDENCE_TEMPERATURE = 0.5  # nats; AWT
AGREEMENT_NEIGHBOURS, AGREEMENT_TEMPERATURE = 20, 0.01  # R-TPT
MIN_AREA_WEIGHT = 1e-3  # above 0, so that a single view of the whole square has a weight
WHOLE_SQUARE_FRACTION = 1 - 1e-6  # a view with this area fraction counts as the whole square


def entropy_of(log_probability: Tensor) -> Tensor:
    """``-sum_k p log p`` in nats over the last axis, at least 0."""
    return -(log_probability.exp() * log_probability).sum(-1).clamp(max=0)


def assess(x: Tensor, z: Tensor, z_weight: Tensor, temperature: float, settings: Settings) -> Confidence:
    """Probability, entropy and pseudo-label of each view; kept when ``H_n <= gamma`` (definition 8).

    Args:
        x: (N, D) view features. z: (K, M, D) prompts. z_weight: (K, M), rows sum to 1.
        temperature: tau, 0.01 for CLIP.
        settings: max_entropy (gamma) and entropy_unit: nats, or ``share_of_log_k``, as a share of log K."""
    log_p = view_log_probability(x, z, z_weight, temperature)
    limit = settings.max_entropy * (math.log(len(z)) if settings.entropy_unit == "share_of_log_k" else 1.0)
    entropy = entropy_of(log_p)
    return Confidence(log_p.exp(), entropy, log_p.argmax(-1), entropy <= limit, float(limit))


def view_weight(
    x: Tensor, confidence: Confidence, kind: str, area_fraction: Tensor | None = None, mask: Tensor | None = None
) -> Tensor:
    """The mass of each view (N,), sums to 1 (uniform in definition 4).

    ``confidence`` is ``softmax(-H / 0.5)`` (AWT); ``agreement`` is :func:`agreement_weight`. Beyond the paper: ``area``
    is :func:`area_weight`, because a perturbation made for the whole square has less effect on a smaller crop;
    ``shown`` is proportional to the area, because a larger view contains more of the picture. ``area_fraction``: (N,)
    area of each view as a share of the square, in (0, 1], on any device; None: the same for all. ``mask``: (N,) bool; the
    other views have weight 0."""
    x = unit(x)
    N = len(x)
    if mask is not None:
        weight, present = x.new_zeros(N), replace(confidence, entropy=confidence.entropy[mask])
        shown = None if area_fraction is None else area_fraction.to(x.device)[mask]
        weight[mask] = view_weight(x[mask], present, kind, shown)
        return weight
    if kind == "uniform":
        return x.new_full((N,), 1 / N)
    if kind == "confidence":
        return (-confidence.entropy.to(x) / CONFIDENCE_TEMPERATURE).softmax(0)
    if kind == "agreement":
        return agreement_weight(x)
    return area_based_weight(kind, x.new_ones(N) if area_fraction is None else area_fraction.to(x))


def area_based_weight(kind: str, area_fraction: Tensor) -> Tensor:
    """Weights (N,) that sum to 1, by the area of each view (``shown``) or by the rest of the square (``area``)."""
    return area_fraction / area_fraction.sum() if kind == "shown" else area_weight(area_fraction)


def area_weight(area_fraction: Tensor) -> Tensor:
    """Weights (N,) that sum to 1, proportional to ``1 - area_fraction``, at least 0.001 before scaling.
    ``area_fraction``: (N,) area of each view as a share of the square, in (0, 1]."""
    rest = (1 - area_fraction).clamp(min=MIN_AREA_WEIGHT)
    return rest / rest.sum()


def agreement_weight(x: Tensor) -> Tensor:
    """R-TPT's ``softmax(mean cosine to the 20 nearest other views / 0.01)`` of views (N, D): (N,)."""
    x = unit(x)
    N = len(x)
    if N == 1:
        return x.new_ones(1)
    # Masked by index, not by value: two identical crops are neighbours of each other.
    itself = torch.eye(N, dtype=torch.bool, device=x.device)
    cosine = (x @ x.T).masked_fill(itself, -math.inf)
    near = cosine.topk(min(AGREEMENT_NEIGHBOURS, N - 1), dim=1).values.mean(1)
    return (near / AGREEMENT_TEMPERATURE).softmax(0)


def step_back(x: Tensor, strength: float, area_fraction: Tensor | None, view_mask: Tensor | None = None) -> Tensor:
    """``unit(x_n + kappa |d|^2 d)``, where ``d`` is :func:`crop_offset`: an attack made for the whole square moves that view far
    and its crops little, all in one direction, so the offset from it to its crops estimates the opposite direction. ``|d|^2``
    makes the step short where the whole square is close to its crops, as in clean pictures. Returns (N, D) unit rows, differentiable with respect to ``x``.

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
