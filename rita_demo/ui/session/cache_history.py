"""A visitor's cache over time, as immutable values.

A *snapshot* is a cache (``CacheState``) as the page stores it: its items without the empty slots, so that hundreds of
snapshots share their items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from PIL import Image

from rita_demo.records import CacheEvent, CacheState, Run

#: The first moment after other class names or another model.
RESTARTED = "Another list of class names or another model: the memory starts empty."
IMPORTED = "an imported file"  # whose memory it is
MAX_ENTRIES = 200
THUMBNAIL_SIZE = 48  # pixels


@dataclass(frozen=True, eq=False)
class CacheItem:
    """One cached view, and what is known of it: ``feature`` (D,), ``entropy`` in nats, ``born`` the number of its picture,
    ``view`` its number among that picture's views, ``thumbnail`` (48, 48, 3) uint8 or None; ``picture``: what its picture is
    called, ``truth`` its true class's name, ``file`` its picture's file, "" where that is not known; ``attacked``: whether
    the picture arrived attacked, or None; ``box``: left, top, right, bottom as fractions of the picture's square, or ().
    """

    feature: np.ndarray
    entropy: float
    born: int
    view: int
    thumbnail: np.ndarray | None = None
    picture: str = ""
    truth: str = ""
    file: str = ""
    attacked: bool | None = None
    box: tuple[float, ...] = ()


@dataclass(frozen=True)
class CacheSnapshot:
    """A cache's items by class, with ``slots`` J, ``width`` D, the number of ``pictures`` and the ``key`` of the state.
    ``others``: the memories of other defences, as the state carries them."""

    key: str
    names: tuple[str, ...]
    slots: int
    width: int
    pictures: int = 0
    items_by_class: Mapping[int, tuple[CacheItem, ...]] = field(default_factory=dict)  # without empty classes
    others: Mapping[str, CacheState] = field(default_factory=dict)

    @property
    def items(self) -> tuple[tuple[int, int, CacheItem], ...]:
        """Class, slot and item, by class and slot."""
        held = sorted(self.items_by_class.items())
        return tuple((k, slot, item) for k, items in held for slot, item in enumerate(items))

    @property
    def count(self) -> int:
        """Number of cached views."""
        return sum(len(items) for items in self.items_by_class.values())

    def item(self, k: int, slot: int) -> CacheItem | None:
        """The item in a slot, or None."""
        items = self.items_by_class.get(k, ())
        return items[slot] if 0 <= slot < len(items) else None

    def find(self, item: CacheItem | None) -> tuple[int, int] | None:
        """Class and slot of an item, or None if it is not here."""
        return next(((k, slot) for k, slot, one in self.items if one is item), None)

    def without_items(self, item_ids: set[int]) -> CacheSnapshot:
        """Without the items of these ids (``id(item)``); later items of a class move up."""
        kept = {k: tuple(i for i in items if id(i) not in item_ids) for k, items in self.items_by_class.items()}
        return replace(self, items_by_class={k: items for k, items in kept.items() if items})

    def to_cache_state(self) -> CacheState:
        """The cache as the engine's record."""
        K, J, D = len(self.names), self.slots, self.width
        state = CacheState(
            np.zeros((K, J, D), np.float32),
            np.full((K, J), np.inf, np.float32),
            np.full((K, J), -1, np.int64),
            np.full((K, J), -1, np.int64),
            np.zeros(K, np.int64),
            self.pictures,
            self.key,
            self.others,
        )
        for k, slot, item in self.items:
            state.count[k] = slot + 1
            state.features[k, slot], state.entropy[k, slot] = item.feature, item.entropy
            state.born[k, slot], state.view[k, slot] = item.born, item.view
        return state


@dataclass(frozen=True)
class HistoryEntry:
    """One moment: what happened (``title``), the views that entered (``events``), and the cache after it.
    ``picture_key`` names the clean picture that was decided; "" for a reset or an import. ``origin``: the stream or the file
    that the memory came from, "" for the visitor's own."""

    title: str
    snapshot: CacheSnapshot
    events: tuple[CacheEvent, ...] = ()
    picture_key: str = ""
    origin: str = ""

    @property
    def added_item_ids(self) -> set[int]:
        """The ids (``id(item)``) of the items that this moment's picture added."""
        born = self.snapshot.pictures - 1 if self.picture_key else None
        return {id(item) for _, _, item in self.snapshot.items if item.born == born}


