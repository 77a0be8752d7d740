"""The memory as a file (:mod:`rita_demo.data.record_file`): its table, as it is in a visit. The page exports and imports it;
scripts begin with it, and read it.

An imported file is untrusted: every number is checked before it is used.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.data import record_file
from rita_demo.data.descriptions import with_used_descriptions
from rita_demo.data.memory import MAX_MOMENTS, MemoryTable, Moment
from rita_demo.data.record_file import FileError, require
from rita_demo.data.vocabularies import MOST_NAMES
from rita_demo.records import CacheEvent, ClassPrompts
from rita_demo.records.errors import refuse_earlier
from rita_demo.records.keys import class_prompts_key
from rita_demo.settings import SETTINGS, Settings

MAX_FILE_BYTES = 32 << 20  # bytes of a file, and of its arrays
MAX_LOGGED_EVENTS = 64  # views that entered at one moment, in a file
MAX_PICTURES = 1 << 31
MAX_TEXT = 300  # characters of a title or a name
MAX_SHOWN = 5  # class names in a sentence
FORMAT, FORMATS_BEFORE = "rita-demo memory 3", (b"rita-demo memory 1", b"rita-demo memory 2")
IMPORTED_TITLE = "Imported from a file"


def pack(memory: MemoryTable, model: str, settings: Settings, t: int = -1, *, alone: bool = False) -> bytes:
    """A memory at moment ``t`` as a file, with the moments before it (``alone``, and where the file would be too large to be
    imported, without them), the model, and the settings of the run on screen."""
    memory = memory.until(t)
    *past, now = memory.moments
    exported = replace(now, title=IMPORTED_TITLE, picture_key="", events=(), others={})
    past += [now] * (now.title != IMPORTED_TITLE)  # exported right after an import, it is one moment
    kept = [replace(moment, events=moment.events[:MAX_LOGGED_EVENTS], others={}) for moment in past]
    table = replace(memory.with_moments((*kept * (not alone), exported)), origin="")
    used = with_used_descriptions(settings, memory.names).as_dict()
    data = record_file.pack({"format": FORMAT, "model": model, "settings": used, "memory": table})
    large = record_file.array_bytes(data) > MAX_FILE_BYTES
    return pack(memory, model, settings, alone=True) if large and not alone else data


def read_file(path: Path) -> bytes:
    """A file's bytes, if it is small enough to be a cache."""
    return record_file.read_limited(path, "any memory", MAX_FILE_BYTES)


def unpack(
    data: bytes, class_prompts: ClassPrompts | None = None, model: str | None = None, width: int | None = None
) -> MemoryTable:
    """A memory from a file, checked against the model and the classes in use; its latest moment is the exported one. Without
    ``class_prompts`` the class names are the file's own, of a model whose features have this ``width``; without ``model`` it
    is only read, and that is the file's own too. Raises FileError: one sentence on the first thing that is wrong."""
    packed = data.startswith(b"PK")
    start = record_file.read_member(data, record_file.TREE, record_file.MAX_TREE_BYTES, "memory") if packed else data
    if any(mark in start[: record_file.MB] for mark in FORMATS_BEFORE):
        refuse_earlier("This memory", "Export it again on the page.", FileError)
    file = record_file.unpack(data, "memory", (MemoryTable, Moment, CacheEvent), MAX_FILE_BYTES)
    require(isinstance(file, dict) and file.get("format") == FORMAT, "This file is not a memory of this page.")
    table: MemoryTable = file.get("memory")
    require(isinstance(table, MemoryTable), "This file is not a memory of this page.")
    theirs = str(file.get("model"))
    model = theirs if model is None else model
    other = f"This memory belongs to another model ({theirs[:60]}); in use is {model}."
    require(theirs == model, other, "Choose that model first, then run a picture.")
    if class_prompts is None:
        unchanged = 2 <= len(table.names) <= MOST_NAMES and max(map(len, table.names)) <= MAX_TEXT
        unchanged = unchanged and table.key == class_prompts_key(model, table.names)
        require(unchanged, "This memory was changed: it belongs to other class names than it says.")
    else:
        same = (table.names, table.key) == (class_prompts.names, class_prompts.key)
        require(same, _differing_names(table.names, class_prompts.names), "Ask about the memory's own class names.")
        width = class_prompts.features.shape[-1]
    _check(table, (table.feature.shape or (0,))[-1] if width is None else width)
    texts = ("picture", "truth", "file")
    short: dict[str, Any] = {name: tuple(text[:MAX_TEXT] for text in getattr(table, name)) for name in texts}
    moments = tuple(replace(m, title=m.title[:MAX_TEXT], picture_key=m.picture_key[:MAX_TEXT]) for m in table.moments)
    return replace(table, origin="", **short).with_moments(moments[-MAX_MOMENTS:])


