"""Attacks on pixels: one file each. They need a ``logits(pixels)`` callable and nothing else of the model. This package
loads no torch; the functions that run an attack are in :mod:`rita_demo.attacks.loop.run`."""

from rita_demo.attacks.contract import Attack
from rita_demo.attacks.registry import ATTACKS, differentiated, get_attack
