"""Load weights from a file into a model, without running code that the file may contain."""

import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from open_clip.factory import load_checkpoint, load_state_dict
from safetensors.torch import load_file
from torch import Tensor, nn

from rita_demo.records.errors import BackboneError

SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
MAX_KEYS_SHOWN = 3  # in an error message
VISION_KEY = "vision_encoder_state_dict"  # key of the vision tower in files of TeCoA and PMG-AFT
WRAPPER_PREFIXES = ("module.", "model.", "visual.")  # prefixes of a tower's keys in a file of a larger module


def is_checkpoint_name(text: str) -> bool:
    """Whether a text names a file rather than a pretrained tag."""
    return "/" in text or "\\" in text or text.lower().endswith((*SUFFIXES, ".npz", ".npy"))


def load_weights(model: nn.Module, path: Path, name: str) -> None:
    """Load a checkpoint into ``model``; the file and the model must have the same keys and shapes. Reads safetensors,
    or PyTorch files with ``weights_only=True``. ``name``: the architecture's name in error messages, which name the
    file without its folder. Raises BackboneError: not a file, not weights, or weights of another architecture."""
    check_checkpoint_path(path)
    file, cause, wrong = path.name, None, {}
    try:
        missing, unexpected = load_checkpoint(model, str(path), strict=False, weights_only=True)
        wrong = {"missing": missing, "unexpected": unexpected}
        if not missing and not unexpected:
            return
    except Exception as error:  # the loaders raise errors of many kinds
        if unsafe := _unsafe_file_error(error, file):
            raise unsafe from error
        cause = error
        with suppress(Exception):  # the error of the first attempt is reported
            found = load_state_dict(str(path), weights_only=True).items()
            if tensors := {key: value for key, value in found if isinstance(value, Tensor)}:
                wrong = _compare_keys(model.state_dict(), tensors)
    problem = f"{file} cannot be read as weights of {name}.", "It may be damaged or another kind of file."
    if any(wrong.values()):
        problem = (
            f"{file} holds weights of another architecture than {name} ({_list_keys(wrong)}).",
            "Write the architecture it was trained with before the colon.",
        )
    with suppress(Exception):
        if VISION_KEY in _read(path):
            problem = (
                f"{file} holds a vision tower alone, without the text tower that belongs to it.",
                f"Name the model that it was trained from before it: {name}:openai+{file}.",
            )
    raise BackboneError(*problem) from cause


def load_vision_weights(model: Any, path: Path, name: str, allowed_keys: frozenset[str] = frozenset()) -> None:
    """Load a checkpoint of a vision tower into ``model.visual``; the rest of the model stays.

    The file holds the tower's state dict under ``vision_encoder_state_dict`` or ``state_dict``, or (FARE) is that state
    dict; keys may begin with ``module.``, ``model.`` or ``visual.``. ``name``: the model's name in error messages.
    ``allowed_keys``: keys (without such a prefix) that may be missing, where the tower keeps the weights of ``model``,
    or left over, and are then not used. Raises BackboneError: not a file, not weights, no vision tower or another one;
    or an allowed key that is neither missing nor left over."""
    file = path.name
    unreadable = (
        f"{file} cannot be read as the weights of a vision tower.",
        "It may be damaged or another kind of file.",
    )
    check_checkpoint_path(path)
    try:
        found = _vision_weights(_read(path))
    except Exception as error:
        raise _unsafe_file_error(error, file) or BackboneError(*unreadable) from error
    if any(key.startswith("text.") or key == "token_embedding.weight" for key in found):
        raise BackboneError(
            f"{file} holds a whole model, not a vision tower alone.",
            f"Name it by itself: {name.partition(':')[0]}:{file}.",
        )
    wanted = model.visual.state_dict()
    keys = _compare_keys(wanted, found, allowed_keys)
    if any(keys.values()):
        raise BackboneError(
            f"{file} does not hold the vision tower of {name} ({_list_keys(keys)}).",
            "Name the model that it was trained from. Keys that may be missing or left over are named after the "
            "file: +except=KEY,KEY.",
        )
    if idle := sorted(key for key in allowed_keys if (key in wanted) == (key in found)):
        raise BackboneError(
            f"{', '.join(idle)[:200]} is neither missing nor left over in {file}.",
            "Name only such keys after +except=.",
        )
    try:
        model.visual.load_state_dict({k: v for k, v in found.items() if k in wanted}, strict=False)
    except Exception as error:  # the right shapes, and still values that cannot be copied
        raise BackboneError(*unreadable) from error


def check_checkpoint_path(path: Path) -> None:
    """Raise :class:`BackboneError` unless the path is a file with the suffix of a checkpoint."""
    if not path.is_file():
        raise BackboneError(f"There is no file {path.name}.", "Check the path of the checkpoint.")
    if path.suffix.lower() not in SUFFIXES:
        raise BackboneError(f"{path.name} is not a checkpoint.", f"Expected {', '.join(SUFFIXES)}.")


def _read(path: Path) -> Any:
    """All of a file. (open_clip's reader takes ``state_dict`` alone, which in TeCoA's files is another network's.)"""
    if path.suffix.lower() == ".safetensors":
        return load_file(path)
    return torch.load(path, map_location="cpu", weights_only=True)


def _vision_weights(content: Any) -> dict[str, Tensor]:
    """The state dict of the vision tower in the content of a file, with the tower's own keys. Raises ValueError,
    TypeError: there are no weights, or two get the same key."""
    weights = content.get(VISION_KEY, content.get("state_dict", content)) if isinstance(content, dict) else None
    if not isinstance(weights, dict) or not weights:
        raise ValueError("no state dict")
    bare: dict[str, Tensor] = {}
    # A whole model keeps the prefix "visual.": its text tower has some of the same keys.
    whole = any("token_embedding." in key for key in weights)
    for key, value in weights.items():
        while start := next((w for w in WRAPPER_PREFIXES if key.startswith(w)), ""):
            if whole and start == "visual.":
                break
            key = key.removeprefix(start)
        if key in bare or not isinstance(value, Tensor):
            raise ValueError(f"not one tensor called {key}")
        bare[key] = value
    return bare


def _unsafe_file_error(error: Exception, file: str) -> BackboneError | None:
    """The error for a file that holds a program; None for every other error."""
    text = str(error)
    unsafe = isinstance(error, pickle.UnpicklingError) and "eights only" in text
    if not unsafe and "TorchScript" not in text:
        return None
    return BackboneError(
        f"{file} is not plain weights: it holds a program or objects, and is not opened.",
        "Save its state_dict as .safetensors first.",
    )


def _compare_keys(
    wanted: dict[str, Tensor], found: dict[str, Tensor], allowed: frozenset[str] = frozenset()
) -> dict[str, list[str]]:
    """Keys of ``found`` that are missing, unexpected or of another size; ``allowed`` may be missing or unexpected."""
    return {
        "missing": [key for key in wanted if key not in found and key not in allowed],
        "unexpected": [key for key in found if key not in wanted and key not in allowed],
        "other_size": [key for key in wanted if key in found and wanted[key].shape != found[key].shape],
    }


def _list_keys(keys: dict[str, list[str]]) -> str:
    """The first keys of every kind."""
    found = []
    for what, wrong in keys.items():
        if wrong:
            more = f" and {len(wrong) - MAX_KEYS_SHOWN} more" if len(wrong) > MAX_KEYS_SHOWN else ""
            found.append(f"{what.replace('_', ' ')}: {', '.join(wrong[:MAX_KEYS_SHOWN])}{more}")
    return "; ".join(found)
