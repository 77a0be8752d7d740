"""RITA demo: see an adversarial attack on a vision-language model, and see a defence undo it."""

__version__ = "0.1.0"
