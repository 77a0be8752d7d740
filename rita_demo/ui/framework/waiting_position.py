"""The position of each waiting visitor in the queue of the model.

Gradio keeps the order itself, but reports a position only to events that show its spinner. The browser polls once a
second while it waits, so that no thread is blocked.
"""

import threading
import time
from collections.abc import Callable

import gradio as gr

from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.session import Session

POLL_SECONDS = 1.0
GONE_AFTER_SECONDS = 10.0  # without a poll, after which a visitor has left


class WaitingList:
    """Sessions in the order of their requests; those that stopped polling are dropped. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._last_poll: dict[int, float] = {}  # id() of a session -> time of its last poll, in order

    def join(self, session: Session) -> None:
        with self._lock:
            self._last_poll.setdefault(id(session), self._clock())

    def leave(self, session: Session) -> None:
        with self._lock:
            self._last_poll.pop(id(session), None)

    def position(self, session: Session) -> int | None:
        """How many wait before this session; None when it does not wait."""
        now = self._clock()
        with self._lock:
            if id(session) not in self._last_poll:
                return None
            self._last_poll[id(session)] = now
            self._last_poll = {k: at for k, at in self._last_poll.items() if now - at <= GONE_AFTER_SECONDS}
            return list(self._last_poll).index(id(session))


class QueueStatus:
    """The status line of a waiting visitor. ``timer`` polls; it is an output of the events that start waiting."""

    def __init__(self, context: AppContext) -> None:
        self._context, self.waiting_list = context, WaitingList()
        self.timer = gr.Timer(POLL_SECONDS, active=False)
        safe = notice.handle_errors(context.error_banner, lambda: {self.timer: gr.update(active=False)})
        outputs = [context.error_banner, context.status, self.timer]
        self.timer.tick(safe(self.on_tick), context.visitor, outputs, **IMMEDIATE_EVENT)
        self.outputs, self.press_handler = outputs, safe(self.on_press)

    def on_press(self, visitor: str) -> Updates:
        """A button was pressed: wait; the status line stays as it is when the queue is empty."""
        self.waiting_list.join(self._context.sessions.get(visitor))
        return self.on_tick(visitor)

    def on_tick(self, visitor: str) -> Updates:
        session = self._context.sessions.get(visitor)
        ahead = self.waiting_list.position(session)
        before = (ahead or 0) + self._context.activity.running_jobs
        if ahead is None or session.jobs.running.total() or not before:
            self.waiting_list.leave(session)
            return {self.timer: gr.update(active=False)}
        now = "Another picture is being computed; yours is next"
        if before > 1:
            now = f"{before} pictures are computed before yours"
        return {self._context.status: notice.progress_html(now, 0, stale=True), self.timer: gr.update(active=True)}
