"""Attacks on pixels: they see a ``logits(pixels)`` callable and know nothing else of the model."""

from rita_demo.attacks.ascent import Ascent, Holes, Progress, Sight, Wish, ascend
from rita_demo.attacks.rows import ATTACKS, Attack, attack_row, looks_through
from rita_demo.attacks.single import attack, attack_together
from rita_demo.attacks.threat import knowledge, threat_sentences

__all__ = [
    "ATTACKS",
    "Ascent",
    "Attack",
    "Holes",
    "Progress",
    "Sight",
    "Wish",
    "ascend",
    "attack",
    "attack_row",
    "attack_together",
    "knowledge",
    "looks_through",
    "threat_sentences",
]
