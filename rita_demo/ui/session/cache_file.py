"""The memory as a file (:mod:`rita_demo.data.record_file`): one table of its views, and the moments that held them.

An imported file is untrusted: every number is checked before it is used.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from rita_demo.data import record_file
from rita_demo.data.descriptions import with_used_descriptions
from rita_demo.data.record_file import FileError, require
from rita_demo.data.vocabularies import MOST_NAMES
from rita_demo.records import CacheEvent, ClassPrompts
from rita_demo.records.errors import refuse_earlier
from rita_demo.records.keys import class_prompts_key
from rita_demo.settings import SETTINGS, Settings
from rita_demo.ui.session.cache_history import (
    IMPORTED,
    MAX_ENTRIES,
    THUMBNAIL_SIZE,
    CacheItem,
    CacheSnapshot,
    HistoryEntry,
)

MAX_FILE_BYTES = 32 << 20  # bytes of a file, and of its arrays
MAX_LOGGED_EVENTS = 64  # views that entered at one moment, in a file
MAX_PICTURES = 1 << 31
MAX_TEXT = 300  # characters of a title or a name
FORMAT, FORMAT_BEFORE = "rita-demo memory 2", b"rita-demo memory 1"
IMPORTED_TITLE = "Imported from a file"


@dataclass(frozen=True)
class StoredMoment:
    """A moment of a memory: rows of the table by class and slot, and what entered. See :class:`HistoryEntry`."""

    title: str
    picture_key: str
    pictures: int
    held: tuple[int, ...]
    events: tuple[CacheEvent, ...]


@dataclass(frozen=True, eq=False)
class StoredMemory:
    """n views as columns (docs/result-files.md), the classes and the model they belong to, and the moments; the last one is
    the exported one."""

    format: str
    model: str
    key: str
    names: tuple[str, ...]
    slots: int
    settings: Mapping[str, Any]
    label: np.ndarray  # (n,) int64, a class's number
    born: np.ndarray  # (n,) int64, the number of its picture
    view: np.ndarray  # (n,) int64, its number among the picture's views
    entropy: np.ndarray  # (n,) float32, nats
    picture: tuple[str, ...]
    truth: tuple[str, ...]
    file: tuple[str, ...]
    attacked: tuple[bool | None, ...]
    box: tuple[tuple[float, ...], ...]
    feature: np.ndarray  # (n, D) float32
    thumbnail: np.ndarray  # (n, 48, 48, 3) uint8
    has_thumbnail: np.ndarray  # (n,) bool
    moments: tuple[StoredMoment, ...]

    @classmethod
    def of(cls, entries: Sequence[HistoryEntry], model: str, settings: Settings) -> Self:
        """The table of these moments."""
        now = entries[-1].snapshot
        rows = {id(item): (k, item) for entry in reversed(entries) for k, _, item in entry.snapshot.items}
        index, label = {key: n for n, key in enumerate(rows)}, [k for k, _ in rows.values()]
        items, edge = [item for _, item in rows.values()], THUMBNAIL_SIZE
        nothing = np.zeros((edge, edge, 3), np.uint8)
        thumbnails = [nothing if i.thumbnail is None else i.thumbnail for i in items]
        columns = ("born", "view", "entropy", "picture", "truth", "file", "attacked", "box", "feature")
        column: dict[str, Any] = {name: tuple(getattr(i, name) for i in items) for name in columns}
        moments = tuple(
            StoredMoment(
                one.title,
                one.picture_key,
                one.snapshot.pictures,
                tuple(index[id(item)] for _, _, item in one.snapshot.items),
                one.events[:MAX_LOGGED_EVENTS],
            )
            for one in entries
        )
        column |= {
            "label": np.array(label, np.int64),
            "born": np.array(column["born"], np.int64),
            "view": np.array(column["view"], np.int64),
            "entropy": np.array(column["entropy"], np.float32),
            "feature": np.array(column["feature"], np.float32).reshape(-1, now.width),
            "thumbnail": np.array(thumbnails, np.uint8).reshape(-1, edge, edge, 3),
            "has_thumbnail": np.array([i.thumbnail is not None for i in items], bool),
        }
        used = with_used_descriptions(settings, now.names).as_dict()
        return cls(FORMAT, model, now.key, now.names, now.slots, used, moments=moments, **column)

    def entries(self) -> tuple[HistoryEntry, ...]:
        """The moments; the views that several hold are the same objects."""
        arrays = zip(self.feature, self.entropy, self.born, self.view, self.thumbnail, self.has_thumbnail)
        known = zip(self.picture, self.truth, self.file, self.attacked, self.box)
        items = [
            CacheItem(
                *(feature.copy(), float(entropy), int(born), int(view), thumbnail.copy() if has_one else None),
                *(picture[:MAX_TEXT], truth[:MAX_TEXT], file[:MAX_TEXT], attacked, box),
            )
            for (feature, entropy, born, view, thumbnail, has_one), (picture, truth, file, attacked, box) in zip(
                arrays, known
            )
        ]
        found = []
        for one in self.moments:
            by_class: dict[int, tuple[CacheItem, ...]] = {}
            for n in one.held:
                by_class[int(self.label[n])] = (*by_class.get(int(self.label[n]), ()), items[n])
            sizes = (self.slots, self.feature.shape[1], one.pictures)
            snapshot = CacheSnapshot(self.key, self.names, *sizes, by_class)
            found.append(HistoryEntry(one.title[:MAX_TEXT], snapshot, one.events, one.picture_key[:MAX_TEXT], IMPORTED))
        return tuple(found)


def pack(snapshot: CacheSnapshot, model: str, settings: Settings, entries: Sequence[HistoryEntry] = ()) -> bytes:
    """A cache as a file, with the moments before it (without them where the file would be too large to be imported), the
    model, and the settings of the run on screen."""
    table = StoredMemory.of((*entries, HistoryEntry(IMPORTED_TITLE, snapshot)), model, settings)
    data = record_file.pack(table)
    if entries and (record_file.array_bytes(data) > MAX_FILE_BYTES or len(entries) > MAX_ENTRIES):
        return pack(snapshot, model, settings)
    return data


def read_file(path: Path) -> bytes:
    """A file's bytes, if it is small enough to be a cache."""
    return record_file.read_limited(path, "any memory", MAX_FILE_BYTES)


