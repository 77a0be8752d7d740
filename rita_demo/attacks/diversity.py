"""Input diversity: the model seen through random small resizes (Xie et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from rita_demo.attacks.ascent import Logits, Sight

PROBABILITY = 0.5  # of changing a picture at all
SMALLEST = 0.9  # of the side


def diverse(logits: Logits) -> Sight:
    """The model behind :func:`resized_and_padded`, drawn anew for every picture and step."""

    def sight(pixels: Tensor, seeds: Sequence[int]) -> Tensor:
        return logits(torch.stack([_drawn(p, s) for p, s in zip(pixels, seeds)]))[:, None]

    return sight


def _drawn(pixels: Tensor, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    chance, size, top, left = torch.rand(4, generator=generator).tolist()
    if chance >= PROBABILITY:
        return pixels
    side = pixels.shape[-1]
    smallest = round(SMALLEST * side)
    small = smallest + int(size * (side - smallest + 1))
    room = side - small + 1
    return resized_and_padded(pixels, small, int(top * room), int(left * room))


def resized_and_padded(pixels: Tensor, small: int, top: int, left: int) -> Tensor:
    """(3, H, H) shrunk to ``small`` x ``small`` (bilinear), put at (top, left) on black of size H x H."""
    side = pixels.shape[-1]
    shrunk = F.interpolate(pixels[None], size=(small, small), mode="bilinear")[0]
    return F.pad(shrunk, (left, side - small - left, top, side - small - top))
