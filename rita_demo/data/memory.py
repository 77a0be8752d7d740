"""A memory as one table: a row per stored view, and the moments with the rows that they hold. Immutable: whatever happens
gives another table. Rows that no moment holds any longer are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from rita_demo.records import CacheEvent, CacheState, Run
from rita_demo.records.measurement import RememberedView

#: The first moment after other class names or another model.
RESTARTED = "Another list of class names or another model: the memory starts empty."
IMPORTED = "an imported file"  # whose memory it is
MAX_MOMENTS = 200
THUMBNAIL = (48, 48, 3)  # the shape of one, uint8


@dataclass(frozen=True)
class Moment:
    """What happened (``title``), and what the memory held after it: ``held`` (h,) int64, rows of the table by class and
    slot, of ``slots`` J in a class, after so many ``pictures``. ``events``: the views that entered. ``picture_key`` names the
    clean picture that was decided, "" for anything else. ``others``: the memories of other defences, by name.

    Moments are equal where the same happened: their rows may have other numbers."""

    title: str
    pictures: int
    slots: int
    held: np.ndarray = field(compare=False)
    events: tuple[CacheEvent, ...] = ()
    picture_key: str = ""
    others: Mapping[str, CacheState] = field(default_factory=dict, compare=False)


#: Columns of no view.
_no_numbers, _no_entropy, _no_features = (
    partial(np.zeros, shape, kind) for shape, kind in ((0, np.int64), (0, np.float32), ((0, 0), np.float32))
)
_no_crops, _no_marks = partial(np.zeros, (0, *THUMBNAIL), np.uint8), partial(np.zeros, 0, np.bool_)


@dataclass(frozen=True, eq=False)
class MemoryTable:
    """n views as columns, in the order in which they entered, and the moments, oldest first, at most ``MAX_MOMENTS``.

    ``key`` names model and classes, ``names`` are the K classes. ``origin``: the stream or the file that it came from, ""
    for the visitor's own."""

    key: str = ""
    names: tuple[str, ...] = ()
    label: np.ndarray = field(default_factory=_no_numbers)  # (n,) the class that a view is stored under
    born: np.ndarray = field(default_factory=_no_numbers)  # (n,) the number of its picture, in the order of arrival
    view: np.ndarray = field(default_factory=_no_numbers)  # (n,) its number among the picture's views
    entropy: np.ndarray = field(default_factory=_no_entropy)  # (n,) nats
    picture: tuple[str, ...] = ()  # what its picture is called, "" where that is not known
    truth: tuple[str, ...] = ()  # the picture's true class, likewise
    file: tuple[str, ...] = ()  # the picture's file, likewise
    attacked: tuple[bool | None, ...] = ()  # whether the picture arrived attacked, None where that is not known
    box: tuple[tuple[float, ...], ...] = ()  # left, top, right, bottom as fractions of the picture's square, or ()
    feature: np.ndarray = field(default_factory=_no_features)  # (n, D) unit length
    thumbnail: np.ndarray = field(default_factory=_no_crops)  # (n, 48, 48, 3), black where unknown
    has_thumbnail: np.ndarray = field(default_factory=_no_marks)  # (n,)
    moments: tuple[Moment, ...] = ()
    origin: str = ""

    @property
    def current(self) -> Moment | None:
        """The latest moment; None before the first picture."""
        return self.moments[-1] if self.moments else None

    @property
    def columns(self) -> dict[str, Any]:
        """Name -> column, with a value for each of the n views."""
        return {name: getattr(self, name) for name in COLUMNS}

    def held(self, t: int = -1) -> tuple[tuple[int, int, int], ...]:
        """Class, slot and row of every view at moment ``t``, by class and slot."""
        rows = self.moments[t].held
        k = self.label[rows]
        return tuple(zip(k.tolist(), _slots(k).tolist(), rows.tolist()))

    def row(self, place: tuple[int, int], t: int = -1) -> int | None:
        """The row in a class and slot at moment ``t``, or None."""
        return next((row for *at, row in self.held(t) if tuple(at) == place), None)

    def place(self, row: int | None, t: int = -1) -> tuple[int, int] | None:
        """Class and slot of a row at moment ``t``, or None if it is not there."""
        return next(((k, slot) for k, slot, number in self.held(t) if number == row), None)

    def crop(self, row: int) -> np.ndarray | None:
        """(48, 48, 3) uint8, the thumbnail of a row, or None."""
        return self.thumbnail[row] if self.has_thumbnail[row] else None

    def find(self, t: int, label: int, born: int | None, entropy: float | None, view: int | None = None) -> int | None:
        """The row at moment ``t`` that these numbers name (an event has no view of what it replaced), or None."""
        rows = self.moments[t].held
        same = (self.label[rows] == label) & (self.born[rows] == (-1 if born is None else born))
        same &= self.entropy[rows] == np.float32(np.nan if entropy is None else entropy)
        same &= (view is None) | (self.view[rows] == view)
        return int(rows[same][0]) if same.any() else None

    def state_at(self, t: int = -1) -> CacheState:
        """The memory at moment ``t`` as the methods compute with it."""
        moment, D = self.moments[t], self.feature.shape[1]
        K, J, k = len(self.names), moment.slots, self.label[moment.held]
        features, entropy = np.zeros((K, J, D), np.float32), np.full((K, J), np.inf, np.float32)
        born, view = np.full((K, J), -1, np.int64), np.full((K, J), -1, np.int64)
        at, count = (k, _slots(k)), np.bincount(k, minlength=K)
        features[at], entropy[at] = self.feature[moment.held], self.entropy[moment.held]
        born[at], view[at] = self.born[moment.held], self.view[moment.held]
        return CacheState(features, entropy, born, view, count, moment.pictures, self.key, moment.others)

    def cache_before(self, picture_key: str, t: int = -1) -> CacheState | None:
        """What a picture is decided from: the memory at moment ``t`` without the picture's own views; None before the first
        picture. If that picture made the moment, it is exactly the moment before; later, its own views are removed, and what
        they replaced meanwhile does not come back."""
        if not self.moments:
            return None
        t %= len(self.moments)
        while picture_key and t > 0 and self.moments[t].picture_key == picture_key:
            t -= 1
        born = [moment.pictures - 1 for moment in self.moments if picture_key and moment.picture_key == picture_key]
        return without_pictures(self.state_at(t), born) if born else self.state_at(t)

    def with_picture(self, title: str, picture_key: str, run: Run, crops: np.ndarray | None) -> MemoryTable:
        """The memory after the delivered picture of a run from :meth:`cache_before`; another vocabulary or model starts a new
        one. ``crops``: its views for the screen, (N, s, s, 3) uint8, for thumbnails. A repeated run of the latest picture
        replaces its moment; of an earlier one a moment is added in which its earlier views are gone."""
        kept, names, last = self, run.class_prompts.names, self.current
        if last is None or self.key != run.class_prompts.key:
            title_before = "The beginning" if last is None else RESTARTED
            kept = MemoryTable().with_state(title_before, run.cache_before, names)
        elif picture_key and last.picture_key == picture_key:
            kept = self.undo()
        boxes = run.attacked.encoded_views.views.boxes.tolist()
        truth = names[run.label] if run.label_given else ""
        about_picture = {"picture": title, "truth": truth, "file": title, "attacked": run.attack is not None}

        def about(view: int) -> dict[str, Any]:
            about_view: dict[str, Any] = {**about_picture, "box": tuple(boxes[view])}
            if crops is not None and view < len(crops):
                about_view |= {"thumbnail": small_crop(crops[view]), "has_thumbnail": True}
            return about_view

        if picture_key and any(moment.picture_key == picture_key for moment in kept.moments):
            title = f"{title}, again (its earlier views were taken out)"
        events = run.attacked.trace.cache_update.events
        return kept.with_state(title, run.cache_after, names, about, events=events, picture_key=picture_key)

    def with_state(
        self,
        title: str,
        state: CacheState,
        names: tuple[str, ...],
        about: Callable[[int], dict[str, Any]] = lambda view: {},
        **happened: Any,
    ) -> MemoryTable:
        """One more moment, with what it ``happened`` to be, at which the memory is ``state``; one of another model or other
        class ``names`` is another memory. Views that are in the table keep their rows; ``about``: number of a view of the
        latest picture -> what is known of it, by column."""
        _, J, D = state.features.shape
        old, last = self, state.pictures - 1
        if not self.moments or self.key != state.key:
            old = MemoryTable(state.key, names, feature=np.zeros((0, D), np.float32))
        at = k, _ = np.nonzero(np.arange(J) < np.asarray(state.count)[:, None])
        floats = (column[at].astype(np.float32) for column in (state.entropy, state.features))
        numbers = (k, state.born[at], state.view[at], *floats)
        before = _identities(old.label, old.born, old.view, old.entropy, old.feature)
        row = {identity: n for n, identity in enumerate(before)}
        fresh, held = list[dict[str, Any]](), list[int]()
        for identity, *values in zip(_identities(*numbers), *numbers):
            if identity not in row:
                row[identity] = len(old.label) + len(fresh)
                new = dict(zip(("label", "born", "view", "entropy", "feature"), values))
                fresh.append(new | (about(int(new["view"])) if new["born"] == last else {}))
            held.append(row[identity])
        moment = Moment(title, int(state.pictures), J, np.array(held, np.int64), others=state.others, **happened)
        return old.with_rows(fresh).with_moments((*old.moments, moment)[-MAX_MOMENTS:])

    def emptied(self) -> MemoryTable:
        """One more moment, at which it holds nothing."""
        last = self.moments[-1]
        empty = replace(last, title="Emptied", held=last.held[:0], events=(), picture_key="")
        return self.with_moments((*self.moments, empty)[-MAX_MOMENTS:])

    def with_rows(self, rows: Sequence[Mapping[str, Any]]) -> MemoryTable:
        """With more views; of the columns that a row does not have nothing is known."""
        columns: dict[str, Any] = {}
        for name, column in self.columns.items() if rows else ():
            more = [row[name] if name in row else UNKNOWN[name] for row in rows]
            array = isinstance(column, np.ndarray)
            columns[name] = np.concatenate([column, np.asarray(more, column.dtype)]) if array else (*column, *more)
        return replace(self, **columns)

    def with_moments(self, moments: tuple[Moment, ...]) -> MemoryTable:
        """With these moments instead, and the rows that one of them holds."""
        used = np.zeros(len(self.label), bool)
        for moment in moments:
            used[moment.held] = True
        if used.all():
            return replace(self, moments=moments)
        rows = np.flatnonzero(used)
        taken: dict[str, Any] = {
            name: column[rows] if isinstance(column, np.ndarray) else tuple(column[n] for n in rows)
            for name, column in self.columns.items()
        }
        renumbered = tuple(replace(moment, held=np.searchsorted(rows, moment.held)) for moment in moments)
        return replace(self, moments=renumbered, **taken)

    def until(self, t: int) -> MemoryTable:
        """As it was at moment ``t``."""
        return self.with_moments(self.moments[: t % len(self.moments) + 1])

    def undo(self) -> MemoryTable:
        """Without the latest moment; the first one stays."""
        return self.until(-2) if len(self.moments) > 1 else self

    def views(self) -> dict[int, RememberedView]:
        """Row -> its view, in the order of entering, and what became of it, as :func:`rita_demo.stored_views` lists it."""
        views, before = dict[int, dict[str, Any]](), set[int]()

        def add(row: int, slot: int, gone: int | None = None) -> None:
            view = {
                "id": len(views),
                "picture": int(self.born[row]),
                "name": self.file[row] or self.picture[row],
                "truth": self.names.index(self.truth[row]) if self.truth[row] in self.names else -1,
                "attacked": self.attacked[row],
                "label": int(self.label[row]),
                "slot": slot,
                "view": int(self.view[row]),
                "entropy": float(self.entropy[row]),
            }
            if gone is not None:
                view |= {"replaced": views[gone]["id"], "gain": views[gone]["entropy"] - view["entropy"]}
                views[gone]["replaced_by"] = view["id"]
            views[row] = view

        for t, moment in enumerate(self.moments):
            last, here = moment.pictures - 1, {row: slot for _, slot, row in self.held(t)}
            for event in moment.events:
                gone = self.find(t - 1, event.label, event.replaced_born, event.replaced_entropy) if t else None
                row = self.find(t, event.label, last, event.entropy, event.view)
                if row is not None and row not in views:  # None: the file that it was imported from was changed
                    add(row, event.slot, gone)
            for row, slot in here.items():  # of an import, or from before the first moment
                if row not in views:
                    add(row, slot)
                if row not in before:  # again where an import brings it back
                    views[row] |= {"left": None, "replaced_by": None}
            for row in before.difference(here):
                views[row]["left"] = last
            before = set(here)
        return {row: RememberedView(**about) for row, about in views.items()}


