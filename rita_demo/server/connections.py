"""Connections that end: uvicorn waits for ever for the rest of a request's first lines, and each takes a file descriptor.

A thousand half-open ones are all that a process may have. Here one that sends no whole request in time is closed, and
when there are too many, the one that is silent for longest.
"""

import asyncio
import math
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 20.0  # for the first lines of a request, also of the next one on the same connection
#: Open connections, and new ones that are accepted at a time; a process may often open 1,024 files.
MAX_CONNECTIONS, BACKLOG = 640, 128


class Connection(H11Protocol):
    """uvicorn's connection, with these limits."""

    _timer: asyncio.TimerHandle | None = None
    _silent_since = math.inf  # the loop's time; infinite while a request is answered

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_request()
        if len(self.connections) > MAX_CONNECTIONS:
            ours = (connection for connection in self.connections if isinstance(connection, Connection))
            longest = min(ours, key=lambda connection: connection._silent_since)
            longest._stop_waiting()  # not chosen again
            longest.transport.close()

    def handle_events(self) -> None:
        last = self.cycle
        super().handle_events()
        if self.cycle is not last and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self.cycle.response_complete:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_request(self) -> None:
        self._stop_waiting()
        self._silent_since = self.loop.time()
        self._timer = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        self._silent_since = math.inf
        if self._timer is not None:
            self._timer.cancel()


def raise_file_limit() -> None:
    """Let this process open as many files as it may, 65,536 at most: often 1,024 are the default and not the limit."""
    with suppress(ImportError, OSError, ValueError):  # not on Windows
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 1 << 16 if most == resource.RLIM_INFINITY else min(most, 1 << 16)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
