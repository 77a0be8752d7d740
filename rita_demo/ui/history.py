"""The visitor's memory through time: every state is a value, and what it holds can be shown.

A *shelf* is a memory (``CacheState``) as the page keeps it: the items that are there, without the
empty places, so that two hundred states share their items and weigh little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from rita_demo.records import CacheEvent, CacheState, TextBank

MOST_ENTRIES = 200
THUMB = 48  # pixels


@dataclass(frozen=True, eq=False)
class Item:
    """One remembered view: ``feature`` (D,), ``entropy`` in nats, ``born`` the number of the picture that
    brought it, ``view`` which view of it, ``thumb`` (48, 48, 3) uint8 or None when nobody kept one."""

    feature: np.ndarray
    entropy: float
    born: int
    view: int
    thumb: np.ndarray | None = None


@dataclass(frozen=True)
class Shelf:
    """A memory's items by class. ``slots`` J, ``width`` D, ``pictures`` committed, ``key`` as in the state."""

    key: str
    names: tuple[str, ...]
    slots: int
    width: int
    pictures: int = 0
    items: Mapping[int, tuple[Item, ...]] | None = None

    @property
    def held(self) -> dict[int, tuple[Item, ...]]:
        """Class -> its items; only classes that hold something."""
        return dict(self.items or {})

    @property
    def count(self) -> int:
        """How many views are remembered."""
        return sum(len(items) for items in self.held.values())

    def item(self, k: int, slot: int) -> Item | None:
        """What lies there, if anything."""
        items = self.held.get(k, ())
        return items[slot] if 0 <= slot < len(items) else None

    def find(self, item: Item | None) -> tuple[int, int] | None:
        """Class and slot of that very item, if it is still here."""
        places = (
            (k, j) for k, items in self.held.items() for j, one in enumerate(items) if one is item
        )
        return next(places, None)

    def but_not(self, out: set[int]) -> Shelf:
        """The same without the items of these ``id``s; later items of a class move up."""
        kept = {k: tuple(i for i in items if id(i) not in out) for k, items in self.held.items()}
        return replace(self, items={k: items for k, items in kept.items() if items})

    def emptied(self) -> Shelf:
        """The same without its views."""
        return replace(self, items={})

    def state(self) -> CacheState:
        """The memory as the engine wants it."""
        K, J, D = len(self.names), self.slots, self.width
        state = CacheState(
            np.zeros((K, J, D), np.float32), np.full((K, J), np.inf, np.float32),
            np.full((K, J), -1, np.int64), np.full((K, J), -1, np.int64),
            np.zeros(K, np.int64), self.pictures, self.key,
        )  # fmt: skip
        for k, items in self.held.items():
            state.count[k] = len(items)
            for slot, item in enumerate(items):
                state.features[k, slot], state.entropy[k, slot] = item.feature, item.entropy
                state.born[k, slot], state.view[k, slot] = item.born, item.view
        return state


@dataclass(frozen=True)
class Entry:
    """One moment: what happened (``title``), what entered, and what the memory held afterwards.

    ``picture`` names the clean picture that was decided, "" for a reset or an import."""

    title: str
    shelf: Shelf
    events: tuple[CacheEvent, ...] = ()
    picture: str = ""

    @property
    def brought(self) -> set[int]:
        """``id`` of every item that this moment's picture brought; they live as long as the entry."""
        born = self.shelf.pictures - 1 if self.picture else None
        return {id(i) for items in self.shelf.held.values() for i in items if i.born == born}