UNKNOWN = {
    **dict.fromkeys(("picture", "truth", "file"), ""),
    **{"attacked": None, "box": (), "has_thumbnail": False},
    "thumbnail": np.zeros(THUMBNAIL, np.uint8),
}
COLUMNS = ("label", "born", "view", "entropy", "feature", *UNKNOWN)


def _identities(
    label: np.ndarray, born: np.ndarray, view: np.ndarray, entropy: np.ndarray, feature: np.ndarray
) -> Iterator[tuple[int, int, int, float, bytes]]:
    """What tells each view from all others."""
    return zip(label.tolist(), born.tolist(), view.tolist(), entropy.tolist(), (vector.tobytes() for vector in feature))


def _slots(k: np.ndarray) -> np.ndarray:
    """The slot of each of some views, by their classes in order."""
    return np.arange(len(k)) - np.searchsorted(k, k)


def without_pictures(state: CacheState, born: list[int]) -> CacheState:
    """A memory without what these pictures added, in those of other defences alike; later items of a class move up."""
    gone = np.isin(state.born, born) & (state.born >= 0)
    order = np.argsort(gone, axis=1, kind="stable")
    empty = np.take_along_axis(gone, order, 1)
    columns = {}
    for name, nothing in (("features", 0), ("entropy", np.inf), ("born", -1), ("view", -1)):
        values = getattr(state, name)[np.arange(len(gone))[:, None], order]
        values[empty] = nothing
        columns[name] = values
    others = {name: without_pictures(other, born) for name, other in state.others.items()}
    return replace(state, count=state.count - gone.sum(1), others=others, **columns)


def small_crop(pixels: np.ndarray, box: tuple[float, ...] = (0, 0, 1, 1)) -> np.ndarray:
    """(H, H, 3) uint8 -> the thumbnail (48, 48, 3) of a ``box``: left, top, right, bottom as fractions."""
    image, edges = Image.fromarray(np.ascontiguousarray(pixels)), [edge * pixels.shape[0] for edge in box]
    return np.array(image.resize(THUMBNAIL[:2], Image.Resampling.BILINEAR, box=tuple(edges)))
