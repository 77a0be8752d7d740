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
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x89HDF", "an HDF5 file, as Keras writes it"),
    (b"\x93NUMPY", "an array of numpy"),
    (b"GGUF", "a GGUF file"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
)
_UNPACK = "Unpack it and name the file of weights in it."
_HINTS = {
    "a web page": "The download got a page of the server in its place: download the file itself.",
    "a Git LFS pointer": "Fetch the file itself with git lfs pull.",
    "plain text": "It may be the message of a server: download the file again.",
    "a JSON text": "It may be the message of a server: download the file again.",
    "an XML text": "It may be the message of a server: download the file again.",
    "an empty file": "Download or save it again.",
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
    file = path.name
    try:
        with path.open("rb") as opened:
            head = opened.read(HEAD)
            if kind := _other_kind(path, head):
                name, _, hint = kind.partition(": ")
                raise BackboneError(f"{file} cannot be read as weights: it is {name}.", hint)
            if _is_safetensors(head):
                return load_file(path)
            opened.seek(0)
            with _LOADING, torch.serialization.safe_globals(_NUMPY):
                return torch.load(opened, map_location="cpu", weights_only=True)
    except BackboneError:
        raise
    except Exception as error:  # the loaders raise errors of many kinds
        raise _read_error(error, file) from error


def _other_kind(path: Path, head: bytes) -> str:
    """What a file is that holds no weights that can be read here, and after a colon what to do; "" for weights."""
    if not head:
        return f"an empty file: {_HINTS['an empty file']}"
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return f"{name}: {_UNPACK if 'archive' in name else 'Name a file of torch.save or safetensors.'}"
    if head[257:262] == b"ustar":
        return f"a tar archive: {_UNPACK}"
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path)
    if _is_safetensors(head) or not (text := text_kind(head)):
        return ""
    return f"{text}: {next((hint for kind, hint in _HINTS.items() if text.startswith(kind)), '')}"


def _is_safetensors(head: bytes) -> bool:
    """Eight bytes with the length of the header, and the header, which is JSON."""
    return head[6:9] == b"\0\0{"


def _kind_of_zip(path: Path) -> str:
    if not zipfile.is_zipfile(path):  # its list of members stands at its end
        return "cut off, its end is missing: Download or save it again."
    with zipfile.ZipFile(path) as file:
        members = {name.rpartition("/")[2] for name in file.namelist()}
    if "constants.pkl" in members:  # only TorchScript's
        plain = f"{path.stem}-plain.pt"
        return (
            "a TorchScript archive, a program with weights, as OpenAI's own files are, and is not opened: "
            f"If you trust it, run these two lines of Python in its folder and name {plain}:\n"
            "  import torch\n"
            f"  torch.save(torch.jit.load({path.name!r}, map_location='cpu').state_dict(), {plain!r})"
        )
    if "data.pkl" not in members:
        return f"a zip archive without weights of torch.save: {_UNPACK}"
    return ""


def _read_error(error: Exception, file: str) -> BackboneError:
    said = str(error)
    if found := re.search(
        r"GLOBAL ([\w.]+)|but got <?(?:class )?'?([\w.]+)|unrecognized function <?\w* ?'?([\w.]+)", said
    ):
        name = next(filter(None, found.groups()))
        return BackboneError(
            f"{file} is not plain weights: it holds a program or objects ({name[:60]}), and is not opened.",
            "Save its state_dict alone, best as .safetensors.",
        )
    if "Unsupported operand" in said:
        return BackboneError(
            f"{file} cannot be read as weights: it is damaged, or pickled in another way than torch.save does.",
            "Save it again with torch.save, without pickle_protocol.",
        )
    if isinstance(error, MemoryError):
        return BackboneError(f"{file} cannot be read as weights: the memory does not suffice.")
    if isinstance(error, SafetensorError) and "ncomplete" in said:
        return BackboneError(f"{file} cannot be read as weights: it is cut off.", "Download or save it again.")
    return BackboneError(
        f"{file} cannot be read as weights: it is damaged, or another kind of file.", "Download or save it again."
    )