def unpack(data: bytes, class_prompts: ClassPrompts, model: str) -> CacheSnapshot:
    """A cache from a file, checked against the model and the classes in use. Raises FileError: one sentence on the
    first thing that is wrong."""
    return unpack_history(data, class_prompts, model)[-1].snapshot


def unpack_history(
    data: bytes, class_prompts: ClassPrompts | None, model: str, width: int = 0
) -> tuple[HistoryEntry, ...]:
    """The moments of a file up to the exported one, and the import of it, checked as :func:`unpack` does. Without
    ``class_prompts`` the class names are the file's own, of a model whose features have this ``width``."""
    if FORMAT_BEFORE in data[: record_file.MB] and not data.startswith(b"PK"):
        refuse_earlier("This memory", "Export it again on the page.", FileError)
    table = record_file.unpack(data, "memory", (StoredMemory, StoredMoment, CacheEvent), MAX_FILE_BYTES)
    ours = isinstance(table, StoredMemory) and table.format == FORMAT
    require(ours, "This file is not a memory of this page.")
    other = f"This memory belongs to another model ({table.model[:60]}); in use is {model}."
    require(table.model == model, other, "Choose that model first, then run a picture.")
    if class_prompts is None:
        own = 2 <= len(table.names) <= MOST_NAMES and max(map(len, table.names)) <= MAX_TEXT
        own = own and table.key == class_prompts_key(model, table.names)
        require(own, "This memory was changed: it belongs to other class names than it says.")
    else:
        same = (table.names, table.key) == (class_prompts.names, class_prompts.key)
        require(same, "This memory belongs to other class names than those in use.")
        width = class_prompts.features.shape[-1]
    _check(table, width)
    *past, imported = table.entries()
    if past and (past[-1].title, past[-1].snapshot.items) == (IMPORTED_TITLE, imported.snapshot.items):
        past = past[:-1]  # exported right after an import, it is one moment
    return (*past, imported)


