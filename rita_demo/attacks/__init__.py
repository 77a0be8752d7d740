"""Attacks on pixels: one file each. They need a ``logits(pixels)`` callable and nothing else of the model.

This package loads no torch; the functions that run an attack are in :mod:`rita_demo.attacks.run`.
"""

from rita_demo.attacks.contract import Attack
from rita_demo.attacks.registry import ATTACKS, access_of, get_attack
from rita_demo.attacks.threat_text import knowledge_sentence, threat_sentences
