"""What figures need beyond the records: numpy only, pure functions."""

from rita_demo.analysis.plane import plane, strength

__all__ = ["plane", "strength"]
