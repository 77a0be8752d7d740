"""Definition 10 in the plane of the mean direction of the cached views and that of the prompts."""

import numpy as np

from rita_demo.records import ProcrustesPlane

MIN_RESULTANT = 1e-6  # below this length a sum of views has no direction
PARALLEL = 1e-6  # below this distance two directions span no plane
ROUNDING = 1e-12  # a smaller sum of squares is no difference


def resultant_length(features: np.ndarray) -> float:
    """``r = |sum of rows| / J`` in [0, 1] of unit rows (J, D): 1 when all are equal, 0 when empty."""
    if not len(features):
        return 0.0
    return float(np.linalg.norm(np.asarray(features, np.float64).sum(0)) / len(features))


def text_mean(prompts: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``zbar = sum_m w_m z_m``: prompts (M, D) and their weights (M,) -> (D,), not scaled."""
    return np.asarray(weight, np.float64) @ np.asarray(prompts, np.float64)


def project_to_plane(features: np.ndarray, text_mean: np.ndarray) -> ProcrustesPlane | None:
    """A class's cached views before and after Procrustes, in the plane of the two mean directions.

    The first axis is the direction of the mean prompt zbar, the second is perpendicular to it, towards the mean of the
    cached views. ``smallest`` rotates in this plane and is the identity outside; ``svd`` is U V' of the SVD of X'Y, which
    is arbitrary outside. ``features``: (J, D) unit rows, J at least 1; ``text_mean``: (D,), any length but zero.

    Returns coordinates in [-1, 1]; None without one of the directions (then nothing is rotated)."""
    X = np.asarray(features, np.float64)
    total, z = X.sum(0), np.asarray(text_mean, np.float64)
    if np.linalg.norm(total) < MIN_RESULTANT * len(X) or np.linalg.norm(z) < MIN_RESULTANT:
        return None
    u, v = total / np.linalg.norm(total), z / np.linalg.norm(z)
    basis = np.stack([v, _perpendicular(u, v)], 1)
    angle = 2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v))
    U, _, Vh = np.linalg.svd(np.outer(total, z))  # the textbook minimiser; the SVD chooses its other D - 1 dimensions
    smallest, svd = X @ _smallest_rotation(u, v), X @ (U @ Vh)
    stages, changes = (X, smallest, svd), (smallest - X, svd - X)
    outside = [np.linalg.norm(change - (change @ basis) @ basis.T, axis=1) for change in changes]
    return ProcrustesPlane(
        before=X @ basis,
        smallest=smallest @ basis,
        svd=svd @ basis,
        mean=u @ basis,
        angle=float(angle),
        moved_smallest=outside[0],
        moved_svd=outside[1],
        share=np.stack([((one @ basis) ** 2).sum(0) / (one**2).sum() for one in stages]),
        spread=np.array([_variance_in_plane(one, basis) for one in stages]),
    )


def _perpendicular(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A unit vector perpendicular to v, in the plane of u and v (any, when they are parallel)."""
    rest = u - (u @ v) * v
    if np.linalg.norm(rest) < PARALLEL:
        start = np.zeros_like(v)
        start[int(np.abs(v).argmin())] = 1.0
        rest = start - (start @ v) * v
    return rest / np.linalg.norm(rest)


def _smallest_rotation(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(D, D) W with u W = v, the identity outside their plane: two reflections; the identity for opposite vectors."""
    W, middle = np.eye(len(u)), u + v
    if np.linalg.norm(middle) < PARALLEL:
        return W
    for mirror in (u, middle / np.linalg.norm(middle)):
        W = W - 2 * np.outer(W @ mirror, mirror)
    return W


def _variance_in_plane(rows: np.ndarray, basis: np.ndarray) -> float:
    """The share of the rows' variance about their own mean that lies in the plane."""
    centred = rows - rows.mean(0)
    total = float((centred**2).sum())
    return float(((centred @ basis) ** 2).sum() / total) if total > ROUNDING else 0.0
