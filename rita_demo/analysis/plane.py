"""Definition 10 made visible: the plane of the cached mean direction and the prompt's mean direction."""

from __future__ import annotations

import numpy as np

from rita_demo.records import Plane

CANCELLED = 1e-6  # below this length a sum of views has no direction
PARALLEL = 1e-6  # below this distance two directions span no plane
ROUNDING = 1e-12  # a smaller sum of squares is no difference


def strength(features: np.ndarray) -> float:
    """``r = |sum of rows| / J`` in [0, 1] of unit rows (J, D): 1 when all point the same way, 0 when empty."""
    if not len(features):
        return 0.0
    return float(np.linalg.norm(np.asarray(features, np.float64).sum(0)) / len(features))


def text_mean(prompts: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``zbar = sum_m w_m z_m``: prompts (M, D) and their weights (M,) -> (D,), not scaled."""
    return np.asarray(weight, np.float64) @ np.asarray(prompts, np.float64)


def plane(features: np.ndarray, text_mean: np.ndarray) -> Plane | None:
    """A class's cached views before and after Procrustes, in the plane of the two mean directions.

    The first axis is the direction of the prompt's mean zbar, the second is perpendicular to it,
    towards the cached views' mean.  ``smallest`` turns in this plane and leaves everything else;
    ``svd`` is literally U V' of the SVD of X'Y, which does anything outside it.

    Args:
        features: (J, D) unit rows, J at least 1.
        text_mean: (D,), any length but zero.

    Returns:
        Coordinates in [-1, 1]; None when one of the directions does not exist (nothing is turned then).
    """
    X = np.asarray(features, np.float64)
    total, z = X.sum(0), np.asarray(text_mean, np.float64)
    if np.linalg.norm(total) < CANCELLED * max(len(X), 1) or np.linalg.norm(z) < CANCELLED:
        return None
    u, v = total / np.linalg.norm(total), z / np.linalg.norm(z)
    basis = np.stack([v, _across(u, v)], 1)
    angle = 2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v))
    turned, literal = X @ _smallest(u, v), X @ _svd(X, z)
    stages = (X, turned, literal)
    return Plane(
        before=X @ basis,
        smallest=turned @ basis,
        svd=literal @ basis,
        mean=u @ basis,
        angle=float(angle),
        moved_smallest=_outside(X, turned, basis),
        moved_svd=_outside(X, literal, basis),
        share=np.stack([((one @ basis) ** 2).sum(0) / (one**2).sum() for one in stages]),
        spread=np.array([_spread(one, basis) for one in stages]),
    )


def _across(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A unit vector perpendicular to v, in the plane of u and v (any, when they are parallel)."""
    rest = u - (u @ v) * v
    if np.linalg.norm(rest) < PARALLEL:
        start = np.zeros_like(v)
        start[int(np.abs(v).argmin())] = 1.0
        rest = start - (start @ v) * v
    return rest / np.linalg.norm(rest)


def _smallest(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(D, D) W with u W = v that moves nothing outside their plane: two mirrors; identity when opposite."""
    W, middle = np.eye(len(u)), u + v
    if np.linalg.norm(middle) < PARALLEL:
        return W
    for mirror in (u, middle / np.linalg.norm(middle)):
        W = W - 2 * np.outer(W @ mirror, mirror)
    return W


def _svd(X: np.ndarray, z: np.ndarray) -> np.ndarray:
    """(D, D) the textbook minimiser: its other D - 1 dimensions are whatever the SVD fills in."""
    U, _, Vh = np.linalg.svd(np.outer(X.sum(0), z))
    return U @ Vh


def _outside(before: np.ndarray, after: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """(J,) how far every row moved in the dimensions that the plane does not show."""
    change = after - before
    return np.linalg.norm(change - (change @ basis) @ basis.T, axis=1)


def _spread(rows: np.ndarray, basis: np.ndarray) -> float:
    """The share of the rows' variance about their own mean that lies in the plane."""
    centred = rows - rows.mean(0)
    total = float((centred**2).sum())
    return float(((centred @ basis) ** 2).sum() / total) if total > ROUNDING else 0.0
