"""Load a model by its name.

A model is named ``embedded``, ``embedded-robust`` (another vision tower in it), ``ARCHITECTURE:TAG`` (any pretrained pair of open_clip),
``ARCHITECTURE:path/to/checkpoint`` or ``local-dir:path/to/folder`` (a folder like assets/model). After TAG or
checkpoint, ``+path/to/vision_tower`` replaces the vision tower (TeCoA, PMG-AFT, FARE);
``+except=KEY,KEY`` after that names the keys that may be missing or left over in its file."""

import json
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import open_clip
import torch
from huggingface_hub.utils.logging import set_verbosity_error
from open_clip.pretrained import download_pretrained, get_pretrained_cfg
from torch import nn

from rita_demo.process.text_file import read_text
from rita_demo.process.torch_state import in_plain_torch
from rita_demo.records.errors import BackboneError, check_known, did_you_mean
from rita_demo.settings.models import BACKBONES, EMBEDDED, EMBEDDED_DIR, EMBEDDED_ROBUST, ROBUST_TOWER, WEIGHTS_FILE
from rita_demo.vlm.backbone import (
    PRECISIONS,
    Backbone,
    Preprocessing,
    failed_device_error,
    is_out_of_memory,
    out_of_memory_error,
    pick_device,
    pick_precision,
)
from rita_demo.vlm.catalogue import OpenClipRecord, cached_weights, hub_files
from rita_demo.vlm.checkpoint import load_vision_weights, load_weights
from rita_demo.vlm.checkpoint_file import SUFFIXES, check_checkpoint_path, is_checkpoint_name
from rita_demo.vlm.hub_download import failed, fetch
from rita_demo.vlm.text_tower import HINT, unsupported_reason

EXCEPT_OPTION = "+except="
QUICKGELU_SUFFIX = "-quickgelu"


About = dict[str, Any]  # keywords of Backbone that are known from the weights


@in_plain_torch
def load(spec: str, device: str | None = None, precision: str | None = None) -> Backbone:
    """Load a model by name, downloading its weights when it is a pretrained one not yet here. Raises BackboneError:
    unknown architecture or tag, a file that is missing or holds other weights, no connection, a text tower that is
    not supported, or a device whose memory is full or that does not answer.

    Args:
        spec: see the top of this file.
        device: "cuda", "mps" or "cpu"; None means :func:`pick_device`.
        precision: of encoding views, "float32", "float16" or "bfloat16"; None means :func:`pick_precision`."""
    try:
        device = device or pick_device()
        precision = precision or pick_precision(device)
        check_known("precision", precision, PRECISIONS, BackboneError)
        return _load(spec, {"device": device, "precision": precision})
    except (RuntimeError, MemoryError) as error:
        cause = error.with_traceback(None)  # its frames hold the weights that arrived
        if is_out_of_memory(error):
            raise out_of_memory_error() from cause
        if isinstance(error, torch.AcceleratorError):
            raise failed_device_error() from cause
        raise


def _load(spec: str, place: About) -> Backbone:
    if spec in (EMBEDDED, EMBEDDED_ROBUST):
        about = {"name": spec, "title": BACKBONES[spec].title, "note": BACKBONES[spec].note}
        return _from_folder(EMBEDDED_DIR, about | place, ROBUST_TOWER if spec == EMBEDDED_ROBUST else None)
    architecture, colon, source = spec.partition(":")
    if architecture == "local-dir":
        folder = Path(source)
        return _from_folder(folder, {"name": f"local-dir:{folder.name}", "title": folder.name} | place)
    architecture = architecture.replace("/", "-")
    config = _config(architecture, spec)
    if not colon or not source:
        raise BackboneError(f"{spec} names no weights.", _tags_hint(architecture))
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    weights, tower_file, allowed_keys = split_source(source, tags)
    vision, suffix = Path(tower_file).expanduser(), ""
    if tower_file:
        check_checkpoint_path(vision)  # before the rest is downloaded
        suffix = f"+{vision.name}" + (EXCEPT_OPTION + ",".join(sorted(allowed_keys)) if allowed_keys else "")
    if tag_of(weights) in tags:
        model, info = _pretrained(architecture, tag_of(weights), config)
    elif is_checkpoint_name(weights):
        model, info = _from_file(architecture, Path(weights).expanduser(), config, suffix)
    else:
        raise BackboneError(f"{architecture} has no weights called {weights}.", _tags_hint(architecture))
    if tower_file:
        which = load_vision_weights(model, vision, info["name"], allowed_keys)
        both = f"Vision tower from {vision.name}, everything else from {info['name']}."
        info["note"] = f"{both} {info['note']} {which}".strip()
        info["title"] += f" with the vision tower of {vision.name}"
        info["name"] += suffix
    return Backbone(model, open_clip.get_tokenizer(architecture), **info, **place)


