"""Projection of features to the plane: PCA, and UMAP, which takes seconds and has a process of its own."""

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from rita_demo.process.output_file import is_writable, own_temp_folder
from rita_demo.records.errors import DemoError
from rita_demo.records.measurement import CloudPoints

CENTRED = "pictures and sentences are each centred on their own mean"
ROWS_AT_ONCE = 512  # of the matrix of distances
WARM_UP_POINTS = 24  # points of the first fit, which compiles what the later ones use


def umap_caption(neighbours: int) -> str:
    """What UMAP was asked, as sentences."""
    return (
        f"UMAP, {neighbours} neighbours, points of the same picture not among them, cosine distance, seed 0: approximate; "
        f"distances between groups mean little; {CENTRED}."
    )


def centre_by_kind(points: CloudPoints) -> np.ndarray:
    """(P, D) the features minus the mean of their kind: pictures or prompts.

    In CLIP-like models the two kinds lie far apart (the modality gap, Liang et al. 2022), which would dominate the plane.
    """
    moved = np.array(points.features, np.float64)
    text = points.kind == "prompt"
    for group in (text, ~text):
        if group.any():
            moved[group] -= moved[group].mean(0)
    return moved


def pca(features: np.ndarray) -> tuple[np.ndarray, float]:
    """The two directions of largest variance: (P, 2) coordinates and their share of the variance.

    ``features`` (P, D), P and D at least 2. The largest entry of each direction is positive, so the signs are fixed."""
    X = np.asarray(features, np.float64)
    X = X - X.mean(0)
    strength, directions = np.linalg.eigh(X.T @ X)  # D x D: quick however many points there are
    two = directions[:, ::-1][:, :2]
    two = two * np.where(two[np.abs(two).argmax(0), [0, 1]] < 0, -1, 1)
    total = float((X**2).sum())
    return X @ two, float(strength[::-1][:2].sum() / total) if total else 0.0


def captioned_pca(features: np.ndarray) -> tuple[np.ndarray, str]:
    """The coordinates of :func:`pca`, and what they show in a sentence."""
    coordinates, share = pca(features)
    return coordinates, f"PCA: these two directions show {100 * share:.0f} % of the variance; {CENTRED}."


def umap(features: np.ndarray, neighbours: int, picture: np.ndarray) -> np.ndarray:
    """(P, 2) UMAP coordinates by cosine distance (McInnes et al. 2018), deterministic.

    Points of the same ``picture`` (P,) are no neighbours of each other: crops of one picture are alike whatever it shows,
    and each picture would be an island of its own. -1 belongs to no picture. It takes seconds: the page calls it in
    :class:`UmapProcess`."""
    _let_numba_store()
    import umap as library  # imports for many seconds

    X = np.asarray(features, np.float32)
    nearest, distance = _neighbours_elsewhere(X, neighbours, picture)
    reducer = library.UMAP(
        n_neighbors=nearest.shape[1],
        min_dist=0.1,
        metric="cosine",
        random_state=0,
        n_jobs=1,
        precomputed_knn=(nearest, distance, None),
    )
    # Its compiled loops change this thread's number of OpenMP threads, also torch's: restore it.
    with ThreadpoolController().select(user_api="openmp").limit(limits=None), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it warns that a seed means one thread, which is intended
        fitted = reducer.fit_transform(X)
    return np.asarray(fitted, np.float64)


def _let_numba_store() -> None:
    """numba stores what it compiles for UMAP beside the packages or in the user's home, and fails where neither can be
    written: then in a temporary folder."""
    from numba.core.config import reload_config
    from numba.misc.appdirs import AppDirs

    if not os.environ.get("NUMBA_CACHE_DIR") and not is_writable(Path(AppDirs("numba", False).user_cache_dir)):
        os.environ["NUMBA_CACHE_DIR"] = str(own_temp_folder("numba"))
        reload_config()


def _neighbours_elsewhere(X: np.ndarray, neighbours: int, picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices and cosine distances (P, k) of each point itself and its nearest points of other pictures, k at most
    ``neighbours``."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True).clip(1e-12)
    owner = np.where(picture < 0, -1 - np.arange(len(X)), picture)  # a point of no picture is alone
    _, sizes = np.unique(owner, return_counts=True)
    k = max(2, min(neighbours, len(X) - int(sizes.max()) + 1))
    index, distances = np.empty((len(X), k), np.int32), np.empty((len(X), k), np.float32)
    for begin in range(0, len(X), ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + ROWS_AT_ONCE, len(X)))
        distance = (1 - unit[rows] @ unit.T).clip(0)
        distance[owner[rows][:, None] == owner[None]] = np.inf
        distance[np.arange(len(rows)), rows] = -1  # itself comes first
        index[rows] = np.argsort(distance, axis=1, kind="stable")[:, :k]
        distances[rows] = np.take_along_axis(distance, index[rows], axis=1).clip(0)
    return index, distances


class UmapProcess:
    """Computes UMAP (``work``) in another process: its compiled parts cannot run in two threads at once, and importing them takes
    seconds. It is started ahead of the first call and ends with its parent. Thread-safe; calls wait for each other."""

    def __init__(self, work: Callable[..., Any] = umap) -> None:
        self._work = work
        self._lock = threading.RLock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def warm_up(self) -> None:
        """Start the process in the background unless it is running."""
        with self._lock:
            if self._process is None or not self._process.is_alive():
                fresh = multiprocessing.get_context("spawn")
                self._pipe, theirs = fresh.Pipe()
                # The child has only its own end of the pipe, so that it reads the end of file when this process ends.
                self._process = fresh.Process(target=_process_main, args=(theirs, self._work), daemon=True)
                self._process.start()
                theirs.close()

    def compute(self, *arguments: object) -> Any:
        """The result of ``work``.

        Raises:
            DemoError: the work failed, or the process ended; the next call starts a new one.
        """
        with self._lock:
            self.warm_up()
            assert self._pipe is not None
            try:
                self._pipe.send(arguments)
                succeeded, result = self._pipe.recv()
            except (EOFError, OSError) as error:
                self.close()
                raise DemoError("The projection was interrupted.", "Try again.") from error
        if not succeeded:
            raise DemoError(f"The points could not be projected: {result}.", "PCA still shows them.")
        return result

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None and self._pipe is not None:
                self._pipe.close()
                self._process.terminate()
                self._process = None


def _process_main(pipe: Connection, work: Callable[..., Any]) -> None:
    """The main function of the process: warm up, then compute until the pipe is closed."""
    warnings.simplefilter("ignore")  # UMAP warns that a seed means one thread, which is intended
    if work is umap:
        with suppress(Exception):  # the first call says it
            umap(np.random.default_rng(0).normal(size=(WARM_UP_POINTS, 8)), 5, np.arange(WARM_UP_POINTS))
    while True:
        try:
            arguments = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            pipe.send((True, work(*arguments)))
        except Exception as error:  # the caller shows it on the page
            pipe.send((False, f"{type(error).__name__}: {error}"))
