"""One other process for work that takes seconds, so that nobody waits for it.

UMAP's compiled parts are not safe to run from two threads at once, and importing them takes seconds:
a process of their own is warmed up when the first visitor may want it, answers one call after the other,
and ends with the process that started it.
"""

from __future__ import annotations

import multiprocessing
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from rita_demo.analysis.places import umap
from rita_demo.errors import DemoError

WARM = 24  # points of the first fit, which compiles what the later ones use


class Worker:
    """Places points by UMAP in another process. Thread-safe; calls wait for each other.

    Args:
        work: what the process calls with the arguments of :meth:`ask`; tests bring their own.
    """

    def __init__(self, work: Callable[..., Any] = umap) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._process: Any = None
        self._line: Any = None

    def warm(self) -> None:
        """Start the process in the background, unless it runs already."""
        with self._lock:
            self._started()

    def ask(self, *arguments: Any) -> Any:
        """The work's result.

        Raises:
            DemoError: when the work failed or the process died; the next call starts a new one.
        """
        with self._lock:
            line = self._started()
            try:
                line.send(arguments)
                good, answer = line.recv()
            except (EOFError, OSError) as error:
                self._stopped()
                raise DemoError("The placing was interrupted.", "Try again.") from error
        if not good:
            raise DemoError(f"The points could not be placed: {answer}.", "PCA still shows them.")
        return answer

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stopped()

    def _started(self) -> Any:
        if self._process is None or not self._process.is_alive():
            fresh = multiprocessing.get_context("spawn")
            self._line, theirs = fresh.Pipe()
            # the child holds only its own end: when this process dies it reads the end of the line
            self._process = fresh.Process(target=_serve, args=(theirs, self._work), daemon=True)
            self._process.start()
            theirs.close()
        return self._line

    def _stopped(self) -> None:
        if self._process is not None:
            self._line.close()
            self._process.terminate()
            self._process = None


def _serve(line: Any, work: Callable[..., Any]) -> None:
    """The other process: warm up, then answer until the line ends."""
    warnings.simplefilter("ignore")  # UMAP's remark that a seed means one thread: so it should be
    if work is umap:
        umap(np.random.default_rng(0).normal(size=(WARM, 8)), 5, 0.1)
    while True:
        try:
            arguments = line.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            line.send((True, work(*arguments)))
        except Exception as error:  # told to the asker, who has the visitor's page
            line.send((False, f"{type(error).__name__}: {error}"))
