"""Which models there are, what they cost, and how one is loaded.

A model is named ``embedded``, ``ARCHITECTURE:TAG`` (any pretrained pair of open_clip),
``ARCHITECTURE:path/to/checkpoint`` or ``local-dir:path/to/folder`` (a folder like assets/model). Behind TAG or
checkpoint, ``+path/to/vision_tower`` puts another vision tower into that model (TeCoA, PMG-AFT, FARE);
``+except=KEY,KEY`` behind that names what may be missing or left over in it.
"""

from __future__ import annotations

import difflib
import json
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import open_clip
import torch
from huggingface_hub.utils.logging import set_verbosity_error
from open_clip.constants import HF_SAFE_WEIGHTS_NAME, HF_WEIGHTS_NAME
from open_clip.pretrained import download_pretrained, get_pretrained_cfg
from torch import nn

from rita_demo.errors import BackboneError
from rita_demo.vlm.backbone import PRECISIONS, Backbone
from rita_demo.vlm.checkpoint import adopt, adopt_vision, expect_checkpoint, is_checkpoint_name
from rita_demo.vlm.device import pick_device, pick_precision
from rita_demo.vlm.naming import activation, chosen_activation, split_source, tag_of
from rita_demo.vlm.tower import HINT, refusal

EMBEDDED = "embedded"
EMBEDDED_DIR = Path(__file__).resolve().parents[2] / "assets" / "model"


@dataclass(frozen=True)
class Entry:
    """A model worth offering: download in MB (0: comes with the demo), parameters, one sentence."""

    title: str
    megabytes: int
    parameters: int
    note: str


