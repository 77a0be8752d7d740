"""The sessions of all visitors, each behind an opaque random id.

Together they stay under a byte limit. A session is deleted when its page is closed, when it is unused for a while, or
when room is needed (least recently used first). No visitor can reach another's session: ids never leave the server.
"""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from rita_demo.records.errors import DemoError
from rita_demo.ui.session.session import Session


class SessionLost(DemoError):
    """The visitor's session was deleted."""


class Sessions:
    """All visitors. Thread-safe. ``max_bytes``: bytes of all sessions together; ``idle_timeout``: seconds after which
    an unused session is deleted; ``clock``: seconds, monotonic; tests use their own."""

    def __init__(
        self, max_bytes: int = 1 << 30, idle_timeout: float = 3600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_bytes, self._idle_timeout, self._clock = max_bytes, idle_timeout, clock
        self._sessions: OrderedDict[str, tuple[Session, float]] = OrderedDict()
        self._session_of_page: dict[str, str] = {}
        self._lock = threading.Lock()

    def open(self, page: str | None = None, **first: Any) -> str:
        """A new session; ``page`` is the browser page (Gradio's session hash) that will close it."""
        name = secrets.token_urlsafe(24)
        with self._lock:
            self._drop_idle()
            self._sessions[name] = (Session(**first), self._clock())
            if page:
                self._sessions.pop(self._session_of_page.pop(page, ""), None)
                self._session_of_page[page] = name
        return name

    def get(self, name: object) -> Session:
        """The session of that id. Raises SessionLost: there is none (any more, or not yet)."""
        with self._lock:
            self._drop_idle()
            if name == "":  # no load event has answered
                raise SessionLost(
                    "The server does not know this page: it is still opening, or the server was started again.",
                    "Press again in a moment. If that does not help, reload the page.",
                )
            if not isinstance(name, str) or name not in self._sessions:
                raise SessionLost(
                    "The server no longer has this page's pictures: it was unused for long, or the connection broke.",
                    "Reload the page to start again.",
                )
            session, _ = self._sessions[name]
            self._sessions[name] = (session, self._clock())
            self._sessions.move_to_end(name)
            return session

    def close_page(self, page: str | None) -> None:
        with self._lock:
            self._sessions.pop(self._session_of_page.pop(page or "", ""), None)

    def evict(self) -> None:
        """Delete until the limit holds, the least recently used first; the newest session stays."""
        with self._lock:
            self._drop_idle()
            sizes = {name: session.size_bytes() for name, (session, _) in self._sessions.items()}
            total = sum(sizes.values())
            for name in list(self._sessions)[:-1]:
                if total <= self._max_bytes:
                    break
                total -= sizes[name]
                del self._sessions[name]

    def __len__(self) -> int:
        return len(self._sessions)

    def _drop_idle(self) -> None:
        now = self._clock()
        for name in [n for n, (_, used) in self._sessions.items() if now - used > self._idle_timeout]:
            del self._sessions[name]
        self._session_of_page = {p: n for p, n in self._session_of_page.items() if n in self._sessions}
