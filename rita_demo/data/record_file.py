"""Records as bytes: opened without a model, nothing is computed again, and no bit is lost.

A zip of ``run.json``, the records as a tree, and ``arrays.safetensors``, each array once. Nothing is pickled. For files of
this project: the records are not checked as those of an upload are (:mod:`rita_demo.pipeline.bundle_read`).
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

from rita_demo import records
from rita_demo.records import measurement
from rita_demo.settings import Settings

TREE, ARRAYS = "run.json", "arrays.safetensors"


def pack(value: Any, title: str = "") -> bytes:
    """The bytes of a tree of records, dicts with text as keys, tuples and arrays; the same tree gives the same bytes."""
    arrays: dict[str, np.ndarray] = {}
    tree = _to_tree(value, arrays)
    members = {TREE: json.dumps(tree, ensure_ascii=False).encode(), ARRAYS: safetensors.save(arrays)}
    return zip_bytes(members, title)


def title(data: bytes) -> str:
    """The title that was packed with the records."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return file.comment.decode()


def unpack(data: bytes) -> Any:
    """The inverse of :func:`pack`; lists come back as tuples."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        arrays = safetensors.load(file.read(ARRAYS))
        return _from_tree(json.loads(file.read(TREE)), {name: array.copy() for name, array in arrays.items()})


def zip_bytes(members: Mapping[str, bytes], comment: str = "") -> bytes:
    """Members by name as a zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.comment = comment.encode()
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
    if isinstance(value, Settings):
        return {"settings": _to_tree(value.as_dict(), arrays)}
    if is_dataclass(value):
        parts = {one.name: _to_tree(getattr(value, one.name), arrays) for one in fields(value)}
        return {"record": type(value).__name__, "fields": parts}
    if isinstance(value, dict):
        return {"dict": {key: _to_tree(part, arrays) for key, part in value.items()}}
    if isinstance(value, tuple):
        return [_to_tree(part, arrays) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _from_tree(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(tree, list):
        return tuple(_from_tree(part, arrays) for part in tree)
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "settings" in tree:
        return Settings(**_from_tree(tree["settings"], arrays))
    if "dict" in tree:
        return {key: _from_tree(part, arrays) for key, part in tree["dict"].items()}
    kind = getattr(records, tree["record"], None) or getattr(measurement, tree["record"])
    return kind(**{name: _from_tree(part, arrays) for name, part in tree["fields"].items()})
