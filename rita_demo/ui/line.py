"""Who waits for the model, in the order they came, and how many are before each of them.

Gradio computes the answers in that order by itself; it hands its own count only to an event that shows its
spinner. The browser asks for the place once a second while it waits: nobody holds a thread for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo.ui import notice
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, Desk
from rita_demo.ui.sessions import Session

ASKED = 1.0  # seconds between two questions for the place
SILENT = 10.0  # seconds without one after which somebody has left


class Line:
    """Visitors in the order they came; who does not ask for a place any more is no longer in it. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._waiting: dict[int, float] = {}  # id() of a session -> when he asked last, in order

    def join(self, session: Session) -> None:
        """At the end, unless there already."""
        with self._lock:
            self._waiting.setdefault(id(session), self._clock())

    def leave(self, session: Session) -> None:
        """His turn has come, or he went."""
        with self._lock:
            self._waiting.pop(id(session), None)

    def ahead(self, session: Session) -> int | None:
        """How many wait before this visitor; None when he does not wait."""
        now = self._clock()
        with self._lock:
            if id(session) not in self._waiting:
                return None
            self._waiting[id(session)] = now
            self._waiting = {k: at for k, at in self._waiting.items() if now - at <= SILENT}
            return list(self._waiting).index(id(session))


class Waiting:
    """What a visitor is told meanwhile. Build it on the page; ``timer`` is an output of what begins the wait."""

    def __init__(self, desk: Desk, line: Line) -> None:
        self._desk, self._line = desk, line
        self.timer = gr.Timer(ASKED, active=False)
        safe = notice.guarded(desk.notice, lambda: {self.timer: gr.update(active=False)})
        outputs = [desk.notice, desk.status, self.timer]
        self.timer.tick(safe(self.told), desk.visitor, outputs, **AT_ONCE)
        self.outputs, self.pressed = outputs, safe(self.begun)

    def begun(self, visitor: Any) -> Updates:
        """A button was pressed: nothing is said when nobody is before."""
        session = self._desk.sessions.get(visitor)
        self._line.join(session)
        return self._said(session)

    def told(self, visitor: Any) -> Updates:
        """The place as it is now; silence once the turn has come."""
        return self._said(self._desk.sessions.get(visitor))

    def over(self, session: Session) -> None:
        """The turn has come."""
        self._line.leave(session)

    def _said(self, session: Session) -> Updates:
        ahead = self._line.ahead(session)
        before = (ahead or 0) + self._desk.turns.busy
        if ahead is None or session.jobs.total() or not before:
            self._line.leave(session)
            return {self.timer: gr.update(active=False)}
        now = notice.progress(place(before), 0, 0)
        return {self._desk.status: now, self.timer: gr.update(active=True)}


def place(before: int) -> str:
    """The sentence for so many pictures before this one."""
    if before == 1:
        return "Another picture is being computed; yours is next"
    return f"{before} pictures are computed before yours"
