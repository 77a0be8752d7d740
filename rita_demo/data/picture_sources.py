"""What may be passed as a picture: a file, a PIL picture, an array, a tensor; as what the decoder takes."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from rita_demo.data.decode import alpha_to_uint8, to_uint8
from rita_demo.records.errors import PictureError

LARGEST_FILE = 100_000_000  # bytes
FORMAT_HINT = "Use a PNG or JPEG photograph."
Source = Any  # what read_source takes: tensors of several libraries have no common type
_CHANNELS = (1, 2, 3, 4)  # grey, grey and opacity, colours, colours and opacity


def read_source(source: Source) -> bytes | Image.Image | np.ndarray:
    """A path, an open file, a file's bytes, a PIL picture, an array, a tensor of torch on any device or what else numpy
    reads; afterwards it can be decoded more than once. Arrays are (H, W) or (H, W, C). Raises PictureError: something
    else, a file that cannot be read, or an array of another shape."""
    if isinstance(source, Image.Image):
        return source
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if isinstance(source, str | os.PathLike):
        return file_bytes(os.fspath(source))
    if hasattr(source, "read"):
        return _read_open_file(source)
    if hasattr(source, "__array__"):
        return _read_array(source)
    raise PictureError(
        f"Expected a path, an open file, its bytes, a PIL picture, an array or a tensor; got {type(source).__name__}.",
        "A list of numbers becomes an array with numpy.asarray.",
    )


def file_bytes(path: str | bytes | Path) -> bytes:
    """The bytes of a file. Error messages show its name without the folder, which may be the server's. Raises
    PictureError: it is no file, too large, or cannot be read."""
    path = Path(os.fsdecode(path))
    try:
        if path.is_dir():
            raise PictureError(f"Expected a picture, but {path.name!r} is a folder.", FORMAT_HINT)
        if path.is_symlink() and not path.exists():
            raise PictureError(f"The link {path.name!r} leads nowhere.", "Put the file there, or remove the link.")
        if not path.exists():
            raise PictureError(f"There is no file {path.name!r}.", "Check the name and the folder.")
        if not path.is_file():
            raise PictureError(f"Expected a picture, but {path.name!r} is not a regular file.", FORMAT_HINT)
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise _too_large(f"{path.name!r} has {size // 10**6} MB")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # no permission, or an invalid name
        raise PictureError(f"The file {path.name[:100]!r} cannot be read.", FORMAT_HINT) from error


def _too_large(got: str) -> PictureError:
    message = f"Expected a file of at most {LARGEST_FILE // 10**6} MB, but {got}."
    return PictureError(message, "Save it smaller and try again.")


def _read_open_file(file: Any) -> bytes:
    """All of an open file, from its beginning where it can go back."""
    hint = "Open it with open(path, 'rb')."
    if isinstance(file, io.TextIOBase):
        raise PictureError("Expected a file that is open for reading bytes, but it is open as text.", hint)
    try:
        if file.seekable() if hasattr(file, "seekable") else hasattr(file, "seek"):
            file.seek(0)
        data = file.read(LARGEST_FILE + 1)
    except Exception as error:  # a closed file, and whatever the streams of other libraries raise
        raise PictureError("The open file cannot be read: it is closed, or not open for reading.", hint) from error
    if not isinstance(data, bytes | bytearray):
        raise PictureError(f"Expected a file that gives bytes; it gave {type(data).__name__}.", hint)
    if len(data) > LARGEST_FILE:
        raise _too_large("it is larger")
    return bytes(data)


def _read_array(source: Any) -> np.ndarray:
    """One picture, of a batch of one as well, with its channels behind rows and columns."""
    try:
        if hasattr(source, "detach"):  # of torch, which this module does not load
            source = source.detach().cpu()
        try:
            array = np.asarray(source)
        except TypeError:  # numpy has no bfloat16
            array = np.asarray(source.float())
    except Exception as error:  # of a library that is not known here
        message = f"The numbers of the {type(source).__name__} cannot be read."
        raise PictureError(message, "Pass an array of numpy.") from error
    x = array[0] if array.ndim == 4 and len(array) == 1 else array
    if x.ndim == 3 and x.shape[2] not in _CHANNELS and x.shape[0] in (1, 3, 4):
        x = np.moveaxis(x, 0, 2)
    if x.ndim < 2 or x.ndim > 3 or x.shape[2:] not in ((), *((n,) for n in _CHANNELS)) or 0 in x.shape:
        shape = " x ".join(map(str, array.shape)) or "a single number"
        raise PictureError(
            f"Expected one picture as an array of shape (H, W), (H, W, 3), (H, W, 4) or (3, H, W), got {shape}.",
            "Pass one picture, with its colours last.",
        )
    return x


def array_picture(array: np.ndarray, notes: list[str]) -> Image.Image:
    """An array (H, W) or (H, W, C) of uint8, uint16, bool or floats in [0, 1] as a PIL picture. Appends a sentence on
    the range to ``notes``. Raises PictureError: other numbers."""
    array = array[:, :, 0] if array.shape[2:] == (1,) else array
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * 255
    elif array.dtype == np.uint16:
        colours = {2: 1, 4: 3}.get(array.shape[2], 3) if array.ndim == 3 else 0
        levels = to_uint8(array[:, :, :colours] if colours else array, notes)
        extra = [alpha_to_uint8(array[:, :, colours])] if colours and array.shape[2] > colours else []
        array = np.dstack([levels, *extra]) if extra else levels
    elif array.dtype.kind == "f":
        if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
            hint = "Divide by the largest possible value, take a normalisation back, or pass uint8."
            raise PictureError("Expected numbers from 0 to 1 in an array of floats, got others.", hint)
        exact = array.astype(np.float32) if array.dtype == np.float16 else array
        array = np.rint(exact * 255.0).astype(np.uint8)
        notes.append("Brightness was scaled to 8 bit from 0-1.")
    elif array.dtype != np.uint8:
        message = f"Expected an array of uint8, uint16 or floats from 0 to 1, got {array.dtype}."
        raise PictureError(message, "Convert it to uint8.")
    return Image.fromarray(np.ascontiguousarray(array))
