"""Features of a person's own from a file: an ``.npz`` of numpy, without pickles, or ``.safetensors``.

The headers say the type and shape of every array. They are checked, against the limits and against the bytes that are there,
before a number is read: an archive that grows when it is unpacked is refused by what it declares, and is unpacked no further.
Nothing is unpickled.
"""

import json
import math
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from safetensors import safe_open

from rita_demo.data.vocabularies import check_names
from rita_demo.process.text_file import HEAD, text_kind
from rita_demo.records.errors import DataError, DemoError, join_names
from rita_demo.records.measurement import OwnFeatures

MAX_ROWS, MAX_WIDTH, FEWEST_ROWS = 5_000, 4_096, 8
MAX_CLASSES = 1_000
MAX_FILE_BYTES = 176 << 20  # MAX_ROWS of MAX_WIDTH doubles, and a little
MAX_TEXT_BYTES = 8 << 20  # of the names, or of labels that are names
MAX_HEADER_BYTES = 4 << 20  # of .safetensors
ARRAYS = ("features", "labels", "names")
#: types of .safetensors -> of numpy; bfloat16 has none
TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "|i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}
TYPES |= {"U8": "|u1", "U16": "<u2", "U32": "<u4", "U64": "<u8", "BOOL": "|b1"}
RECIPE = "Save it with numpy.savez('mine.npz', features=F, labels=y, names=[...]): F (n, d) floats, y (n,) numbers of the names."
NO_CLASS = "features"  # the name of the only class of a file without labels


def read_features(path: Path) -> OwnFeatures:
    """The features in a file, rows scaled to length 1, with their classes; one class where it has no ``labels``.

    ``features`` (n, d) of 16, 32 or 64 bits, n from 8 to 5000, d from 2 to 4096. ``labels`` (n,): whole numbers from 0 on, or
    in .npz the names themselves. ``names`` (K,): the class of every number; .safetensors has no text, so there they are a JSON
    list under ``names`` in its metadata.

    Raises:
        DataError: the file cannot be read, is of another kind or too large, or an array is missing or of another type or shape.
    """
    file = path.name
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise DataError(f"{file} is larger than {MAX_FILE_BYTES >> 20} MB.", "Save fewer rows, or as float32.")
        with path.open("rb") as opened:
            head = opened.read(HEAD)
        arrays = _read_npz(path) if head.startswith(b"PK") else _read_safetensors(path, head)
        return _own_features(file, arrays)
    except DemoError:
        raise
    except OSError as error:
        raise DataError(
            f"{file} cannot be read: {(error.strerror or 'no reason given').lower()}.", "Check the path."
        ) from error
    except Exception as error:  # the readers raise errors of many kinds
        raise DataError(
            f"{file} cannot be read as features: it is damaged, or another kind of file.", RECIPE
        ) from error


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(path) as file:
        members = {one.filename.removesuffix(".npy"): one for one in file.infolist()}
        _require_features(path.name, members)
        return {name: _read_member(path.name, file, members[name]) for name in ARRAYS if name in members}


