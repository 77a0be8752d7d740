"""Weights from a file into a model, without ever running code that the file may contain."""

from __future__ import annotations

import pickle
from pathlib import Path

from open_clip.factory import load_checkpoint, load_state_dict
from torch import Tensor, nn

from rita_demo.errors import BackboneError

SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
SHOWN = 3  # keys named in a message


def is_checkpoint_name(text: str) -> bool:
    """Whether a text is meant as a file rather than a pretrained tag."""
    return "/" in text or "\\" in text or text.lower().endswith((*SUFFIXES, ".npz", ".npy"))


def adopt(model: nn.Module, path: Path, name: str) -> None:
    """Load a checkpoint into ``model``; every tensor must find its place and every place its tensor.

    Reads safetensors, or PyTorch files with ``weights_only=True``. ``name`` stands for the
    architecture in messages; the file is named without its folder.

    Raises:
        BackboneError: not a file, not weights, or weights of another architecture.
    """
    file = path.name
    if not path.is_file():
        raise BackboneError(f"There is no file {file}.", "Check the path of the checkpoint.")
    if path.suffix.lower() not in SUFFIXES:
        raise BackboneError(f"{file} is not a checkpoint.", f"Expected {', '.join(SUFFIXES)}.")
    try:
        keys = load_checkpoint(model, str(path), strict=False, weights_only=True)
    except (
        Exception
    ) as error:  # the loaders raise a dozen kinds; every one means "not these weights"
        raise _explained(error, model, path, name) from error
    if keys.missing_keys or keys.unexpected_keys:
        raise _other_architecture(
            file, name, missing=keys.missing_keys, unexpected=keys.unexpected_keys
        )


def _explained(error: Exception, model: nn.Module, path: Path, name: str) -> BackboneError:
    """A sentence for what went wrong while reading or placing weights."""
    text, file = str(error), path.name
    unsafe = isinstance(error, pickle.UnpicklingError) and "eights only" in text
    if unsafe or "TorchScript" in text:
        return BackboneError(
            f"{file} is not plain weights: it holds a program or objects, and is not opened.",
            "Save its state_dict as .safetensors first.",
        )
    if differences := _differences(model, path):
        return _other_architecture(file, name, **differences)
    return BackboneError(
        f"{file} cannot be read as weights of {name}.", "It may be damaged or another kind of file."
    )


def _differences(model: nn.Module, path: Path) -> dict[str, list[str]]:
    """Keys that the model misses, does not know, or has in another size; {} if there are no tensors."""
    try:
        found = load_state_dict(str(path), weights_only=True)
    except Exception:  # the first attempt's error is the one to report
        return {}
    shapes = {key: value.shape for key, value in found.items() if isinstance(value, Tensor)}
    if not shapes:
        return {}
    wanted = {key: value.shape for key, value in model.state_dict().items()}
    return {
        "missing": [key for key in wanted if key not in shapes],
        "unexpected": [key for key in shapes if key not in wanted],
        "other_size": [key for key in wanted if key in shapes and wanted[key] != shapes[key]],
    }


def _other_architecture(file: str, name: str, **keys: list[str]) -> BackboneError:
    found = []
    for what, wrong in keys.items():
        if wrong:
            more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
            found.append(f"{what.replace('_', ' ')}: {', '.join(wrong[:SHOWN])}{more}")
    return BackboneError(
        f"{file} holds weights of another architecture than {name} ({'; '.join(found)}).",
        "Write the architecture it was trained with before the colon.",
    )
