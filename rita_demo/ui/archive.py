"""The memory as one safetensors file: arrays, and a JSON header that says what they belong to.

Never pickle, never a zip.  What comes back was written by a stranger: the size is checked before
anything is read, the header before the arrays, and every number before it is used.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from rita_demo.analysis import strength
from rita_demo.errors import DemoError
from rita_demo.records import TextBank
from rita_demo.settings import KNOBS, Settings
from rita_demo.ui.history import THUMB, Entry, Item, Shelf

LARGEST = 32 << 20  # bytes of a file
LARGEST_HEADER = 4 << 20
MOST_LOGGED = 64  # views of one moment in the log that travels along
MOST_PICTURES = 1 << 31
FORMAT = "rita-demo memory 1"
AGAIN = "Export it again, or choose another file."
#: array -> (dtype in the file, shape after the first axis; "D" is the model's width)
ARRAYS: dict[str, tuple[str, tuple[int | str, ...]]] = {
    "feature": ("F32", ("D",)),
    "entropy": ("F32", ()),
    "label": ("I64", ()),
    "born": ("I64", ()),
    "view": ("I64", ()),
    "thumb": ("U8", (THUMB, THUMB, 3)),
    "has_thumb": ("U8", ()),
}


class ArchiveError(DemoError):
    """The file is not a memory we can use."""


def described(
    shelf: Shelf, model: str, settings: Settings, entries: Sequence[Entry]
) -> dict[str, Any]:
    """Everything about a memory that is not an array, as JSON: what it belongs to (model, class names),
    the settings of the picture on screen, and the log up to the moment exported."""
    return {
        "format": FORMAT, "model": model, "key": shelf.key, "names": list(shelf.names),
        "slots": shelf.slots, "width": shelf.width, "pictures": shelf.pictures,
        "settings": settings.as_dict(), "log": [_logged(e) for e in entries],
    }  # fmt: skip


def _logged(entry: Entry) -> dict[str, Any]:
    names = entry.shelf.names
    return {
        "title": entry.title,
        "held": entry.shelf.count,
        "entered": [
            {
                "class": names[e.label], "slot": e.slot, "view": e.view, "entropy": e.entropy,
                "replaced_entropy": e.replaced_entropy, "replaced_picture": e.replaced_born,
            }
            for e in entry.events[:MOST_LOGGED]
        ],
    }  # fmt: skip


def as_json(shelf: Shelf, about: dict[str, Any]) -> bytes:
    """The same for people and other programs: ``about``, and every item without its feature.

    ``entropy`` is in nats, ``picture`` counts from 0 in the order of the log, ``r`` is |sum of a class's
    features| / count. It cannot be imported: the features are in the safetensors file."""
    held = sorted(shelf.held.items())
    classes = {
        shelf.names[k]: {
            "r": round(strength(np.stack([i.feature for i in items])), 6),
            "items": [
                {"slot": j, "entropy": i.entropy, "picture": i.born, "view": i.view}
                for j, i in enumerate(items)
            ],
        }
        for k, items in held
    }
    return json.dumps(about | {"held": classes}, indent=1, ensure_ascii=False).encode()


def pack(shelf: Shelf, about: dict[str, Any]) -> bytes:
    """A memory as a safetensors file; its metadata ``rita`` is ``about`` as JSON."""
    rows = [(k, item) for k, items in sorted(shelf.held.items()) for item in items]
    nothing = np.zeros((THUMB, THUMB, 3), np.uint8)
    thumbs = [nothing if i.thumb is None else i.thumb for _, i in rows]
    arrays: dict[str, np.ndarray] = {
        "feature": np.array([i.feature for _, i in rows], np.float32).reshape(-1, shelf.width),
        "entropy": np.array([i.entropy for _, i in rows], np.float32),
        "label": np.array([k for k, _ in rows], np.int64),
        "born": np.array([i.born for _, i in rows], np.int64),
        "view": np.array([i.view for _, i in rows], np.int64),
        "thumb": np.array(thumbs, np.uint8).reshape(-1, THUMB, THUMB, 3),
        "has_thumb": np.array([i.thumb is not None for _, i in rows], np.uint8),
    }
    return save(arrays, {"rita": json.dumps(about)})


def read(path: Path) -> bytes:
    """A file's bytes, if it is small enough to be a memory."""
    if path.stat().st_size > LARGEST:
        raise ArchiveError(
            f"This file is larger than any memory of this page ({LARGEST >> 20} MB).", AGAIN
        )
    return path.read_bytes()


