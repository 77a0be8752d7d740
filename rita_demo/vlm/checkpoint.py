"""Weights from a file into a model, without ever running code that the file may contain."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch
from open_clip.factory import load_checkpoint, load_state_dict
from safetensors.torch import load_file
from torch import Tensor, nn

from rita_demo.errors import BackboneError

SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
SHOWN = 3  # keys named in a message
VISION = "vision_encoder_state_dict"  # what TeCoA and PMG-AFT save the vision tower under
WRAPPERS = (
    "module.",
    "model.",
    "visual.",
)  # what a tower's names begin with once it was part of more


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
    expect_checkpoint(path)
    try:
        keys = load_checkpoint(model, str(path), strict=False, weights_only=True)
    except (
        Exception
    ) as error:  # the loaders raise a dozen kinds; every one means "not these weights"
        raise _explained(error, model, path, name) from error
    if keys.missing_keys or keys.unexpected_keys:
        raise _only_vision(path, name) or _other_architecture(
            file, name, missing=keys.missing_keys, unexpected=keys.unexpected_keys
        )


def adopt_vision(model: Any, path: Path, name: str, named: frozenset[str] = frozenset()) -> None:
    """Load a checkpoint of a vision tower alone into ``model.visual``; the rest of the model stays.

    The file holds the tower's state dict under ``vision_encoder_state_dict``, beside anything else, or (FARE)
    nothing but that state dict; names may begin with ``module.``, ``model.`` or ``visual.``. It is read as
    :func:`adopt` reads. ``named``: keys (without such a beginning) that may be missing, where the tower keeps
    what ``model`` had, or left over, and are not used. ``name`` stands for the model in messages.

    Raises:
        BackboneError: not a file, not weights, no vision tower or another one; a named key that is neither
            missing nor left over.
    """
    file = path.name
    expect_checkpoint(path)
    try:
        found = _vision_weights(_read(path))
    except Exception as error:
        raise _unsafe(error, file) or _no_vision(file) from error
    if any(key.startswith("text.") or key == "token_embedding.weight" for key in found):
        raise BackboneError(
            f"{file} holds a whole model, not a vision tower alone.",
            f"Name it by itself: {name.partition(':')[0]}:{file}.",
        )
    wanted = model.visual.state_dict()
    keys = {
        "missing": [key for key in wanted if key not in found and key not in named],
        "unexpected": [key for key in found if key not in wanted and key not in named],
        "other_size": [k for k in wanted if k in found and wanted[k].shape != found[k].shape],
    }
    if any(keys.values()):
        raise BackboneError(
            f"{file} does not hold the vision tower of {name} ({_listed(keys)}).",
            "Name the model that it was trained from; missing and unexpected keys that are meant to be so are "
            "named behind the file: +except=KEY,KEY.",
        )
    if idle := sorted(key for key in named if (key in wanted) == (key in found)):
        raise BackboneError(
            f"{', '.join(idle)[:200]} is neither missing nor left over in {file}.",
            "Behind +except= stand only keys that are.",
        )
    try:
        model.visual.load_state_dict({k: v for k, v in found.items() if k in wanted}, strict=False)
    except Exception as error:  # the right shapes, and still nothing that can be copied
        raise _no_vision(file) from error


def _no_vision(file: str) -> BackboneError:
    return BackboneError(
        f"{file} cannot be read as the weights of a vision tower.",
        "It may be damaged or another kind of file.",
    )


def expect_checkpoint(path: Path) -> None:
    """Raises :class:`BackboneError` where a path leads to no file, or its suffix is of something else."""
    if not path.is_file():
        raise BackboneError(f"There is no file {path.name}.", "Check the path of the checkpoint.")
    if path.suffix.lower() not in SUFFIXES:
        raise BackboneError(f"{path.name} is not a checkpoint.", f"Expected {', '.join(SUFFIXES)}.")


def _read(path: Path) -> Any:
    """What a file holds as it stands there; open_clip's reader would take ``state_dict`` and drop the rest,
    and in TeCoA's files that is another network's."""
    if path.suffix.lower() == ".safetensors":
        return load_file(path)
    return torch.load(path, map_location="cpu", weights_only=True)


def _vision_weights(read: Any) -> dict[str, Tensor]:
    """The state dict of a vision tower in what a file holds, names as the tower itself has them.

    Raises:
        ValueError, TypeError: there are no weights, or two would get the same name.
    """
    weights = read.get(VISION, read.get("state_dict", read)) if isinstance(read, dict) else None
    if not isinstance(weights, dict) or not weights:
        raise ValueError("no state dict")
    bare: dict[str, Tensor] = {}
    # The names of a whole model keep their "visual.", since its text tower has some of the same names.
    whole = any("token_embedding." in key for key in weights)
    for key, value in weights.items():
        while start := next((w for w in WRAPPERS if key.startswith(w)), ""):
            if whole and start == "visual.":
                break
            key = key.removeprefix(start)
        if key in bare or not isinstance(value, Tensor):
            raise ValueError(f"not one tensor called {key}")
        bare[key] = value
    return bare


def _unsafe(error: Exception, file: str) -> BackboneError | None:
    """A sentence where a file would have run a program; None for every other error."""
    text = str(error)
    unsafe = isinstance(error, pickle.UnpicklingError) and "eights only" in text
    if not unsafe and "TorchScript" not in text:
        return None
    return BackboneError(
        f"{file} is not plain weights: it holds a program or objects, and is not opened.",
        "Save its state_dict as .safetensors first.",
    )


def _only_vision(path: Path, name: str) -> BackboneError | None:
    """A sentence where a file holds a vision tower under its usual key, and no whole model; else None."""
    try:
        read = _read(path)
    except Exception:  # the first attempt's error is the one to report
        return None
    if not isinstance(read, dict) or VISION not in read:
        return None
    return BackboneError(
        f"{path.name} holds a vision tower alone, without the text tower that belongs to it.",
        f"Name the model that it was trained from before it: {name}:openai+{path.name}.",
    )


def _explained(error: Exception, model: nn.Module, path: Path, name: str) -> BackboneError:
    """A sentence for what went wrong while reading or placing weights."""
    file = path.name
    if known := _unsafe(error, file) or _only_vision(path, name):
        return known
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
    return BackboneError(
        f"{file} holds weights of another architecture than {name} ({_listed(keys)}).",
        "Write the architecture it was trained with before the colon.",
    )


def _listed(keys: dict[str, list[str]]) -> str:
    """The first few keys of every kind that has any."""
    found = []
    for what, wrong in keys.items():
        if wrong:
            more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
            found.append(f"{what.replace('_', ' ')}: {', '.join(wrong[:SHOWN])}{more}")
    return "; ".join(found)
