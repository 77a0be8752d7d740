"""Places in the plane for features of many dimensions: PCA at once, UMAP when it is ready."""

from __future__ import annotations

import numpy as np
from threadpoolctl import ThreadpoolController

from rita_demo.surveys import Marks


def comparable(marks: Marks) -> np.ndarray:
    """(P, D) the features with each kind's own mean taken away: pictures and sentences.

    In CLIP-like models all sentences lie on one side and all pictures on another (the modality gap,
    Liang et al. 2022): uncentred, that is the only thing a plane would show.
    """
    moved = np.array(marks.features, np.float64)
    text = marks.kind == "prompt"
    for mine in (text, ~text):
        if mine.any():
            moved[mine] -= moved[mine].mean(0)
    return moved


def pca(features: np.ndarray) -> tuple[np.ndarray, float]:
    """The two directions of largest variance: (P, 2) places and the share of variance they show.

    features (P, D), P at least 2. Signs are fixed (the largest entry of each direction is positive),
    so that the same points never come out mirrored.
    """
    X = np.asarray(features, np.float64)
    X = X - X.mean(0)
    strength, directions = np.linalg.eigh(X.T @ X)  # D x D: quick however many points there are
    two = directions[:, ::-1][:, :2]
    two = two * np.where(two[np.abs(two).argmax(0), np.arange(two.shape[1])] < 0, -1, 1)
    places = X @ two
    if places.shape[1] < 2:
        places = np.pad(places, ((0, 0), (0, 1)))
    total = float((X**2).sum())
    return places, float(strength[::-1][:2].sum() / total) if total else 0.0


def umap(features: np.ndarray, neighbours: int, min_distance: float, seed: int = 0) -> np.ndarray:
    """(P, 2) UMAP places by cosine distance (McInnes et al. 2018); the same seed gives the same places.

    Takes seconds: the page calls it in :class:`rita_demo.analysis.worker.Worker`.
    """
    import umap as library  # takes many seconds to import: only where it is used

    reducer = library.UMAP(
        n_neighbors=min(neighbours, len(features) - 1),
        min_dist=min_distance,
        metric="cosine",
        random_state=seed,
        n_jobs=1,
    )
    # Its compiled loops set this thread's number of OpenMP threads for good, torch's as well: put it back.
    with ThreadpoolController().select(user_api="openmp").limit(limits=None):
        fitted = reducer.fit_transform(np.asarray(features, np.float32))
    return np.asarray(fitted, np.float64)
