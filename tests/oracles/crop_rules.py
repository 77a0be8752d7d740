"""From crops to an answer, one crop and one class at a time: how well a crop fits a class, the mean."""

import numpy as np

F = np.ndarray


def fit(view: F, prompts: F, weight: F) -> float:
    """The mean cosine of a view (D,) with the prompts (M, D) of one class, all of length 1."""
    return float(sum(w * (prompt @ view) for w, prompt in zip(weight, prompts)))


def mean_cost(cost: F, rows: F, columns: F) -> float:
    """One class (N, M) with all mass, each crop onto every prompt by the prompt's weight."""
    moved = 0.0
    for n, row in enumerate(rows):
        for m, column in enumerate(columns):
            moved += row * column / sum(columns) * cost[n, m]
    return moved
