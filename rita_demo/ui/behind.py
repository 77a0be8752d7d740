"""A thread that computes behind everybody's back and ends with the server."""

from __future__ import annotations

import atexit
import contextlib
import threading


class Behind:
    """What :meth:`_work` computes, in one thread from :meth:`start` on.

    It calls :meth:`_go_on` between two steps: that ends it when the server goes down.
    """

    def __init__(self) -> None:
        self._ending = False
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    def start(self) -> None:
        """Begin, once."""
        with self._lock:
            if self._worker is None:
                self._worker = threading.Thread(target=self._until_ended, daemon=True)
                self._worker.start()
                atexit.register(self.end)

    def end(self) -> None:
        """Stop at the next step, and wait for that: the interpreter must not leave a thread inside torch."""
        self._ending = True
        if self._worker is not None:
            self._worker.join(60)

    def _work(self) -> None:
        raise NotImplementedError

    def _until_ended(self) -> None:
        with contextlib.suppress(Ended):
            self._work()

    def _go_on(self, _: object = None) -> None:
        if self._ending:
            raise Ended


class Ended(Exception):
    """The server is going down."""
