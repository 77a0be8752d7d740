"""The memories that one visitor has, as an immutable value: the one in use, and those that another took the place of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rita_demo.ui.session.cache_history import History

MAX_MEMORIES = 32  # of one visitor


@dataclass(frozen=True)
class Memories:
    """``histories`` in the order in which they came; the first is the visitor's own. The next picture is decided from the one
    ``in_use``, a place in them. ``opened``: what that one was when a picture of a stream was opened with it, which opening
    the picture again brings back."""

    histories: tuple[History, ...] = (History(),)
    in_use: int = 0
    opened: History | None = None

    @property
    def current(self) -> History:
        return self.histories[self.in_use]

    def changed(self, history: History) -> Memories:
        """The one in use goes on as ``history``."""
        n = self.in_use
        return replace(self, histories=(*self.histories[:n], history, *self.histories[n + 1 :]))

    def another(self, history: History, *, opened: bool = False) -> Memories:
        """From now on ``history`` is in use. The earlier one stays, unless it never held anything, or opening a stream's
        picture again brings it back; ``opened``: that is so of this one. Over the limit the oldest of the others leaves."""
        before, new = self.current, history if opened else None
        own = not self.in_use
        if not before.ever_held and (not own or not history.origin):
            return replace(self.changed(history), opened=new)
        if self.opened is not None and len(set(map(id, before.entries)) - set(map(id, self.opened.entries))) <= 1:
            return replace(self.changed(history), opened=new)
        full = len(self.histories) >= MAX_MEMORIES
        gone = next(n for n in range(1, len(self.histories)) if n != self.in_use) if full else None
        kept = tuple(one for n, one in enumerate(self.histories) if n != gone)
        return Memories((*kept, history), len(kept), new)

    def using(self, n: int) -> Memories:
        """The one at place ``n`` is in use; the others stay as they are."""
        return Memories(self.histories, n)
