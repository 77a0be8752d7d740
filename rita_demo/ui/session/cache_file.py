"""The cache as one safetensors file: arrays, and a JSON header on the model, classes and settings they belong to. The first
rows of the arrays are the items of the exported moment; the others left before it, and the moments of the header say when.

Never pickle, never a zip. An imported file is untrusted: the size is checked before anything is read, the header before
the arrays, and every number before it is used.
"""

import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from rita_demo.data.descriptions import with_used_descriptions
from rita_demo.data.vocabularies import MOST_NAMES
from rita_demo.pipeline.bundle_read import RETRY_HINT, FileError, read_limited, require
from rita_demo.records import CacheEvent, ClassPrompts
from rita_demo.records.errors import refuse_earlier
from rita_demo.records.json_value import JsonValue
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

MAX_FILE_BYTES = 32 << 20  # bytes of a file
MAX_HEADER_BYTES = 4 << 20
MAX_LOGGED_EVENTS = 64  # views of one moment in the exported log
MAX_PICTURES = 1 << 31
MAX_TEXT = 300  # characters of a title or a name
EVENT = (
    "label",
    "slot",
    "view",
    "entropy",
    "replaced_entropy",
    "replaced_born",
)  # of a view that entered, in this order
FORMAT = "rita-demo memory 1"
IMPORTED_TITLE = "Imported from a file"
TOO_LARGE = f"This file is larger than any memory of this page ({MAX_FILE_BYTES >> 20} MB)."
#: array -> (dtype in the file, shape after the first axis; "D" is the model's width)
ARRAYS: dict[str, tuple[str, tuple[int | str, ...]]] = {
    "feature": ("F32", ("D",)),
    "entropy": ("F32", ()),
    "label": ("I64", ()),
    "born": ("I64", ()),
    "view": ("I64", ()),
    "thumb": ("U8", (THUMBNAIL_SIZE, THUMBNAIL_SIZE, 3)),
    "has_thumb": ("U8", ()),
}


class MemoryAbout(TypedDict):
    """The metadata of a cache: ``key`` and ``names`` of the classes, ``pictures`` that were decided, and the log."""

    format: str
    model: str
    key: str
    names: list[str]
    slots: int
    width: int
    pictures: int
    settings: dict[str, JsonValue]
    log: list[dict[str, JsonValue]]


class FileAbout(MemoryAbout):
    """The metadata of a file: also how many rows are ``items`` of the exported moment, the ``moments``, and of every row what
    its picture is called, its true class, the picture's file, whether it arrived attacked, and the view's box."""

    items: int
    moments: list[dict[str, Any]]
    files: list[str]
    truths: list[str]
    sources: list[str]
    attacked: list[bool | None]
    boxes: list[list[float]]


def describe(snapshot: CacheSnapshot, model: str, settings: Settings, entries: Sequence[HistoryEntry]) -> MemoryAbout:
    """The metadata of a cache: model, class names, the settings of the run on screen, and the log up to the exported
    moment."""
    log = list[dict[str, JsonValue]]()
    for entry in entries:
        entered: list[JsonValue] = [
            {
                "class": entry.snapshot.names[e.label],
                "slot": e.slot,
                "view": e.view,
                "entropy": e.entropy,
                "replaced_entropy": e.replaced_entropy,
                "replaced_picture": e.replaced_born,
            }
            for e in entry.events[:MAX_LOGGED_EVENTS]
        ]
        log.append({"title": entry.title, "held": entry.snapshot.count, "entered": entered})
    return {
        "format": FORMAT,
        "model": model,
        "key": snapshot.key,
        "names": list(snapshot.names),
        "slots": snapshot.slots,
        "width": snapshot.width,
        "pictures": snapshot.pictures,
        "settings": with_used_descriptions(settings, snapshot.names).as_dict(),
        "log": log,
    }


