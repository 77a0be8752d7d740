"""How well a crop fits a class."""

import numpy as np

F = np.ndarray


def fit(view: F, prompts: F, weight: F) -> float:
    """The mean cosine of a view (D,) with the prompts (M, D) of one class, all of length 1."""
    return float(sum(w * (prompt @ view) for w, prompt in zip(weight, prompts)))
