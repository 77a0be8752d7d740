"""What figures need beyond the records: numpy only, pure functions."""

from rita_demo.analysis.plane import plane, strength, text_mean
from rita_demo.analysis.update import entropies

__all__ = ["entropies", "plane", "strength", "text_mean"]