@in_plain_torch
def untrained(architecture: str, device: str | None = None, precision: str | None = None) -> Backbone:
    """A model of an open_clip architecture with random weights, for measuring speed without a download; ``device`` and
    ``precision`` as in :func:`load`. Raises BackboneError: unknown architecture, or a text tower that is not supported."""
    device = device or pick_device()
    config = _config(architecture, architecture)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = _build(config, architecture)
    name, precision = f"{architecture} (random weights)", precision or pick_precision(device)
    tokenizer = open_clip.get_tokenizer(architecture)
    return Backbone(model, tokenizer, name=name, title=name, device=device, precision=precision)


def _pretrained(architecture: str, tag: str, config: OpenClipRecord) -> tuple[nn.Module, About]:
    """The model, and its name, title, note and preprocessing."""
    name = f"{architecture}:{tag}"
    record = get_pretrained_cfg(architecture, tag)
    entry = BACKBONES.get(name)
    # The wrong activation gives slightly wrong features without any error, so the tag decides, not the
    # architecture's name.
    config["quick_gelu"] = bool(record.get("quick_gelu", False))
    model = _build(config, name)
    load_weights(model, cached_weights(record) or _download(record, name), name)
    note = f"Runs with {activation_name(config)}, as its weights were trained."
    return model, {"name": name, "title": entry.title if entry else name, "note": note, **_preprocessing(record)}


def _from_file(architecture: str, path: Path, config: OpenClipRecord, suffix: str) -> tuple[nn.Module, About]:
    model = _build(config, architecture)
    which = load_weights(model, path, architecture)
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    preprocessing = _preprocessing(get_pretrained_cfg(architecture, tags[0]) if tags else {})
    title = f"{architecture} from {path.name} ({activation_name(config)})"
    note = f"{activation_note(architecture, config, path.name + suffix)} {which}".strip()
    return model, {"name": f"{architecture}:{path.name}", "title": title, "note": note, **preprocessing}


def _from_folder(folder: Path, about: About, tower: Path | None = None) -> Backbone:
    """``tower``: weights that replace those of the vision tower."""
    title, hint = about["title"], "Give a folder with open_clip_config.json and open_clip_model.safetensors."
    if folder == EMBEDDED_DIR:
        hint = "Restore assets/model from the repository, or choose another model."
    try:
        read = json.loads(read_text(folder / "open_clip_config.json"))
        config, preprocessing = dict(read["model_cfg"]), _preprocessing(read.get("preprocess_cfg", {}))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise BackboneError(f"The folder of the model {title} has no readable open_clip_config.json.", hint) from error
    try:
        model = _build(config, title)
        load_weights(model, folder / WEIGHTS_FILE, title)
        if tower is not None:
            load_vision_weights(model, tower, EMBEDDED)
        seen = folder / "seen_words.json"
        words = frozenset(json.loads(read_text(seen))) if seen.is_file() else None
        tokenizer = open_clip.SimpleTokenizer(context_length=config["text_cfg"].get("context_length", 77))
        about.setdefault("note", f"Runs with {activation_name(config)}, as its open_clip_config.json says.")
        return Backbone(model, tokenizer, seen_words=words, **about, **preprocessing)
    except Exception as error:  # an invalid config makes open_clip raise errors of many kinds
        if isinstance(error, BackboneError | torch.AcceleratorError) or is_out_of_memory(error):
            raise
        message = f"The files in the folder of the model {title} do not describe a model that can be run."
        raise BackboneError(message, hint) from error


def _config(architecture: str, spec: str) -> OpenClipRecord:
    config = open_clip.get_model_config(architecture) if ":" not in architecture else None
    if config is None:
        names = [*open_clip.list_models(), EMBEDDED, EMBEDDED_ROBUST]
        hint = did_you_mean(architecture, names, f"Models: {', '.join(BACKBONES)}.")
        raise BackboneError(f"There is no model called {spec[:100]!r}.", hint)
    return config


def _build(config: OpenClipRecord, name: str) -> nn.Module:
    """A model with random weights from an open_clip config; BackboneError for an unsupported text tower."""
    if reason := unsupported_reason(config):
        raise BackboneError(f"{name} cannot be used here: {reason}.", HINT)
    config = deepcopy(config)
    if "timm_model_name" in config["vision_cfg"]:
        config["vision_cfg"]["timm_model_pretrained"] = False  # all weights come from the checkpoint
    kind = open_clip.CustomTextCLIP if config.pop("custom_text", False) else open_clip.CLIP
    model: nn.Module = kind(**config)
    _check_constants(model, name)
    return model.float()  # built in the caller's default dtype


