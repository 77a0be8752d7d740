"""Records as bytes: opened without a model, nothing is computed again, and no bit is lost.

A zip of ``run.json``, the records as a tree, and ``arrays.safetensors``, each array once. Nothing is pickled, and nothing is
written to disk. A file may be untrusted: the list of members is checked before any of them is decompressed, each is
decompressed only up to its limit, and every record has the fields that its class declares, of their types. What the values
mean is checked by who asks for the file.
"""

import copy
import hashlib
import io
import json
import struct
import types
import typing
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

from rita_demo import records
from rita_demo.records import measurement
from rita_demo.records.errors import DemoError
from rita_demo.settings import Settings

TREE, ARRAYS = "run.json", "arrays.safetensors"
MB = 1 << 20
MAX_FILE_BYTES = 192 * MB
MAX_TREE_BYTES = 8 * MB
MAX_MEMBERS = 64
MAX_DIRECTORY_BYTES = 16 << 10  # of the list of members
RETRY_HINT = "Save it again on the page, or choose another file."
#: The records of files that come with this project.
KINDS = tuple(kind for module in (records, measurement) for kind in vars(module).values() if is_dataclass(kind))


class FileError(DemoError):
    """The file is not one that the page saved, or it was changed."""


def require(holds: object, sentence: str, hint: str = RETRY_HINT) -> None:
    """Raise :class:`FileError` unless a check of an untrusted file holds."""
    if not holds:
        raise FileError(sentence, hint)


def read_limited(path: Path, what: str, most: int = MAX_FILE_BYTES) -> bytes:
    """A file of at most ``most`` bytes; its size is checked before it is read. Raises FileError: it is larger than ``what``
    (as "a saved run") can be, or it cannot be read."""
    try:
        require(path.stat().st_size <= most, f"This file is larger than {what} can be ({most // MB} MB).")
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise FileError(f"The file {path.name!r} cannot be read: {reason}.") from error


def pack(value: Any) -> bytes:
    """The bytes of a tree of records, dicts, tuples and arrays; the same tree gives the same bytes."""
    arrays: dict[str, np.ndarray] = {}
    tree = _to_tree(value, arrays)
    members = {TREE: json.dumps(tree, ensure_ascii=False).encode(), ARRAYS: safetensors.save(arrays)}
    return zip_bytes(members)


def unpack(data: bytes, what: str = "file", kinds: Iterable[Any] = KINDS, most: int = MAX_FILE_BYTES) -> Any:
    """The inverse of :func:`pack`; lists come back as tuples. ``kinds``: the records that may be in it; ``most``: the bytes of
    its arrays. Raises FileError: one sentence on the first thing that is wrong with this ``what``."""
    with _readable(what):
        tree = json.loads(read_member(data, TREE, MAX_TREE_BYTES, what))
        arrays = safetensors.load(read_member(data, ARRAYS, most, what))
        by_name = {kind.__name__: kind for kind in kinds}
        return _from_tree(tree, {name: array.copy() for name, array in arrays.items()}, by_name)


