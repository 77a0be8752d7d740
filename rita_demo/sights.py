"""What an attacker looks through: random crops, or RITA as a whole. Built here because a sight needs
the model, the views and the method at once, and none of them may know another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rita_demo.attacks import Sight
from rita_demo.method import Prompts, decision_logits
from rita_demo.records import CacheState
from rita_demo.settings import Settings
from rita_demo.views import crop, draw_boxes, shares

Encode = Callable[
    [Tensor], Tensor
]  # pixels (B, 3, side, side) to unit features (B, D), differentiable


def through_crops(
    encode: Encode, hand: Tensor, temperature: float, settings: Settings, side: int
) -> Sight:
    """``attack_views`` fresh crops (B, n, K): plain CLIP's logits ``cos / tau`` on every one of them.

    ``hand`` (K, D) is the hand prompt. Crops are drawn like the defence's views, without view 0 and
    without AugMix, which has no gradient.
    """

    def sight(pixels: Tensor, seeds: Sequence[int]) -> Tensor:
        count = settings.attack_views
        crops = [_views(p, s, settings, side, count + 1)[0][1:] for p, s in zip(pixels, seeds)]
        features = encode(torch.cat(crops))
        return (features @ hand.T / temperature).reshape(len(pixels), count, -1)

    return sight


def through_defence(
    encode: Encode, prompts: Prompts, cache: CacheState, settings: Settings, side: int
) -> Sight:
    """RITA's own logits (B, 1, K) on ``attack_views`` fresh views (the whole square and crops), decided
    from ``cache``, which stays as it is: see :func:`rita_demo.method.decision_logits`."""

    def sight(pixels: Tensor, seeds: Sequence[int]) -> Tensor:
        answers = []
        for square, seed in zip(pixels, seeds):
            views, shown = _views(square, seed, settings, side, settings.attack_views)
            answers.append(decision_logits(encode(views), prompts, cache, settings, shown))
        return torch.stack(answers)[:, None]

    return sight


def _views(
    square: Tensor, seed: int, settings: Settings, side: int, count: int
) -> tuple[Tensor, Tensor]:
    """Fresh views, and the share of the square that each shows."""
    boxes, flipped = draw_boxes(count, seed, (settings.view_scale, 1.0))
    return crop(square, boxes, flipped, side), torch.from_numpy(shares(boxes))