def _check_constants(model: nn.Module, name: str) -> None:
    """Torch's default dtype is the whole process's and is not set for a model that is built: weights replace what was made in
    it, all but constants. Raises BackboneError: these are others in the caller's default dtype than in float32."""
    if (default := torch.get_default_dtype()) == torch.float32:
        return
    weights = model.state_dict()
    for key, kept in model.named_buffers():
        rounded = kept.is_floating_point() and not bool(((kept == 0) | (kept == 1) | kept.isinf()).all())
        if rounded and key not in weights:
            raise BackboneError(
                f"{name} has constants ({key}) that are computed in torch's default dtype, which is {default}.",
                "Call torch.set_default_dtype(torch.float32) before it is loaded.",
            )


def _download(pretrained: OpenClipRecord, name: str) -> Path:
    set_verbosity_error()  # the hub's own lines on retrying would be printed around our error message
    if hub := pretrained.get("hf_hub"):
        return fetch(*hub_files(hub), name)
    try:
        return Path(download_pretrained(pretrained))
    except Exception as error:  # errors of urllib and the disk
        raise failed(name, f"its server cannot be reached, or the disk is full ({type(error).__name__})") from error


def _preprocessing(config: OpenClipRecord) -> Preprocessing:
    """Channel mean, standard deviation and interpolation, as far as the config has them."""
    preprocessing: Preprocessing = {}
    if "mean" in config:
        preprocessing["mean"] = tuple(config["mean"])
    if "std" in config:
        preprocessing["std"] = tuple(config["std"])
    if config.get("interpolation") in ("bicubic", "bilinear"):
        preprocessing["interpolation"] = config["interpolation"]
    return preprocessing


def _tags_hint(architecture: str) -> str:
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    listed = ", ".join(tags) if tags else "none; give a file as ARCHITECTURE:path/to/checkpoint"
    return f"Weights for {architecture}: {listed}."


def split_source(source: str, tags: Iterable[str]) -> tuple[str, str, frozenset[str]]:
    """Split the part of a name after the colon, ``WEIGHTS``, ``WEIGHTS+VISION`` or ``WEIGHTS+VISION+except=KEY,KEY``: a
    tag or a file with the whole model; a file with the vision tower that replaces that model's own ("" for none); the
    keys that may be missing or left over in it. ``tags``: open_clip's tags for the architecture.

    A plus sign separates only after a tag or after the suffix of a checkpoint, so that paths may contain some. Raises
    BackboneError: ``+except=`` without a vision tower or without keys."""
    rest, option, keys = source.partition(EXCEPT_OPTION)
    allowed_keys = frozenset(key.strip() for key in keys.split(",") if key.strip())
    parts = [(rest[:at], rest[at + 1 :]) for at, sign in enumerate(rest) if sign == "+"]
    tag_names = set(tags)
    two = (p for p in parts if tag_of(p[0]) in tag_names or p[0].lower().endswith(SUFFIXES))
    weights, vision = next(two, (rest, ""))
    if option and not (vision and allowed_keys):
        lacks = "key after" if vision else "such checkpoint before"
        raise BackboneError(
            f"{EXCEPT_OPTION} names keys of a vision tower's checkpoint; here there is no {lacks} it.",
            f"Write ARCHITECTURE:WEIGHTS+VISION.pt{EXCEPT_OPTION}KEY,KEY, or leave it out.",
        )
    return weights, vision, allowed_keys


def tag_of(text: str) -> str:
    """open_clip's own spelling of a tag."""
    return text.lower().replace("-", "_")


def activation_name(config: OpenClipRecord) -> str:
    """ "quick-GELU" or "plain GELU"; convolutional and timm vision towers have other activations of their own."""
    vision = config["vision_cfg"]
    other = "timm_model_name" in vision or isinstance(vision.get("layers"), list)
    return ("quick-GELU" if config.get("quick_gelu") else "plain GELU") + (" in its text tower" if other else "")


def activation_note(architecture: str, config: OpenClipRecord, suffix: str) -> str:
    """A sentence on the activation that weights from a file are run with, and how to choose the other one.

    A file of weights does not say which activation it was trained with, and the wrong one gives slightly wrong features
    without any error. The name decides, so the note states it. ``suffix``: the part of the name after the colon, files
    without their folders."""
    taken = f"Runs with {activation_name(config)}, because it was named {architecture}"
    other = architecture.removesuffix(QUICKGELU_SUFFIX) if config.get("quick_gelu") else architecture + QUICKGELU_SUFFIX
    if other == architecture or other not in open_clip.list_models():
        return f"{taken}; open_clip has no variant with the other activation."
    if config.get("quick_gelu"):
        return f"{taken}; weights that were trained with plain GELU want {other}:{suffix} instead."
    return (
        f"{taken} and the file cannot tell; weights that come from OpenAI's were trained with quick-GELU and "
        f"want {other}:{suffix} instead."
    )