def array_bytes(data: bytes) -> int:
    """The bytes of the arrays, unpacked; more than any file has where the tree is too large to be read."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        tree, arrays = (file.getinfo(name).file_size for name in (TREE, ARRAYS))
        return arrays if tree <= MAX_TREE_BYTES else MAX_FILE_BYTES + 1


def member_names(data: bytes, what: str) -> set[str]:
    """The names in a zip, without folders. Raises FileError: it is none."""
    with _opened(data, what) as file:
        return {name.rpartition("/")[2] for name in file.namelist()}


def read_member(data: bytes, name: str, most: int, what: str) -> bytes:
    """A member of a zip, also where another program packed it again with a folder around all; no other is decompressed.

    Raises FileError: the zip is none, or its member is missing, there twice, larger than ``most``, or not as it says."""
    with _opened(data, what) as file:
        infos = [info for info in file.infolist() if info.filename.rpartition("/")[2] == name]
        require(infos, f"This is no {what}, or it was changed: {name} is missing.")
        (info, *more), size = infos, infos[0].file_size
        require(not more, f"In this zip {name} is there twice.")
        require(size <= most, f"In this zip {name} is larger than any of ours ({most // MB} MB).")
        plain = not info.flag_bits & 1 and info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        require(plain, f"In this zip {name} is encrypted or packed in another way.")
        one_more = copy.copy(info)
        one_more.file_size += 1  # zipfile cuts at this size, and what is longer than it says shall be seen
        with file.open(one_more) as member:
            content = member.read(size + 1)  # without a size all that is packed is inflated, and then cut
        require(len(content) == size, f"In this zip {name} is not as long as the zip's list says.")
        return content


@contextmanager
def _opened(data: bytes, what: str) -> Iterator[zipfile.ZipFile]:
    """A zip whose list of members is short. Raises FileError: it is none, or damaged."""
    require(len(data) <= MAX_FILE_BYTES, f"This file is larger than a {what} can be ({MAX_FILE_BYTES // MB} MB).")
    end = data[-22:]
    require(len(end) == 22 and end[:4] == b"PK\x05\x06", "This is not a zip file, or it is cut off.")
    count, size = struct.unpack("<HL", end[10:16])
    few = count <= MAX_MEMBERS and size <= MAX_DIRECTORY_BYTES and data[-42:-38] != b"PK\x06\x07"
    require(few, f"A {what} has at most {MAX_MEMBERS} members; this zip has more.")
    with _readable(what), zipfile.ZipFile(io.BytesIO(data)) as file:
        yield file


@contextmanager
def _readable(what: str) -> Iterator[None]:
    try:
        yield
    except (DemoError, MemoryError):
        raise
    except Exception as error:  # what zipfile, zlib, json, safetensors and the records raise
        raise FileError(f"This {what} is damaged, or it was changed.", RETRY_HINT) from error


def zip_bytes(members: Mapping[str, bytes]) -> bytes:
    """Members by name as a zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members.items():
            packed = zipfile.ZIP_STORED if name.endswith(".png") else zipfile.ZIP_DEFLATED
            file.writestr(zipfile.ZipInfo(name), data, packed)  # dated 1980
    return buffer.getvalue()


def _to_tree(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """JSON of a record; its arrays are added to ``arrays`` under names of their contents."""
    if isinstance(value, np.ndarray):
        plain = np.ascontiguousarray(value)
        name = hashlib.sha256(f"{plain.dtype} {plain.shape} ".encode() + plain.tobytes()).hexdigest()[:16]
        arrays[name] = plain
        return {"array": name}
    if isinstance(value, bytes):
        return {"bytes": _to_tree(np.frombuffer(value, np.uint8), arrays)}
    if isinstance(value, Settings):
        return {"settings": _to_tree(value.as_dict(), arrays)}
    if is_dataclass(value):
        parts = {field.name: _to_tree(getattr(value, field.name), arrays) for field in fields(value)}
        return {"record": type(value).__name__, "fields": parts}
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        return {"pairs": _to_tree(tuple(value.items()), arrays)}
    if isinstance(value, dict):
        return {"dict": {key: _to_tree(part, arrays) for key, part in value.items()}}
    if isinstance(value, tuple):
        return [_to_tree(part, arrays) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _from_tree(tree: Any, arrays: dict[str, Any], kinds: Mapping[str, Any]) -> Any:
    if isinstance(tree, list):
        return tuple(_from_tree(part, arrays, kinds) for part in tree)
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "bytes" in tree:
        name = tree["bytes"]["array"]
        key = f"bytes of {name}"
        if key not in arrays:  # made once, however often they are named
            arrays[key] = arrays[name].tobytes()
        return arrays[key]
    if "settings" in tree:
        return Settings(**_from_tree(tree["settings"], arrays, kinds))
    if "pairs" in tree:
        return dict(_from_tree(tree["pairs"], arrays, kinds))
    if "dict" in tree:
        return {key: _from_tree(part, arrays, kinds) for key, part in tree["dict"].items()}
    kind = kinds[tree["record"]]
    parts = {name: _from_tree(part, arrays, kinds) for name, part in tree["fields"].items()}
    hints = _hints(kind)
    wrong = [name for name, part in parts.items() if not _is_a(part, hints[name])]
    require(not wrong, f"This file was changed: {', '.join(wrong)} of a {kind.__name__} has another type.")
    return kind(**parts)


_hints = cache(typing.get_type_hints)


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type; a whole number is also a ``float``, a bool is no number."""
    kind, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return any(_is_a(value, option) for option in inner)
    if kind is tuple and inner[-1:] == (...,):
        return isinstance(value, tuple) and all(_is_a(part, inner[0]) for part in value)
    if kind is tuple:
        return isinstance(value, tuple) and len(value) == len(inner) and all(map(_is_a, value, inner))
    if kind in (dict, Mapping):
        return isinstance(value, dict) and all(_is_a(part, option) for part in value.values() for option in inner[1:])
    if kind in (int, float):
        return isinstance(value, int | kind) and not isinstance(value, bool)
    return kind is Any or isinstance(value, kind)
