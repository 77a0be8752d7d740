"""A separate process for UMAP, which takes seconds.

UMAP's compiled parts cannot run in two threads at once, and importing them takes seconds. The process is started ahead of
the first call, computes one call after another, and ends with its parent process.
"""

import multiprocessing
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np

from rita_demo.figures.analysis.projection import umap
from rita_demo.records.errors import DemoError

WARM_UP_POINTS = 24  # points of the first fit, which compiles what the later ones use


class UmapProcess:
    """Computes UMAP (``work``) in another process. Thread-safe; calls wait for each other."""

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
