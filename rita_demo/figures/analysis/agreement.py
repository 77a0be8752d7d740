"""How far the views of a class agree."""

import numpy as np


def resultant_length(features: np.ndarray) -> float:
    """``r = |sum of rows| / J`` in [0, 1] of unit rows (J, D): 1 when all are equal, 0 when empty."""
    if not len(features):
        return 0.0
    return float(np.linalg.norm(np.asarray(features, np.float64).sum(0)) / len(features))
