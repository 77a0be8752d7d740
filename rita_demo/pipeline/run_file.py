"""A whole run as bytes: opened without a model, nothing is computed again, and no bit is lost.

A zip of ``run.json``, the records as a tree, and ``arrays.safetensors``, each array once. Nothing is pickled. The clean
picture is not in it, and of the attack's pictures what every step changed. For files of this project: the records are not
checked as those of an upload are (:mod:`rita_demo.pipeline.bundle_read`).
"""

import hashlib
import io
import json
import zipfile
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

from rita_demo import records
from rita_demo.pipeline.export import zip_bytes
from rita_demo.records import ImageResult, Picture, Run
from rita_demo.settings import Settings
from rita_demo.settings.stored import settings_of

TREE, ARRAYS = "run.json", "arrays.safetensors"


def pack(run: Run, title: str) -> bytes:
    """The bytes of an attacked run and of its title; the same run gives the same bytes."""
    arrays: dict[str, np.ndarray] = {}
    tree = _to_tree(_without_pictures(run), arrays)
    members = {TREE: json.dumps(tree, ensure_ascii=False).encode(), ARRAYS: safetensors.save(arrays)}
    return zip_bytes(members, title)


def title(data: bytes) -> str:
    """The title that was packed with a run."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return file.comment.decode()


def unpack(data: bytes, clean: Picture) -> Run:
    """The run of :func:`pack`. ``clean``: its clean picture. Raises ValueError: it is of another picture."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        arrays = safetensors.load(file.read(ARRAYS))
        run = _from_tree(json.loads(file.read(TREE)), {name: array.copy() for name, array in arrays.items()})
    if run.clean.picture.key != clean.key:
        raise ValueError("the run is of another picture")
    return _with_pictures(run, clean)


def _without_pictures(run: Run) -> Run:
    """The run without pixels but those that each step of the attack changed, modulo 256."""
    assert run.attack is not None
    none, frames = np.zeros(0, np.uint8), run.attack.frames
    attack = replace(run.attack, pixels=none, frames=np.diff(frames, axis=0))
    clean, attacked = (replace(side, picture=replace(side.picture, pixels=none)) for side in (run.clean, run.attacked))
    return replace(run, attack=attack, clean=clean, attacked=attacked)


def _with_pictures(run: Run, clean: Picture) -> Run:
    assert run.attack is not None
    frames = np.cumsum(np.concatenate([clean.pixels[None], run.attack.frames]), axis=0, dtype=np.uint8)

    def shown(side: ImageResult, pixels: np.ndarray) -> ImageResult:
        return replace(side, picture=replace(side.picture, pixels=pixels))

    attack = replace(run.attack, pixels=frames[-1], frames=frames)
    return replace(run, attack=attack, clean=shown(run.clean, frames[0]), attacked=shown(run.attacked, frames[-1]))


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
        return settings_of(_from_tree(tree["settings"], arrays))
    if "dict" in tree:
        return {key: _from_tree(part, arrays) for key, part in tree["dict"].items()}
    return getattr(records, tree["record"])(**{name: _from_tree(part, arrays) for name, part in tree["fields"].items()})
