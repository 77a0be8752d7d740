"""Read a file of weights without running code that it may contain; a file of another kind is called by its name."""

import re
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from rita_demo.process.text_file import HEAD, text_kind
from rita_demo.records.errors import BackboneError

SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar")  # .tar: .pth.tar, as many training scripts name it
#: numpy's numbers and arrays, which training scripts save beside weights (the best accuracy), with the names that numpy 1
#: and numpy 2 write. They hold numbers; what they are made of is read by torch, which runs no code.
_NUMPY: list[Any] = [np.ndarray, np.dtype, *(type(np.dtype(code)) for code in "?bBhHiIlLqQefdgFDGSUmM")]
_NUMPY += [
    (made.__reduce__()[0], f"numpy.{core}.multiarray.{name}")
    for made, name in ((np.float64(0), "scalar"), (np.zeros(0), "_reconstruct"))
    for core in ("core", "_core")
]
_LOADING = threading.Lock()  # the list of safe names belongs to the process
_ARCHIVES = {b"\x1f\x8b": "gzip", b"7z\xbc\xaf": "7z", b"Rar!": "RAR"}
_OBJECT = re.compile(r"GLOBAL ([\w.]+)|but got <?(?:class )?'?([\w.]+)|unrecognized function <?\w* ?'?([\w.]+)")
_UNPACK = "Unpack it and name the file of weights in it."
_HINTS = {
    "a web page": "The download got a page of the server in its place: download the file itself.",
    "a Git LFS pointer": "Fetch the file itself with git lfs pull.",
}


def is_checkpoint_name(text: str) -> bool:
    """Whether a text names a file rather than a pretrained tag."""
    return "/" in text or "\\" in text or text.lower().endswith((*SUFFIXES, ".npz", ".npy"))


def check_checkpoint_path(path: Path) -> None:
    """Raise :class:`BackboneError` unless the path is a file with the suffix of a checkpoint."""
    if path.is_dir():
        raise BackboneError(f"Expected a file of weights, but {path.name} is a folder.", "Name the file in it.")
    if not path.is_file():
        raise BackboneError(f"There is no file {path.name}.", "Check the path of the checkpoint.")
    if path.suffix.lower() not in SUFFIXES:
        raise BackboneError(f"{path.name} is not a checkpoint.", f"Expected {', '.join(SUFFIXES)}.")


def read_checkpoint(path: Path) -> Any:
    """What a file of safetensors or of ``torch.save`` holds, its tensors on the CPU. Its content decides how it is read,
    not its suffix. Raises BackboneError: it holds objects or a program, is another kind of file, or is damaged."""
    check_checkpoint_path(path)
    try:
        with path.open("rb") as opened:
            head = opened.read(HEAD)
            safetensors = head[6:9] == b"\0\0{"  # the length of its header, which is JSON
            if not safetensors and (kind := _other_kind(path, head)):
                raise _unreadable(path, f"it is {kind[0]}", kind[1])
            if safetensors:
                return load_file(path)
            opened.seek(0)
            with _LOADING, torch.serialization.safe_globals(_NUMPY):
                return torch.load(opened, map_location="cpu", weights_only=True)
    except BackboneError:
        raise
    except Exception as error:  # the loaders raise errors of many kinds
        raise _read_error(error, path) from error


def _unreadable(path: Path, why: str, hint: str = "Download or save it again.") -> BackboneError:
    return BackboneError(f"{path.name} cannot be read as weights: {why}.", hint)


def _other_kind(path: Path, head: bytes) -> tuple[str, str] | None:
    """What a file is that holds no weights that can be read here, and what to do; None for weights."""
    for magic, name in _ARCHIVES.items():
        if head.startswith(magic):
            return f"a {name} archive", _UNPACK
    if head[257:262] == b"ustar":
        return "a tar archive", _UNPACK
    if head.startswith(b"PK\x03\x04"):
        if not zipfile.is_zipfile(path):  # its list of members stands at its end
            return "cut off, its end is missing", "Download or save it again."
        with zipfile.ZipFile(path) as file:
            members = {name.rpartition("/")[2] for name in file.namelist()}
        if "constants.pkl" in members:  # only TorchScript's
            plain = f"{path.stem}-plain.pt"
            return (
                "a TorchScript archive, a program with weights, as OpenAI's own files are, and is not opened",
                f"If you trust it, run these two lines of Python in its folder and name {plain}:\n"
                "  import torch\n"
                f"  torch.save(torch.jit.load({path.name!r}, map_location='cpu').state_dict(), {plain!r})",
            )
        return None if "data.pkl" in members else ("a zip archive without weights of torch.save", _UNPACK)
    if text := "an empty file" if not head else text_kind(head):
        hint = next((hint for kind, hint in _HINTS.items() if text.startswith(kind)), "Download or save it again.")
        return text, hint
    return None


def _read_error(error: Exception, path: Path) -> BackboneError:
    text = str(error)
    if match := _OBJECT.search(text):
        name = next(filter(None, match.groups()))
        return BackboneError(
            f"{path.name} is not plain weights: it holds a program or objects ({name[:60]}), and is not opened.",
            "Save its state_dict alone, best as .safetensors.",
        )
    if isinstance(error, MemoryError):
        return _unreadable(path, "the memory does not suffice", "")
    if isinstance(error, SafetensorError) and "ncomplete" in text:
        return _unreadable(path, "it is cut off")
    hint = "Download it again, or save it again with torch.save, without pickle_protocol."
    return _unreadable(path, "it is damaged, or another kind of file", hint)
