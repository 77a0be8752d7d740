"""What RITA is compared with: one function each, on the same encoded views."""

from rita_demo.baselines.ensemble import ensemble
from rita_demo.baselines.zero_shot import zero_shot

__all__ = ["ensemble", "zero_shot"]
