"""A touch answered in two events: first what the visitor waits for, then whatever else shows it.

Gradio hands the outputs of an event over one by one, and the browser draws every figure in sight before it shows
any: a dozen figures at once would keep the one that was touched from the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rita_demo.ui import notice
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, Desk
from rita_demo.ui.sessions import Session


class InTurn:
    """The touches of one tab, by its id. Panels that come first are put on the board with ``soon=True``."""

    def __init__(self, desk: Desk, tab: str) -> None:
        self._desk, self.tab = desk, tab

    def first(self, session: Session, *changed: str) -> Updates:
        """What a handler returns; the other panels that depend on what ``changed`` are owed."""
        self._desk.turns.touch()
        with session.lock:
            session.owed |= {*changed}
        return self._desk.board.redraw(session, *changed, tab=self.tab, soon=True)

    def rest(self, session: Session) -> Updates:
        """What is owed: once, however many touches it is owed for."""
        with session.lock:
            owed, session.owed = session.owed, frozenset()
        return self._desk.board.redraw(session, *owed, tab=self.tab, soon=False)

    def wire(
        self,
        event: Any,
        handler: Callable[..., Updates],
        inputs: list[Any],
        *aspects: str,
        held: Sequence[Any] = (),
        more: Sequence[Any] = (),
    ) -> None:
        """Connect a touch that changes at most ``aspects``, and ``more``; the visitor's hand is on what is
        ``held``, which shows the touch itself."""
        safe, board, notices = (
            notice.guarded(self._desk.notice),
            self._desk.board,
            self._desk.notice,
        )
        held_ids = {id(c) for c in held}

        def others(visitor: Any) -> Updates:
            late = self.rest(self._desk.sessions.get(visitor))
            return {c: value for c, value in late.items() if id(c) not in held_ids}

        soon, late = (board.depending(*aspects, tab=self.tab, soon=s) for s in (True, False))
        answered = event(safe(handler), inputs, [notices, *soon, *more], **AT_ONCE)
        answered.then(safe(others), self._desk.visitor, [notices, *late], **AT_ONCE)
