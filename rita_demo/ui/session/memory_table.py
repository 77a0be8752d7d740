"""A memory over time as the table of :func:`rita_demo.stored_views`: every view that entered, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rita_demo.evaluation import page as evaluation_page
from rita_demo.records import CacheEvent
from rita_demo.records.spreadsheet import csv_bytes
from rita_demo.ui.session.cache_history import CacheItem, CacheSnapshot, HistoryEntry


@dataclass(eq=False)
class _View:
    """A view in the order of entering: its number, class and place, the view that left for it, and the index of the
    picture that took its place, with that one's view."""

    id: int
    stored_as: str
    slot: int
    item: CacheItem
    replaced: _View | None = None
    left_at: int | None = None
    replaced_by: _View | None = None

    @property
    def file(self) -> str:
        """The name of its picture's file; where it is not known what the picture is called."""
        return self.item.file or self.item.picture

    def row(self, title: str) -> tuple[object, ...]:
        item, gone, by = self.item, self.replaced, self.replaced_by
        evicted = (None,) * 3 if gone is None else (gone.id, gone.file, gone.item.entropy - item.entropy)
        return (
            *(title, self.id, item.born, self.file, item.truth, item.attacked),
            *(self.stored_as, self.slot, item.view, *(item.box or (None,) * 4)),
            *(item.entropy, item.born, *evicted, self.left_at, None if by is None else by.id),
        )


def memory_csv(title: str, entries: Sequence[HistoryEntry]) -> bytes:
    """The views of a memory's moments, with the columns of :func:`rita_demo.stored_views`. ``title`` fills the column
    ``stream``. Moments before the class names or the model changed belong to another memory and are left out.

    What is not known of a view (its box, whether its picture was attacked) is an empty field, and so are
    ``replaced`` of a view that was there before the first moment, and ``replaced_by`` of one that was taken out by hand."""
    now = entries[-1].snapshot
    begin = next((n for n in range(len(entries), 0, -1) if entries[n - 1].snapshot.key != now.key), 0)
    rows = (view.row(title) for view in _views(entries[begin:]))
    return csv_bytes([evaluation_page.STORED_VIEWS_COLUMNS, *rows])


def _views(entries: Sequence[HistoryEntry]) -> list[_View]:
    known, held = dict[int, _View](), list[_View]()
    for entry in entries:
        snapshot, last = entry.snapshot, entry.snapshot.pictures - 1
        for event in entry.events:
            item = _entered(snapshot, event)
            if item is not None:
                view = _View(
                    len(known), snapshot.names[event.label], event.slot, item, _replaced(snapshot, held, event)
                )
                known[id(item)] = view
                if view.replaced is not None:
                    view.replaced.replaced_by = view
        for k, slot, item in snapshot.items:  # of an import, or from before the first moment
            known.setdefault(id(item), _View(len(known), snapshot.names[k], slot, item))
        here = [known[id(item)] for _, _, item in snapshot.items]
        for view in set(held).difference(here):
            view.left_at = last
        for view in set(here).difference(held):  # an import brings back what was there when it was exported
            view.left_at = view.replaced_by = None
        held = here
    return list(known.values())


def _entered(snapshot: CacheSnapshot, event: CacheEvent) -> CacheItem | None:
    """The item of an event; None: the file that it was imported from was changed."""
    at = (snapshot.pictures - 1, event.view, np.float32(event.entropy))
    items = snapshot.items_by_class.get(event.label, ())
    return next((one for one in items if (one.born, one.view, np.float32(one.entropy)) == at), None)


def _replaced(snapshot: CacheSnapshot, held: Sequence[_View], event: CacheEvent) -> _View | None:
    if event.replaced_entropy is None:
        return None
    gone = (snapshot.names[event.label], event.replaced_born, np.float32(event.replaced_entropy))
    return next((v for v in held if (v.stored_as, v.item.born, np.float32(v.item.entropy)) == gone), None)
