"""Projection of features to the plane: PCA and UMAP."""

from __future__ import annotations

import numpy as np
from threadpoolctl import ThreadpoolController

from rita_demo.records.measurement import CloudPoints

UMAP_MIN_DIST = 0.1  # UMAP's min_dist, its own default


def umap_caption(neighbours: int, crops: int) -> str:
    """What UMAP was asked, as sentences. With fewer neighbours than a picture has ``crops`` every picture is an island."""
    islands = f" Each picture has {crops} crops, its nearest neighbours: with so few they are islands of their own."
    return (
        f"UMAP, {neighbours} neighbours, cosine distance, seed 0: approximate; distances between groups mean little; "
        f"pictures and sentences are each centred on their own mean.{islands if neighbours <= crops else ''}"
    )


def centre_by_kind(points: CloudPoints) -> np.ndarray:
    """(P, D) the features minus the mean of their kind: pictures or prompts.

    In CLIP-like models the two kinds lie far apart (the modality gap, Liang et al. 2022), which would dominate the plane.
    """
    moved = np.array(points.features, np.float64)
    text = points.kind == "prompt"
    for mine in (text, ~text):
        if mine.any():
            moved[mine] -= moved[mine].mean(0)
    return moved


def pca(features: np.ndarray) -> tuple[np.ndarray, float]:
    """The two directions of largest variance: (P, 2) coordinates and their share of the variance.

    ``features`` (P, D), P and D at least 2. The largest entry of each direction is positive, so the signs are fixed.
    """
    X = np.asarray(features, np.float64)
    X = X - X.mean(0)
    strength, directions = np.linalg.eigh(X.T @ X)  # D x D: quick however many points there are
    two = directions[:, ::-1][:, :2]
    two = two * np.where(two[np.abs(two).argmax(0), [0, 1]] < 0, -1, 1)
    total = float((X**2).sum())
    return X @ two, float(strength[::-1][:2].sum() / total) if total else 0.0


def umap(features: np.ndarray, neighbours: int, min_distance: float, seed: int = 0) -> np.ndarray:
    """(P, 2) UMAP coordinates by cosine distance (McInnes et al. 2018), deterministic for a seed.

    It takes seconds: the page calls it in :class:`rita_demo.analysis.umap_process.UmapProcess`.
    """
    import umap as library  # imports for many seconds

    reducer = library.UMAP(
        n_neighbors=min(neighbours, len(features) - 1),
        min_dist=min_distance,
        metric="cosine",
        random_state=seed,
        n_jobs=1,
    )
    # Its compiled loops change this thread's number of OpenMP threads, also torch's: restore it.
    with ThreadpoolController().select(user_api="openmp").limit(limits=None):
        fitted = reducer.fit_transform(np.asarray(features, np.float32))
    return np.asarray(fitted, np.float64)