def _differing_names(theirs: tuple[str, ...], used: tuple[str, ...]) -> str:
    """Which class names differ, the first few of each side."""
    sides = {"only the memory has": set(theirs) - set(used), "only those in use": set(used) - set(theirs)}
    parts = [
        f"{side} {', '.join(name[:MAX_TEXT] for name in sorted(names)[:MAX_SHOWN])}{' ...' * (len(names) > MAX_SHOWN)}"
        for side, names in sides.items()
        if names
    ]
    differ = "; ".join(parts) or "they are in another order"
    return f"This memory belongs to other class names than those in use: {differ}."


def _check(table: MemoryTable, width: int) -> None:
    """Check kinds, shapes and values of all columns. Raises FileError."""
    n, K, fresh = len(table.picture), len(table.names), MemoryTable(feature=np.zeros((0, width), np.float32))
    require(table.feature.shape[1:] == (width,), "This memory's features have another width than the model's.")
    for name, column in table.columns.items():
        wanted = getattr(fresh, name)
        if isinstance(wanted, np.ndarray):
            same = (column.dtype, column.shape) == (wanted.dtype, (n, *wanted.shape[1:]))
            require(same, f"This memory was changed: {name} has another kind or shape.")
        require(len(column) == n, "This memory was changed: a column has another length.")
    pictures = table.moments[-1].pictures if table.moments else -1
    most, slots = int(SETTINGS["slots"].high), [moment.slots for moment in table.moments]
    for name, value, low, high in (
        ("pictures", pictures, 0, MAX_PICTURES - 1),
        *(("slots", number, 1, most) for number in slots),
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
        "a view's box is none": [len(box) in (0, 4) and all(-1e-3 <= e <= 1 + 1e-3 for e in box) for box in table.box],
    }.items():
        require(np.all(holds), f"This memory was changed: {sentence}.")
    require(len(table.moments) <= MAX_MOMENTS + 1, "This memory was changed: it has too many moments.")
    for moment in table.moments:
        require(0 <= moment.pictures <= pictures, "This memory was changed: a moment is later than the memory.")
        held = moment.held
        whole = (held.dtype, held.ndim) == (np.int64, 1) and len(np.unique(held)) == len(held)
        whole = whole and bool(np.all((held >= 0) & (held < n)))
        require(whole, "This memory was changed: a moment holds an item that is not there.")
        ordered = np.all(np.diff(table.label[held]) >= 0)
        require(ordered, "This memory was changed: a moment's items are not in the order of their classes.")
        counts = np.bincount(table.label[held], minlength=K)
        require(np.all(counts <= moment.slots), "This memory was changed: a class holds more than its places.")
        entered = all(_can_enter(event, K, moment.slots, pictures) for event in moment.events)
        require(entered, "This memory was changed: a view entered where it cannot.")


def _can_enter(event: CacheEvent, K: int, slots: int, pictures: int) -> bool:
    before, born = event.replaced_entropy, event.replaced_born
    place = 0 <= event.label < K and 0 <= event.slot < slots and 0 <= event.view < 1 << 16
    replaced = before is born is None or (before is not None and born is not None and 0 <= born < pictures)
    return place and replaced and math.isfinite(event.entropy) and math.isfinite(before or 0)