def unpack(data: bytes, bank: TextBank, model: str) -> Shelf:
    """A memory from a file, checked against the model and vocabulary in use.

    Raises:
        ArchiveError: one sentence on the first thing that is wrong.
    """
    if len(data) > LARGEST:
        raise ArchiveError("This file is larger than any memory of this page.", AGAIN)
    try:
        header = _header(data)
        about = _about(header, bank, model)
        _check_arrays(header, bank.features.shape[-1])
        arrays = load(data)
        return _shelf(arrays, about, bank)
    except (
        SafetensorError,
        ValueError,
        LookupError,
        TypeError,
        RecursionError,
        OverflowError,
        AttributeError,
    ) as e:
        raise ArchiveError("This file is truncated or damaged: no memory in it.", AGAIN) from e


def _header(data: bytes) -> dict[str, Any]:
    if len(data) < 10:
        raise ArchiveError("This file is too short to be a memory.", AGAIN)
    (length,) = struct.unpack("<Q", data[:8])
    if length > min(LARGEST_HEADER, len(data) - 8):
        raise ArchiveError(
            "This is not a safetensors file, or it is truncated: its header does not fit.", AGAIN
        )
    header = json.loads(data[8 : 8 + length])
    if not isinstance(header, dict):
        raise ValueError("the header is not an object")
    return header


def _about(header: dict[str, Any], bank: TextBank, model: str) -> dict[str, Any]:
    about = json.loads(header.get("__metadata__", {}).get("rita", "null"))
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ArchiveError("This safetensors file is not a memory of this page.", AGAIN)
    if about.get("model") != model:
        raise ArchiveError(
            f"This memory belongs to another model ({str(about.get('model'))[:60]}); in use is {model}.",
            "Choose that model first, then run a picture.",
        )
    if about.get("names") != list(bank.names) or about.get("key") != bank.key:
        raise ArchiveError(
            "This memory belongs to other class names than those in use.",
            "Run a picture with the class names it was made with, then import it.",
        )
    _whole(about, "slots", 1, int(KNOBS["slots"].high) + 1)
    _whole(about, "pictures", 0, MOST_PICTURES)
    if about.get("width") != bank.features.shape[-1]:
        raise ArchiveError("This memory's features have another width than the model's.", AGAIN)
    return about


def _whole(about: dict[str, Any], name: str, low: int, high: int) -> None:
    value = about.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value < high:
        raise ArchiveError(f"This memory was changed: its {name} is not a number it can be.", AGAIN)


def _check_arrays(header: dict[str, Any], width: int) -> None:
    """The right arrays with the right kinds and shapes, before any of them is read."""
    if set(header) != {*ARRAYS, "__metadata__"}:
        raise ArchiveError("This memory was changed: arrays are missing or added.", AGAIN)
    rows = {header[name]["shape"][0] for name in ARRAYS}
    for name, (kind, rest) in ARRAYS.items():
        wanted = [width if size == "D" else size for size in rest]
        if header[name]["dtype"] != kind or header[name]["shape"][1:] != wanted or len(rows) != 1:
            raise ArchiveError(f"This memory was changed: {name} has another kind or shape.", AGAIN)


def _shelf(arrays: dict[str, np.ndarray], about: dict[str, Any], bank: TextBank) -> Shelf:
    K, slots = len(bank.names), about["slots"]
    length = np.linalg.norm(arrays["feature"].astype(np.float64), axis=1)
    entropy, label = arrays["entropy"].astype(np.float64), arrays["label"]
    checks: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("a feature is not finite", lambda: np.isfinite(arrays["feature"])),
        ("a feature is not of unit length", lambda: np.abs(length - 1) < 1e-3),
        ("an entropy is not between 0 and log K",
         lambda: np.isfinite(entropy) & (entropy >= -1e-4) & (entropy <= math.log(K) + 1e-3)),
        ("a class is not in the list", lambda: (label >= 0) & (label < K)),
        ("a class holds more than its places", lambda: np.bincount(label, minlength=K) <= slots),
        ("an item is older than the memory",
         lambda: (arrays["born"] >= 0) & (arrays["born"] < about["pictures"])),
        ("a view has no number", lambda: (arrays["view"] >= 0) & (arrays["view"] < 1 << 16)),
        ("a mark is neither 0 nor 1", lambda: arrays["has_thumb"] <= 1),
    )  # fmt: skip
    for sentence, holds in checks:
        if not np.all(holds()):
            raise ArchiveError(f"This memory was changed: {sentence}.", AGAIN)
    items: dict[int, tuple[Item, ...]] = {}
    for row, k in enumerate(label.tolist()):
        items[k] = (*items.get(k, ()), _item(arrays, row))
    return Shelf(bank.key, bank.names, slots, about["width"], about["pictures"], items)


def _item(arrays: dict[str, np.ndarray], row: int) -> Item:
    return Item(
        arrays["feature"][row].copy(),
        float(arrays["entropy"][row]),
        int(arrays["born"][row]),
        int(arrays["view"][row]),
        arrays["thumb"][row].copy() if arrays["has_thumb"][row] else None,
    )
