"""What can go into the holes of the ascent: starts, goals, moves and projections.

Pixels are (B, 3, H, W) float32 in [0, 1]; ``radius`` is the attack's budget in the same units.
An attack that sees the model through something (input diversity, averaged crops, a defence) brings a
sight (see ``ascent.py``) instead: the loop does not change.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


def _draw(pixels: Tensor, seeds: Sequence[int]) -> Tensor:
    """Uniform numbers in [0, 1), one CPU generator per picture.

    The CPU generator makes the numbers the same on every device, and one generator per picture
    makes a picture's attack the same alone and in any batch.
    """
    shape = pixels.shape[1:]
    rows = [torch.rand(shape, generator=torch.Generator().manual_seed(int(s))) for s in seeds]
    return torch.stack(rows).to(pixels.device)


KAPPA = 50.0  # logits; margins are not pushed further. Above what rounding to 8 bit can take away


# --- starts: (clean pixels, radius, seeds) -> the attacker's first iterate


def from_clean(pixels: Tensor, radius: float, seeds: Sequence[int]) -> Tensor:
    """Start at the clean picture (FGSM, DI)."""
    return pixels


def from_uniform(pixels: Tensor, radius: float, seeds: Sequence[int]) -> Tensor:
    """Start uniformly inside the ball (PGD, Madry et al. 2018)."""
    return pixels + (2.0 * _draw(pixels, seeds) - 1.0) * radius


def from_signs(pixels: Tensor, radius: float, seeds: Sequence[int]) -> Tensor:
    """Start at a random corner of the ball: every value moves by exactly the budget."""
    return pixels + torch.where(_draw(pixels, seeds) < 0.5, -radius, radius)


# --- goals: (logits (B, K), label (B,), target (B,) or None) -> (B,) the number to ascend


def cross_entropy(answer: Tensor, label: Tensor, target: Tensor | None) -> Tensor:
    """``-log p(label)``, away from the label; or ``log p(target)``, towards the target. In nats."""
    if target is None:
        return F.cross_entropy(answer, label, reduction="none")
    return -F.cross_entropy(answer, target, reduction="none")


def margin(answer: Tensor, label: Tensor, target: Tensor | None) -> Tensor:
    """``min(best other - correct, kappa)`` in logits; or ``min(target - best other, kappa)``.

    Carlini and Wagner 2017, f_6, with the sign of an ascent; above zero the model is fooled.
    """
    aim = label if target is None else target
    own = answer.gather(1, aim[:, None])[:, 0]
    rest = answer.masked_fill(F.one_hot(aim, answer.shape[1]).bool(), -torch.inf).amax(1)
    return (rest - own if target is None else own - rest).clamp(max=KAPPA)


# --- moves: (iterate, gradient, stride) -> the next iterate, before projection


def by_sign(iterate: Tensor, gradient: Tensor, stride: float) -> Tensor:
    """Steepest ascent in the L-infinity norm: every value moves by the stride."""
    return iterate + stride * gradient.sign()


def by_nothing(iterate: Tensor, gradient: Tensor, stride: float) -> Tensor:
    """Stay: for attacks that are over once they have started (noise)."""
    return iterate


# --- projections: (iterate, clean pixels, radius) -> the nearest allowed point


def to_linf_ball(iterate: Tensor, pixels: Tensor, radius: float) -> Tensor:
    """Into the L-infinity ball around the clean picture and into [0, 1], in one clamp."""
    low, high = (pixels - radius).clamp(min=0.0), (pixels + radius).clamp(max=1.0)
    return torch.minimum(torch.maximum(iterate, low), high)


# --- round trips: back to the 256 levels a file has


def to_levels(iterate: Tensor, roundtrip: str = "round") -> Tensor:
    """uint8 levels of pixels in [0, 1].

    ``round`` goes to the nearest level, which stays inside a ball of whole levels around a picture
    that was on the grid. ``truncate`` is what ``(255 * x).byte()`` does in published code: it drops
    the fraction, and where float rounding left a value just below a level it loses that level,
    so that the result may leave the ball by one.
    """
    scaled = iterate.float() * 255.0
    return (scaled if roundtrip == "truncate" else scaled.round()).to(torch.uint8)