def _read_member(file: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """An array of an .npz: exactly the bytes that its header declares."""
    with archive.open(member) as opened:
        # a later version may have a header of gigabytes; arrays of numbers have none
        if npy.read_magic(opened) != (1, 0):
            raise ValueError("a later version of the format")
        shape, by_column, dtype = npy.read_array_header_1_0(opened)
        size = _checked_size(file, member.filename.removesuffix(".npy"), shape, dtype)
        if member.file_size != opened.tell() + size:
            raise ValueError("it declares another size than it has")
        flat = np.frombuffer(opened.read(size), dtype)
    return flat.reshape(shape, order="F" if by_column else "C")


def _read_safetensors(path: Path, head: bytes) -> dict[str, np.ndarray]:
    length = int.from_bytes(head[:8], "little")
    if head[8:9] != b"{" or length > MAX_HEADER_BYTES:
        kind = "an empty file" if not head else "an array of numpy, .npy" if head[:6] == npy.MAGIC_PREFIX else None
        kind = kind or text_kind(head) or "a file of another kind"
        raise DataError(f"Expected features as .npz or .safetensors; {path.name} is {kind}.", RECIPE)
    with safe_open(path, framework="numpy") as file:  # it compares the declared sizes with the file's
        _require_features(path.name, file.keys())
        found = {}
        for name in sorted({*ARRAYS} & set(file.keys())):
            part = file.get_slice(name)
            if part.get_dtype() not in TYPES:
                raise DataError(
                    f"{name} in {path.name} is of the type {part.get_dtype()}, which numpy does not have.",
                    "Save it as float32.",
                )
            _checked_size(path.name, name, tuple(part.get_shape()), np.dtype(TYPES[part.get_dtype()]))
            found[name] = file.get_tensor(name)
        listed = json.loads((file.metadata() or {}).get("names", "null"))
    if listed is not None:
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise DataError(f"The names in the metadata of {path.name} are no JSON list of texts.", RECIPE)
        found["names"] = np.array(listed, str)
    return found


def _require_features(file: str, found: Iterable[str]) -> None:
    if "features" not in (there := list(found)):
        listed = join_names([name[:40] for name in there], 5) or "none"
        raise DataError(f"Expected an array called features; {file} has: {listed}.", RECIPE)


def _checked_size(file: str, name: str, shape: tuple[int, ...], dtype: np.dtype) -> int:
    """The bytes of an array. Raises DataError: another type or shape than it must have, or too many of them."""
    came = f"{name} in {file} is {dtype} of the shape {shape}"
    if dtype.hasobject:
        raise DataError(
            f"{name} in {file} holds Python objects, a pickle, and is not opened.", "Save it as numbers or as text."
        )
    kinds, wanted = {"features": ("f", "floats"), "labels": ("iuU", "whole numbers or texts")}.get(name, ("U", "texts"))
    if dtype.kind not in kinds or (name == "features" and dtype.itemsize > 8):
        raise DataError(f"Expected {name} as {wanted}; {came}.", RECIPE)
    if name == "features":
        n, d = shape if len(shape) == 2 else (0, 0)
        if not (FEWEST_ROWS <= n <= MAX_ROWS and 2 <= d <= MAX_WIDTH):
            sizes = f"n from {FEWEST_ROWS} to {MAX_ROWS} rows and d from 2 to {MAX_WIDTH}"
            raise DataError(f"Expected features of the shape (n, d), {sizes}; {came}.", "Save some of the rows.")
    elif len(shape) != 1 or shape[0] > (MAX_ROWS if name == "labels" else MAX_CLASSES):
        most = MAX_ROWS if name == "labels" else MAX_CLASSES
        raise DataError(f"Expected {name} of the shape (n,), n at most {most}; {came}.", RECIPE)
    size = math.prod(shape) * dtype.itemsize
    if name != "features" and size > MAX_TEXT_BYTES:
        raise DataError(f"{came}: {size >> 20} MB of text.", "Shorten the names.")
    return size


def _own_features(file: str, arrays: dict[str, np.ndarray]) -> OwnFeatures:
    features = arrays["features"].astype(np.float32)
    length = np.linalg.norm(features.astype(np.float64), axis=1)
    if bad := int((~np.isfinite(length) | (length == 0)).sum()):
        raise DataError(
            f"{bad} of the {len(features)} rows of features in {file} hold NaN or infinity, or are all 0.",
            "Leave these rows out.",
        )
    label, names = _classes(file, len(features), arrays.get("labels"), arrays.get("names"))
    classes = f"{len(names)} classes" if "labels" in arrays else "no labels"
    title = f"{len(features)} features of {features.shape[1]} numbers from {file[:80]}, {classes}"
    return OwnFeatures(title, names, label, (features / length[:, None]).astype(np.float32))


def _classes(
    file: str, count: int, labels: np.ndarray | None, names: np.ndarray | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class index of every row, and the names."""
    if labels is None:
        return np.zeros(count, int), (NO_CLASS,)
    if len(labels) != count:
        raise DataError(f"Expected a label for each of the {count} features; {file} has {len(labels)} labels.", RECIPE)
    if labels.dtype.kind == "U":
        found, label = np.unique(labels, return_inverse=True)
        if len(found) > MAX_CLASSES:
            raise DataError(f"{file} has {len(found)} different labels; at most {MAX_CLASSES}.", RECIPE)
        return label, _checked_names(file, [str(name) for name in found])
    low, high = int(labels.min()), int(labels.max())
    known = MAX_CLASSES if names is None else len(names)
    if low < 0 or high >= known:
        raise DataError(f"Labels are whole numbers from 0 to {known - 1}; {file} has {low} to {high}.", RECIPE)
    listed = [f"class {k}" for k in range(high + 1)] if names is None else [str(name) for name in names]
    return labels.astype(int), _checked_names(file, listed)


def _checked_names(file: str, names: list[str]) -> tuple[str, ...]:
    if len(names) < 2:
        raise DataError(
            f"{file} has labels of {len(names)} class; 2 are needed.", "Leave the labels out to draw one class."
        )
    if len(checked := check_names(names)) != len(names):
        raise DataError(
            f"{len(names) - len(checked)} of the {len(names)} class names in {file} are empty or there twice.", RECIPE
        )
    return checked