def _check(table: StoredMemory, width: int) -> None:
    """Check kinds, shapes and values of all columns. Raises FileError."""
    n, K, edge = len(table.picture), len(table.names), THUMBNAIL_SIZE
    wanted: dict[str, tuple[type, tuple[int, ...]]] = {
        "label": (np.int64, (n,)),
        "born": (np.int64, (n,)),
        "view": (np.int64, (n,)),
        "entropy": (np.float32, (n,)),
        "feature": (np.float32, (n, width)),
        "thumbnail": (np.uint8, (n, edge, edge, 3)),
        "has_thumbnail": (np.bool_, (n,)),
    }
    require(table.feature.shape[1:] == (width,), "This memory's features have another width than the model's.")
    for name, (kind, shape) in wanted.items():
        array = getattr(table, name)
        require(
            (array.dtype, array.shape) == (kind, shape), f"This memory was changed: {name} has another kind or shape."
        )
    columns = (table.truth, table.file, table.attacked, table.box)
    require(all(len(one) == n for one in columns), "This memory was changed: a column has another length.")
    pictures = table.moments[-1].pictures if table.moments else -1
    for name, value, low, high in (
        ("slots", table.slots, 1, int(SETTINGS["slots"].high)),
        ("pictures", pictures, 0, MAX_PICTURES - 1),
    ):
        require(low <= value <= high, f"This memory was changed: its {name} is not a number it can be.")
    length = np.linalg.norm(table.feature.astype(np.float64), axis=1)
    for sentence, holds in {
        "a feature is not finite": np.isfinite(table.feature),
        "a feature is not of unit length": np.abs(length - 1) < 1e-3,
        "an entropy is not between 0 and log K": (table.entropy >= -1e-4) & (table.entropy <= math.log(K) + 1e-3),
        "a class is not in the list": (table.label >= 0) & (table.label < K),
        "an item is older than the memory": (table.born >= 0) & (table.born < pictures),
        "a view has no number": (table.view >= 0) & (table.view < 1 << 16),
        "a view's box is none": [len(one) in (0, 4) and all(-1e-3 <= e <= 1 + 1e-3 for e in one) for one in table.box],
    }.items():
        require(np.all(holds), f"This memory was changed: {sentence}.")
    require(len(table.moments) <= MAX_ENTRIES + 1, "This memory was changed: it has too many moments.")
    for moment in table.moments:
        require(0 <= moment.pictures <= pictures, "This memory was changed: a moment is later than the memory.")
        held = moment.held
        whole = len(set(held)) == len(held) and all(0 <= row < n for row in held)
        require(whole, "This memory was changed: a moment holds an item that is not there.")
        counts = np.bincount(table.label[list(held)], minlength=K) if held else np.zeros(K)
        require(np.all(counts <= table.slots), "This memory was changed: a class holds more than its places.")
        entered = all(_can_enter(one, K, table.slots, pictures) for one in moment.events)
        require(entered, "This memory was changed: a view entered where it cannot.")


def _can_enter(event: CacheEvent, K: int, slots: int, pictures: int) -> bool:
    before, born = event.replaced_entropy, event.replaced_born
    place = 0 <= event.label < K and 0 <= event.slot < slots and 0 <= event.view < 1 << 16
    replaced = before is born is None or (before is not None and born is not None and 0 <= born < pictures)
    return place and replaced and math.isfinite(event.entropy) and math.isfinite(before or 0)