BACKBONES: dict[str, Entry] = {
    EMBEDDED: Entry(
        "Embedded model", 0, 15_028_801,
        "Small and trained for this demo: knows everyday objects and textures, nothing to download; "
        "under 2 seconds per picture on two CPU cores.",
    ),
    "ViT-B-16-quickgelu:openai": Entry(
        "CLIP ViT-B/16 (OpenAI)", 599, 149_620_737,
        "The model of most of the paper's tables; quick-GELU; about half a minute per picture on two CPU cores; "
        "not measured on a GPU yet.",
    ),
    "ViT-B-32-quickgelu:openai": Entry(
        "CLIP ViT-B/32 (OpenAI)", 605, 151_277_313,
        "The fastest of the real CLIP models; quick-GELU; about 10 seconds per picture on two CPU cores; "
        "not measured on a GPU yet.",
    ),
    "RN50-quickgelu:openai": Entry(
        "CLIP ResNet-50 (OpenAI)", 408, 102_007_137,
        "The convolutional CLIP of the paper; quick-GELU in its text tower; about 10 seconds per picture on two CPU cores; "
        "not measured on a GPU yet.",
    ),
    "ViT-B-32:laion2b_s34b_b79k": Entry(
        "OpenCLIP ViT-B/32 (LAION-2B)", 605, 151_277_313,
        "The same shape as CLIP ViT-B/32, trained on open data; plain GELU; about 10 seconds per picture "
        "on two CPU cores; not measured on a GPU yet.",
    ),
    "EVA02-B-16:merged2b_s8b_b131k": Entry(
        "EVA-02 CLIP B/16", 300, 149_691_137,
        "More accurate at the size of ViT-B/16; plain GELU in its text tower; about half a minute per picture on two CPU cores; "
        "not measured on a GPU yet.",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Available:
    """One row of the ``models`` command: what can be used here and now, and what is missing."""

    name: str
    title: str
    megabytes: int
    parameters: int
    ready: bool
    state: str
    note: str


def available() -> tuple[Available, ...]:
    """Every model of :data:`BACKBONES` and whether its weights are on this machine. No network."""
    rows = []
    for name, entry in BACKBONES.items():
        if name == EMBEDDED:
            ready = (EMBEDDED_DIR / HF_SAFE_WEIGHTS_NAME).is_file()
            state = "comes with the demo" if ready else "missing from this copy"
        else:
            architecture, _, tag = name.partition(":")
            ready = cached_weights(get_pretrained_cfg(architecture, tag)) is not None
            state = "on this machine" if ready else f"needs a download of {entry.megabytes} MB"
        rows.append(
            Available(
                name, entry.title, entry.megabytes, entry.parameters, ready, state, entry.note
            )
        )
    return tuple(rows)


def load(spec: str, device: str | None = None, precision: str | None = None) -> Backbone:
    """Load a model by name, downloading its weights when it is a pretrained one not yet here.

    Args:
        spec: see the top of this file.
        device: "cuda", "mps" or "cpu"; None asks :func:`pick_device`.
        precision: of encoding views, "float32", "float16" or "bfloat16"; None asks
            :func:`pick_precision`.

    Raises:
        BackboneError: unknown architecture or tag, missing or foreign file, no connection, or a
            text tower that is not supported; the message says what to do.
    """
    device = device or pick_device()
    precision = precision or pick_precision(device)
    if precision not in PRECISIONS:
        raise BackboneError(f"The precision is one of {', '.join(PRECISIONS)}; got {precision}.")
    more: dict[str, Any] = {"device": device, "precision": precision}
    if spec == EMBEDDED:
        return _from_folder(EMBEDDED_DIR, spec, BACKBONES[spec].title, BACKBONES[spec].note, more)
    architecture, colon, source = spec.partition(":")
    if architecture == "local-dir":
        folder = Path(source)
        return _from_folder(folder, f"local-dir:{folder.name}", folder.name, "", more)
    architecture = architecture.replace("/", "-")
    config = _config(architecture, spec)
    if not colon or not source:
        raise BackboneError(f"{spec} names no weights.", _tags_hint(architecture))
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    asked = split_source(source, tags)
    vision = Path(asked.vision).expanduser()
    if asked.vision:
        expect_checkpoint(vision)  # before the rest is downloaded
    if tag_of(asked.weights) in tags:
        model, words = _pretrained(architecture, tag_of(asked.weights), config)
    elif is_checkpoint_name(asked.weights):
        file = Path(asked.weights).expanduser()
        model, words = _from_file(architecture, file, config, asked.behind)
    else:
        raise BackboneError(
            f"{architecture} has no weights called {asked.weights}.", _tags_hint(architecture)
        )
    if asked.vision:
        adopt_vision(model, vision, words.name, asked.named)
        words = words.with_vision(vision.name, asked.behind)
    tokenizer = open_clip.get_tokenizer(architecture)
    more |= {"name": words.name, "title": words.title, "note": words.note} | words.look
    return Backbone(model, tokenizer, **more)


def untrained(
    architecture: str, device: str | None = None, precision: str | None = None
) -> Backbone:
    """A model of an open_clip architecture with random weights: as fast as a trained one, and it knows
    nothing. For measuring speed where no weights can be had.

    Raises:
        BackboneError: unknown architecture, or a text tower that is not supported.
    """
    device = device or pick_device()
    config = _config(architecture, architecture)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = _build(config, architecture)
    name = f"{architecture} (random weights)"
    precision = precision or pick_precision(device)
    tokenizer = open_clip.get_tokenizer(architecture)
    return Backbone(model, tokenizer, name=name, title=name, device=device, precision=precision)


def cached_weights(pretrained: dict[str, Any]) -> Path | None:
    """The weights of an open_clip pretrained entry if they are on this machine, else None."""
    from huggingface_hub import try_to_load_from_cache

    if hub := pretrained.get("hf_hub"):
        repository, _, file = hub.rpartition("/")
        wanted = file or HF_WEIGHTS_NAME
        safe = HF_SAFE_WEIGHTS_NAME if not file else str(Path(file).with_suffix(".safetensors"))
        for name in (safe, wanted):
            if isinstance(hit := try_to_load_from_cache(repository, name), str):
                return Path(hit)
    if url := pretrained.get("url"):
        path = Path("~/.cache/clip").expanduser() / url.rpartition("/")[2]
        return path if path.is_file() else None
    return None


@dataclass(frozen=True)
class _Words:
    """What is said of a model that was built from a name; ``look``: how its pictures are normalised."""

    name: str
    title: str
    note: str
    look: dict[str, Any]

    def with_vision(self, file: str, behind: str) -> _Words:
        return replace(
            self,
            name=self.name + behind,
            title=f"{self.title} with the vision tower of {file}",
            note=f"Vision tower from {file}, everything else from {self.name}. {self.note}",
        )


def _pretrained(architecture: str, tag: str, config: dict[str, Any]) -> tuple[nn.Module, _Words]:
    name = f"{architecture}:{tag}"
    known = get_pretrained_cfg(architecture, tag)
    entry = BACKBONES.get(name)
    # Weights trained with one activation and run with the other give slightly wrong features without
    # any error, so the tag decides, not the architecture's name.
    config["quick_gelu"] = bool(known.get("quick_gelu", False))
    model = _build(config, name)
    adopt(model, cached_weights(known) or _download(known, name, entry), name)
    note = f"Runs with {activation(config)}, as its weights were trained."
    title, note = (entry.title, entry.note) if entry else (name, note)
    return model, _Words(name, title, note, _preprocessing(known))


def _from_file(
    architecture: str, path: Path, config: dict[str, Any], behind: str
) -> tuple[nn.Module, _Words]:
    model = _build(config, architecture)
    adopt(model, path, architecture)
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    look = _preprocessing(get_pretrained_cfg(architecture, tags[0]) if tags else {})
    name, title = f"{architecture}:{path.name}", f"{architecture} from {path.name}"
    note = chosen_activation(architecture, config, path.name + behind)
    return model, _Words(name, f"{title} ({activation(config)})", note, look)


def _from_folder(folder: Path, name: str, title: str, note: str, more: dict[str, Any]) -> Backbone:
    hint = (
        "Restore assets/model from the repository, or choose another model."
        if name == EMBEDDED
        else "Give a folder with open_clip_config.json and open_clip_model.safetensors."
    )
    try:
        read = json.loads((folder / "open_clip_config.json").read_text(encoding="utf-8"))
        config, look = dict(read["model_cfg"]), _preprocessing(read.get("preprocess_cfg", {}))
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise BackboneError(
            f"The folder of the model {title} has no readable open_clip_config.json.", hint
        ) from error
    try:
        model = _build(config, title)
        adopt(model, folder / HF_SAFE_WEIGHTS_NAME, title)
        seen = folder / "seen_tokens.json"
        ids = frozenset(json.loads(seen.read_text(encoding="utf-8"))) if seen.is_file() else None
        length = config["text_cfg"].get("context_length", 77)
        note = note or f"Runs with {activation(config)}, as its open_clip_config.json says."
        tokenizer = open_clip.SimpleTokenizer(context_length=length)
        return Backbone(
            model, tokenizer, name=name, title=title, note=note, seen_tokens=ids, **look, **more
        )
    except BackboneError:
        raise
    except Exception as error:  # open_clip builds whatever is written there, and fails in many ways
        raise BackboneError(
            f"The files in the folder of the model {title} do not describe a model that can be run.",
            hint,
        ) from error


def _config(architecture: str, spec: str) -> dict[str, Any]:
    config = open_clip.get_model_config(architecture) if ":" not in architecture else None
    if config is None:
        close = difflib.get_close_matches(
            architecture, [*open_clip.list_models(), EMBEDDED], 3, 0.5
        )
        hint = (
            f"Did you mean {' or '.join(close)}?" if close else f"Models: {', '.join(BACKBONES)}."
        )
        raise BackboneError(f"There is no model called {spec[:100]!r}.", hint)
    return config


def _build(config: dict[str, Any], name: str) -> nn.Module:
    """A model with random weights from an open_clip config, or a sentence on why not."""
    if reason := refusal(config):
        raise BackboneError(f"{name} cannot be used here: {reason}.", HINT)
    config = deepcopy(config)
    if "timm_model_name" in config["vision_cfg"]:
        config["vision_cfg"]["timm_model_pretrained"] = (
            False  # all weights come from the checkpoint
        )
    kind = open_clip.CustomTextCLIP if config.pop("custom_text", False) else open_clip.CLIP
    return kind(**config)


def _download(pretrained: dict[str, Any], name: str, entry: Entry | None) -> Path:
    set_verbosity_error()  # the hub's own lines on retrying would stand around our one sentence
    try:
        return Path(download_pretrained(pretrained))
    except Exception as error:  # urllib, requests, hub and disk errors all mean: no weights
        size = f" ({entry.megabytes} MB)" if entry else ""
        raise BackboneError(
            f"The weights of {name}{size} are not on this machine and could not be downloaded.",
            "Connect to the internet and try again, name a local file as ARCHITECTURE:path/to/file, "
            "or use the embedded model.",
        ) from error


def _preprocessing(config: dict[str, Any]) -> dict[str, Any]:
    """Channel mean, standard deviation and interpolation; CLIP's own where the config is silent."""
    look: dict[str, Any] = {key: tuple(config[key]) for key in ("mean", "std") if key in config}
    if config.get("interpolation") in ("bicubic", "bilinear"):
        look["interpolation"] = config["interpolation"]
    return look


def _tags_hint(architecture: str) -> str:
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    listed = ", ".join(tags) if tags else "none; give a file as ARCHITECTURE:path/to/checkpoint"
    return f"Weights for {architecture}: {listed}."
