"""Attacks on pixels: they see a ``logits(pixels)`` callable and know nothing else of the model."""

from rita_demo.attacks.ascent import Ascent, Holes, Progress, ascend
from rita_demo.attacks.presets import ATTACKS, Attack, attack, attack_row

__all__ = [
    "ATTACKS",
    "Ascent",
    "Attack",
    "Holes",
    "Progress",
    "ascend",
    "attack",
    "attack_row",
]