@dataclass(frozen=True)
class History:
    """The last states of one visitor's memory, oldest first. The first entry is where it began."""

    entries: tuple[Entry, ...] = ()

    @property
    def now(self) -> Shelf | None:
        """What the memory holds; None before the first picture."""
        return self.entries[-1].shelf if self.entries else None

    def without(self, picture: str, at: int = -1) -> Shelf | None:
        """What moment ``at`` held apart from what a picture itself brought: it is judged by the others.

        At the moment that it brought something, that is exactly the moment before; later, its own views
        are taken out, and what they had pushed out meanwhile stays away. None before the first picture.
        """
        if not self.entries:
            return None
        at = at % len(self.entries)
        while picture and at > 0 and self.entries[at].picture == picture:
            at -= 1
        own = [e.brought for e in self.entries if picture and e.picture == picture]
        return self.entries[at].shelf.but_not(set().union(*own))

    def before(self, picture: str) -> CacheState | None:
        """The memory a picture is decided from: one that ran before does not vote for itself, and is
        never in the memory twice."""
        shelf = self.without(picture)
        return None if shelf is None else shelf.state()

    def committed(
        self,
        title: str,
        picture: str,
        bank: TextBank,
        before: CacheState,
        after: CacheState,
        events: tuple[CacheEvent, ...],
        crops: np.ndarray | None,
        *,
        retry: bool = True,
    ) -> History:
        """The history after a picture; another vocabulary or model begins a new one. ``before`` is what
        :meth:`before` gave. To ``retry`` the latest picture replaces its moment; an earlier one run again,
        or a filling, adds a moment in which the picture's earlier views are gone."""
        kept = self.entries
        if not kept or kept[-1].shelf.key != bank.key:
            kept = (Entry("The beginning", shelf_of(before, bank.names, None, None)),)
        elif retry and picture and len(kept) > 1 and kept[-1].picture == picture:
            kept = kept[:-1]
        if picture and any(e.picture == picture for e in kept):
            title = f"{title}, again (its earlier views were taken out)"
        shelf = shelf_of(after, bank.names, kept[-1].shelf, crops)
        return self._with(kept, Entry(title, shelf, events, picture))

    def reset(self) -> History:
        """The memory emptied; what was there can be brought back by :meth:`undone`."""
        now = self.now
        return self if now is None else self._with(self.entries, Entry("Emptied", now.emptied()))

    def forgotten(self, title: str, state: CacheState) -> History:
        """The memory as ``state``, which lacks something that was there."""
        assert self.now is not None
        shelf = shelf_of(state, self.now.names, self.now, None)
        return self._with(self.entries, Entry(title, shelf))

    def imported(self, shelf: Shelf) -> History:
        """Another memory in place of this one."""
        return self._with(self.entries, Entry("Imported from a file", shelf))

    def undone(self) -> History:
        """One moment back; the first stays."""
        return History(self.entries[:-1]) if len(self.entries) > 1 else self

    @staticmethod
    def _with(entries: tuple[Entry, ...], entry: Entry) -> History:
        return History((*entries, entry)[-MOST_ENTRIES:])


def shelf_of(
    state: CacheState,
    names: tuple[str, ...],
    earlier: Shelf | None,
    crops: np.ndarray | None,
) -> Shelf:
    """A state as a shelf. Items that were there already are the same objects; new ones get a thumbnail
    from ``crops`` (N, s, s, 3), the views of the picture just committed."""
    items: dict[int, tuple[Item, ...]] = {}
    for k in np.flatnonzero(np.asarray(state.count)).tolist():
        known = [] if earlier is None else list(earlier.held.get(k, ()))
        items[k] = tuple(_item(state, k, j, known, crops) for j in range(int(state.count[k])))
    _, J, D = state.features.shape
    return Shelf(state.key, tuple(names), J, D, int(state.pictures), items)


def _item(
    state: CacheState, k: int, slot: int, known: list[Item], crops: np.ndarray | None
) -> Item:
    feature = np.array(state.features[k, slot], np.float32)
    entropy, born = float(state.entropy[k, slot]), int(state.born[k, slot])
    view = int(state.view[k, slot])
    for item in known:
        same = (item.entropy, item.born, item.view) == (entropy, born, view)
        if same and np.array_equal(item.feature, feature):
            return item
    thumb = None
    if crops is not None and born == state.pictures - 1 and 0 <= view < len(crops):
        thumb = thumbnail(crops[view])
    return Item(feature, entropy, born, view, thumb)


def thumbnail(pixels: np.ndarray) -> np.ndarray:
    """(s, s, 3) uint8 -> (48, 48, 3) uint8."""
    image = Image.fromarray(np.ascontiguousarray(pixels))
    return np.array(image.resize((THUMB, THUMB), Image.Resampling.BILINEAR))