@dataclass(frozen=True)
class History:
    """The last ``MAX_ENTRIES`` states of one visitor's cache, oldest first."""

    entries: tuple[HistoryEntry, ...] = ()

    @property
    def current(self) -> CacheSnapshot | None:
        """The latest snapshot; None before the first picture."""
        return self.entries[-1].snapshot if self.entries else None

    @property
    def ever_held(self) -> bool:
        """Whether a view is in any of the moments."""
        return any(one.snapshot.count for one in self.entries)

    @property
    def origin(self) -> str:
        """The stream or the file that it came from, "" for the visitor's own."""
        return self.entries[-1].origin if self.entries else ""

    def snapshot_without(self, picture_key: str, moment: int = -1) -> CacheSnapshot | None:
        """The snapshot at ``moment`` without a picture's own views; None before the first picture. If that picture made
        the moment, it is exactly the moment before; later, its own views are removed, and what they replaced meanwhile
        does not come back."""
        if not self.entries:
            return None
        moment = moment % len(self.entries)
        while picture_key and moment > 0 and self.entries[moment].picture_key == picture_key:
            moment -= 1
        own = [e for e in self.entries if picture_key and e.picture_key == picture_key]
        snapshot = self.entries[moment].snapshot.without_items(set().union(*(e.added_item_ids for e in own)))
        born = {e.snapshot.pictures - 1 for e in own}
        return replace(snapshot, others={name: without_pictures(one, born) for name, one in snapshot.others.items()})

    def cache_before(self, picture_key: str, moment: int = -1) -> CacheState | None:
        """The cache that a picture is decided from: without its own views of an earlier run."""
        snapshot = self.snapshot_without(picture_key, moment)
        return None if snapshot is None else snapshot.to_cache_state()

    def with_picture(
        self, title: str, picture_key: str, run: Run, crops: np.ndarray | None, *, replace_latest: bool = True
    ) -> History:
        """The history after the delivered picture of a run from :meth:`cache_before`; another vocabulary or model
        starts a new one. ``crops``: its views for the screen, for thumbnails. ``replace_latest``: a repeated run of the
        latest picture replaces its moment; otherwise a moment is added in which its earlier views are gone."""
        kept, names, picture = self.entries, run.class_prompts.names, title
        if not kept or kept[-1].snapshot.key != run.class_prompts.key:
            title_before = RESTARTED if kept else "The beginning"
            kept = (HistoryEntry(title_before, snapshot_of(run.cache_before, names, None)),)
        elif replace_latest and picture_key and len(kept) > 1 and kept[-1].picture_key == picture_key:
            kept = kept[:-1]
        if picture_key and any(e.picture_key == picture_key for e in kept):
            title = f"{title}, again (its earlier views were taken out)"
        truth = names[run.label] if run.label_given else ""
        boxes, attacked = run.attacked.encoded_views.views.boxes.tolist(), run.attack is not None

        def described(item: CacheItem) -> CacheItem:
            crop = None if crops is None or item.view >= len(crops) else small_crop(crops[item.view])
            about = replace(item, picture=picture, truth=truth, file=picture, attacked=attacked)
            return replace(about, thumbnail=crop, box=tuple(boxes[item.view]))

        snapshot = snapshot_of(run.cache_after, names, kept[-1].snapshot, described)
        entry = HistoryEntry(title, snapshot, run.attacked.trace.cache_update.events, picture_key, kept[-1].origin)
        return History((*kept, entry)[-MAX_ENTRIES:])

    def with_snapshot(self, title: str, snapshot: CacheSnapshot) -> History:
        """Another cache instead of this one; :meth:`undo` restores this one."""
        entry = HistoryEntry(title, snapshot, origin=self.origin)
        return History((*self.entries, entry)[-MAX_ENTRIES:])

    def undo(self) -> History:
        """Without the latest moment; the first one stays."""
        return History(self.entries[:-1]) if len(self.entries) > 1 else self


def snapshot_of(
    state: CacheState,
    names: tuple[str, ...],
    earlier: CacheSnapshot | None,
    described: Callable[[CacheItem], CacheItem] = lambda item: item,
) -> CacheSnapshot:
    """A state as a snapshot. Items that ``earlier`` has are the same objects; ``described`` adds what is known of a view of
    the latest picture."""
    old = {} if earlier is None else earlier.items_by_class
    before = {(k, i.born, i.view, i.entropy, i.feature.tobytes()): i for k, items in old.items() for i in items}

    def item(k: int, slot: int) -> CacheItem:
        feature, entropy = np.array(state.features[k, slot], np.float32), float(state.entropy[k, slot])
        born, view = int(state.born[k, slot]), int(state.view[k, slot])
        new = CacheItem(feature, entropy, born, view)
        if (held := before.get((k, born, view, entropy, feature.tobytes()))) is not None:
            return held
        return described(new) if born == state.pictures - 1 else new

    _, J, D = state.features.shape
    count = np.asarray(state.count)
    items = {k: tuple(item(k, slot) for slot in range(count[k])) for k in np.flatnonzero(count).tolist()}
    return CacheSnapshot(state.key, tuple(names), J, D, int(state.pictures), items, state.others)


def without_pictures(state: CacheState, born: set[int]) -> CacheState:
    """The memory of another defence without what these pictures added; later items of a class move up."""
    gone = np.isin(state.born, list(born)) & (state.born >= 0)
    order = np.argsort(gone, axis=1, kind="stable")
    empty = np.take_along_axis(gone, order, 1)
    found = {}
    for name, nothing in (("features", 0), ("entropy", np.inf), ("born", -1), ("view", -1)):
        values = getattr(state, name)[np.arange(len(gone))[:, None], order]
        values[empty] = nothing
        found[name] = values
    return replace(state, count=state.count - gone.sum(1), **found)


def small_crop(pixels: np.ndarray, box: tuple[float, ...] = (0, 0, 1, 1)) -> np.ndarray:
    """(H, H, 3) uint8 -> the thumbnail (48, 48, 3) of a ``box``: left, top, right, bottom as fractions."""
    image, size = Image.fromarray(np.ascontiguousarray(pixels)), (THUMBNAIL_SIZE, THUMBNAIL_SIZE)
    edges = [edge * pixels.shape[0] for edge in box]
    return np.array(image.resize(size, Image.Resampling.BILINEAR, box=tuple(edges)))