def pack(snapshot: CacheSnapshot, metadata: MemoryAbout, entries: Sequence[HistoryEntry] = ()) -> bytes:
    """A cache as a safetensors file; its metadata entry ``rita`` is ``metadata`` as JSON, and beside it what every item's
    picture is called, its true class, and the moments before this one with the items that left (``entries``; without them
    where the file would be too large to be imported)."""
    held = [(k, item) for k, _, item in snapshot.items]
    known = {id(item) for _, item in held}
    past = {id(item): (k, item) for entry in entries for k, _, item in entry.snapshot.items if id(item) not in known}
    rows = [*held, *past.values()]
    index = {id(item): n for n, (_, item) in enumerate(rows)}
    stored = {"items": len(held), "moments": [_moment(entry, index) for entry in entries]}
    stored |= {"files": [i.picture for _, i in rows], "truths": [i.truth for _, i in rows]}
    stored |= {"sources": [i.file for _, i in rows], "attacked": [i.attacked for _, i in rows]}
    stored |= {"boxes": [list(i.box) for _, i in rows]}
    text = json.dumps({**metadata, **stored})
    edge, nothing = THUMBNAIL_SIZE, np.zeros((THUMBNAIL_SIZE, THUMBNAIL_SIZE, 3), np.uint8)
    item_bytes = 4 * snapshot.width + nothing.nbytes + 64
    if entries and (len(rows) * item_bytes > MAX_FILE_BYTES // 2 or 2 * len(text) > MAX_HEADER_BYTES):
        return pack(snapshot, metadata)
    thumbs = [nothing if i.thumbnail is None else i.thumbnail for _, i in rows]
    arrays: dict[str, np.ndarray] = {
        "feature": np.array([i.feature for _, i in rows], np.float32).reshape(-1, snapshot.width),
        "entropy": np.array([i.entropy for _, i in rows], np.float32),
        "label": np.array([k for k, _ in rows], np.int64),
        "born": np.array([i.born for _, i in rows], np.int64),
        "view": np.array([i.view for _, i in rows], np.int64),
        "thumb": np.array(thumbs, np.uint8).reshape(-1, edge, edge, 3),
        "has_thumb": np.array([i.thumbnail is not None for _, i in rows], np.uint8),
    }
    return save(arrays, {"rita": text})


def _moment(entry: HistoryEntry, index: Mapping[int, int]) -> dict[str, Any]:
    """A moment as the header has it: ``held`` are rows of the arrays."""
    events = [[getattr(event, name) for name in EVENT] for event in entry.events[:MAX_LOGGED_EVENTS]]
    held = [index[id(item)] for _, _, item in entry.snapshot.items]
    return {
        **{"title": entry.title, "picture_key": entry.picture_key, "pictures": entry.snapshot.pictures},
        **{"held": held, "events": events},
    }


def read_file(path: Path) -> bytes:
    """A file's bytes, if it is small enough to be a cache."""
    return read_limited(path, MAX_FILE_BYTES, TOO_LARGE)


def unpack(data: bytes, class_prompts: ClassPrompts, model: str) -> CacheSnapshot:
    """A cache from a file, checked against the model and the classes in use. Raises FileError: one sentence on the
    first thing that is wrong."""
    return unpack_history(data, class_prompts, model)[-1].snapshot


def unpack_history(
    data: bytes, class_prompts: ClassPrompts | None, model: str, width: int = 0
) -> tuple[HistoryEntry, ...]:
    """The moments of a file up to the exported one, and the import of it, checked as :func:`unpack` does. Without
    ``class_prompts`` the class names are the file's own, of a model whose features have this ``width``."""
    require(len(data) <= MAX_FILE_BYTES, TOO_LARGE)
    require(len(data) >= 10, "This file is too short to be a memory.")
    (length,) = struct.unpack("<Q", data[:8])
    fits = length <= min(MAX_HEADER_BYTES, len(data) - 8)
    require(fits, "This is not a safetensors file, or it is truncated: its header does not fit.")
    try:
        header = json.loads(data[8 : 8 + length])
        about = _metadata(header, class_prompts, model)
        width = width if class_prompts is None else class_prompts.features.shape[-1]
        require(about["width"] == width, "This memory's features have another width than the model's.")
        _check_arrays(header, width)
        return _entries(load(data), about)
    except (SafetensorError, ValueError, LookupError, TypeError, RecursionError, OverflowError, AttributeError) as e:
        raise FileError("This file is truncated or damaged: no memory in it.", RETRY_HINT) from e


def _metadata(header: dict[str, Any], class_prompts: ClassPrompts | None, model: str) -> FileAbout:
    about = json.loads(header.get("__metadata__", {}).get("rita", "null"))
    ours = isinstance(about, dict) and about.get("format") == FORMAT
    require(ours, "This safetensors file is not a memory of this page.")
    if not FileAbout.__required_keys__ <= about.keys():
        refuse_earlier("This memory", "Export it again on the page.", FileError)
    other = f"This memory belongs to another model ({str(about.get('model'))[:60]}); in use is {model}."
    require(about.get("model") == model, other, "Choose that model first, then run a picture.")
    names = about["names"]
    if class_prompts is None:
        own = 2 <= len(names) <= MOST_NAMES and "".join(_texts(names, len(names))) == "".join(names)
        own = own and about["key"] == class_prompts_key(model, tuple(names))
        require(own, "This memory was changed: it belongs to other class names than it says.")
    else:
        same = (names, about["key"]) == (list(class_prompts.names), class_prompts.key)
        require(same, "This memory belongs to other class names than those in use.")
    for name, low, high in (("slots", 1, int(SETTINGS["slots"].high)), ("pictures", 0, MAX_PICTURES - 1)):
        value = about.get(name)
        valid = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        require(valid, f"This memory was changed: its {name} is not a number it can be.")
    return about


def _check_arrays(header: dict[str, Any], width: int) -> None:
    """Check names, dtypes and shapes of the arrays before any of them is read."""
    require(set(header) == {*ARRAYS, "__metadata__"}, "This memory was changed: arrays are missing or added.")
    rows = {header[name]["shape"][0] for name in ARRAYS}
    for name, (kind, rest) in ARRAYS.items():
        shape = [width if size == "D" else size for size in rest]
        same = header[name]["dtype"] == kind and header[name]["shape"][1:] == shape and len(rows) == 1
        require(same, f"This memory was changed: {name} has another kind or shape.")


def _entries(arrays: dict[str, np.ndarray], metadata: FileAbout) -> tuple[HistoryEntry, ...]:
    K, pictures, feature = len(metadata["names"]), metadata["pictures"], arrays["feature"]
    entropy, label, born, view = (arrays[name] for name in ("entropy", "label", "born", "view"))
    length, most = np.linalg.norm(feature.astype(np.float64), axis=1), math.log(K) + 1e-3
    checks: tuple[tuple[str, Callable[[], np.ndarray]], ...] = (
        ("a feature is not finite", lambda: np.isfinite(feature)),
        ("a feature is not of unit length", lambda: np.abs(length - 1) < 1e-3),
        ("an entropy is not between 0 and log K", lambda: (entropy >= -1e-4) & (entropy <= most)),
        ("a class is not in the list", lambda: (label >= 0) & (label < K)),
        ("an item is older than the memory", lambda: (born >= 0) & (born < pictures)),
        ("a view has no number", lambda: (view >= 0) & (view < 1 << 16)),
        ("a mark is neither 0 nor 1", lambda: arrays["has_thumb"] <= 1),
    )
    for sentence, holds in checks:
        require(np.all(holds()), f"This memory was changed: {sentence}.")
    files, truths, sources = (
        _texts(given, len(label)) for given in (metadata["files"], metadata["truths"], metadata["sources"])
    )
    attacked, boxes = metadata["attacked"], metadata["boxes"]
    known = len(attacked) == len(boxes) == len(label) and all(one is None or isinstance(one, bool) for one in attacked)
    require(known and all(map(_is_box, boxes)), "This memory was changed: a view's box or its attack is none.")
    items = [
        CacheItem(
            *(feature[row].copy(), float(entropy[row]), int(born[row]), int(view[row])),
            thumbnail=arrays["thumb"][row].copy() if arrays["has_thumb"][row] else None,
            picture=files[row],
            truth=truths[row],
            file=sources[row],
            attacked=attacked[row],
            box=tuple(boxes[row]),
        )
        for row in range(len(label))
    ]

    def snapshot(rows: Sequence[int], seen: int) -> CacheSnapshot:
        whole = all(_whole(row, len(items)) for row in rows) and len(set(rows)) == len(rows)
        require(whole, "This memory was changed: a moment holds an item that is not there.")
        counts = np.bincount(label[list(rows)], minlength=K) if rows else np.zeros(K)
        fits = np.all(counts <= metadata["slots"])
        require(fits, "This memory was changed: a class holds more than its places.")
        by_class: dict[int, tuple[CacheItem, ...]] = {}
        for row in rows:
            k = int(label[row])
            by_class[k] = (*by_class.get(k, ()), items[row])
        names, sizes = tuple(metadata["names"]), (metadata["slots"], metadata["width"])
        return CacheSnapshot(metadata["key"], names, *sizes, seen, by_class)

    held, moments = metadata["items"], metadata["moments"]
    whole = _whole(held, len(items) + 1) and isinstance(moments, list) and len(moments) <= MAX_ENTRIES
    require(whole, "This memory was changed: its moments are not a list of them.")
    past = tuple(_entry(one, snapshot, pictures, K, metadata["slots"]) for one in moments)
    imported = HistoryEntry(IMPORTED_TITLE, snapshot(range(held), pictures), origin=IMPORTED)
    if past and (past[-1].title, past[-1].snapshot.items) == (IMPORTED_TITLE, imported.snapshot.items):
        past = past[:-1]  # exported right after an import, it is one moment
    return (*past, imported)


def _entry(
    one: dict[str, Any], snapshot: Callable[[Sequence[int], int], CacheSnapshot], pictures: int, K: int, slots: int
) -> HistoryEntry:
    """A moment of the header as the history has it."""
    (title,), (key,) = (_texts([one[name]], 1) for name in ("title", "picture_key"))
    require(_whole(one["pictures"], pictures + 1), "This memory was changed: a moment is later than the memory.")
    events = []
    for label, slot, view, entropy, before, born in one["events"][:MAX_LOGGED_EVENTS]:
        numbers = _whole(label, K) and _whole(slot, slots) and _whole(view, 1 << 16) and math.isfinite(entropy)
        replaced = (before is None and born is None) or (math.isfinite(before) and _whole(born, pictures))
        require(numbers and replaced, "This memory was changed: a view entered where it cannot.")
        events.append(CacheEvent(label, slot, view, float(entropy), before, born))
    return HistoryEntry(title, snapshot(one["held"], one["pictures"]), tuple(events), key, IMPORTED)


def _whole(value: object, below: int) -> bool:
    """Whether ``value`` is a whole number from 0 up to, and without, ``below``."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _is_box(box: Any) -> bool:
    """Whether these are four edges as fractions of a square, or none."""
    whole = isinstance(box, list) and len(box) in (0, 4)
    return whole and all(isinstance(edge, float | int) and -1e-3 <= edge <= 1 + 1e-3 for edge in box)


def _texts(given: Any, count: int) -> list[str]:
    """So many texts, at most 300 characters of each."""
    known = isinstance(given, list) and len(given) == count and all(isinstance(text, str) for text in given)
    require(known, "This memory was changed: the names of its pictures are not texts.")
    return [text[:MAX_TEXT] for text in given]
