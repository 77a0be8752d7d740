"""Row 14 in float64: Gaussian (Bures) distance and the bounds on 2 d_OT."""

import numpy as np

F = np.ndarray


def covariance(points: F) -> F:
    """Covariance with 1 / N, not 1 / (N - 1)."""
    centred = points - points.mean(0)
    return centred.T @ centred / len(points)


def root(matrix: F) -> F:
    """The symmetric square root; negative eigenvalues from rounding count as zero."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return vectors @ np.diag(np.sqrt(values.clip(0))) @ vectors.T


def theorem_bounds(x: F, z: F) -> tuple[float, float, float, float]:
    """(lower, upper, |mu gap|^2, B^2) for views (N, D) and atoms (M, D) of one class, uniform weights."""
    a, b = covariance(x), covariance(z)
    gap = float(((x.mean(0) - z.mean(0)) ** 2).sum())
    bures = float(np.trace(a + b) - 2 * np.trace(root(root(a) @ b @ root(a))))
    return gap + bures, gap + float(np.trace(a) + np.trace(b)), gap, bures
