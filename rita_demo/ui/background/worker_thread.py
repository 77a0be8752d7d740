"""Background thread, stopped on shutdown."""

from __future__ import annotations

import atexit
import contextlib
import threading


class BackgroundThread:
    """Runs :meth:`_work` in one thread from :meth:`start` on. It calls :meth:`_check_stopped` between two steps."""

    def __init__(self) -> None:
        self._stopping = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_until_stopped, daemon=True)
                self._thread.start()
                atexit.register(self.stop)

    def stop(self) -> None:
        """Stop at the next step and wait for it: the interpreter must not exit while a thread runs torch."""
        self._stopping = True
        if self._thread is not None:
            self._thread.join(60)

    def _work(self) -> None:
        raise NotImplementedError

    def _run_until_stopped(self) -> None:
        with contextlib.suppress(Stopped):
            self._work()

    def _check_stopped(self, _: object = None) -> None:
        if self._stopping:
            raise Stopped


class Stopped(Exception):
    """The server shuts down."""
