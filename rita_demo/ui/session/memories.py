"""The memories that one visitor has, as an immutable value: the one in use, and those that another took the place of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rita_demo.data.memory import MemoryTable

MAX_MEMORIES = 32  # of one visitor


@dataclass(frozen=True)
class Memories:
    """``histories`` in the order in which they came; the first is the visitor's own. The next picture is decided from the one
    ``in_use``, a place in them. ``opened``: what that one was when a picture of a stream was opened with it, which opening
    the picture again brings back."""

    histories: tuple[MemoryTable, ...] = (MemoryTable(),)
    in_use: int = 0
    opened: MemoryTable | None = None

    @property
    def current(self) -> MemoryTable:
        return self.histories[self.in_use]

    def changed(self, history: MemoryTable) -> Memories:
        """The one in use goes on as ``history``."""
        n = self.in_use
        return replace(self, histories=(*self.histories[:n], history, *self.histories[n + 1 :]))

    def another(self, history: MemoryTable, *, opened: bool = False) -> Memories:
        """From now on ``history`` is in use. The earlier one stays, unless it never held anything, or opening a stream's
        picture again brings it back; ``opened``: that is so of this one. Over the limit the oldest of the others leaves."""
        before, new = self.current, history if opened else None
        own = not self.in_use
        if not len(before.label) and (not own or not history.origin):
            return replace(self.changed(history), opened=new)
        if self.opened is not None and len(set(before.moments) - set(self.opened.moments)) <= 1:
            return replace(self.changed(history), opened=new)
        full = len(self.histories) >= MAX_MEMORIES
        gone = next(n for n in range(1, len(self.histories)) if n != self.in_use) if full else None
        kept = tuple(one for n, one in enumerate(self.histories) if n != gone)
        return Memories((*kept, history), len(kept), new)

    def using(self, n: int) -> Memories:
        """The one at place ``n`` is in use; the others stay as they are."""
        return Memories(self.histories, n)
