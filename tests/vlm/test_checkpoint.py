"""The weights of a model are found wherever training scripts put them in a file, or it is said what the file holds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rita_demo.records.errors import BackboneError
from rita_demo.vlm.prompts import encode_sentences
from rita_demo.vlm.registry import load
from rita_demo.vlm.transformers_names import NAMES
from tests.vlm.hub import random_model, shrink

ARCHITECTURE = "ViT-B-16-plus"  # open_clip has no variant of it: the name says all
Weights = dict[str, torch.Tensor]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    return random_model(shrink(monkeypatch, ARCHITECTURE), seed=0)


@pytest.fixture
def other(model: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    return random_model(shrink(monkeypatch, ARCHITECTURE), seed=1)


def begun(weights: Weights, start: str) -> Weights:
    return {start + key: value for key, value in weights.items()}


def pairs(starts: list[str], keys: list[str]) -> list[Any]:
    """Every start and every key; pairs that have neither the first start nor the last key are for the night."""
    return [
        pytest.param(a, b, marks=() if a == starts[0] or b == keys[-1] else pytest.mark.nightly)
        for a in starts
        for b in keys
    ]


def loaded(tmp_path: Path, content: Any, base: Any = None) -> Any:
    """The model of a file, or of ``base`` with the vision tower of the file."""
    torch.save(content, tmp_path / "mine.pth.tar")
    if base is None:
        return load(f"{ARCHITECTURE}:{tmp_path}/mine.pth.tar", "cpu", "float32")
    torch.save(base.state_dict(), tmp_path / "base.pt")
    return load(f"{ARCHITECTURE}:{tmp_path}/base.pt+{tmp_path}/mine.pth.tar", "cpu", "float32")


KEYS = ["state_dict", "model", "model_state_dict", "module", "net", "network", "weights", "params", "ema", "model_ema"]
KEYS += ["state_dict_ema", "ema_state_dict", "student", "teacher", "clip", "an odd name"]
STARTS = [
    "module.",
    "_orig_mod.",
    "module._orig_mod.",
    "model.",
    "clip.",
    "model.clip_model.",
    "net.module.",
    "student.",
]
STARTS += ["_fsdp_wrapped_module."]


@pytest.mark.parametrize("key", KEYS)
def test_a_model_is_found_under_every_key(key: str, model: Any, tmp_path: Path) -> None:
    beside = {
        "epoch": 3,
        "best": np.float64(1),
        "optimizer": {"state": {0: {"exp_avg": torch.ones(2)}}, "param_groups": []},
    }
    ours = loaded(tmp_path, beside | {key: model.state_dict()})
    assert ours.weights_key() == loaded(tmp_path, model.state_dict()).weights_key()
    assert "are used, not those" not in ours.info.note


@pytest.mark.parametrize(("start", "key"), pairs(STARTS, ["", "state_dict", "checkpoint.model"]))
def test_names_may_begin_with_the_place_in_a_larger_module(start: str, key: str, model: Any, tmp_path: Path) -> None:
    content: Any = begun(model.state_dict(), start)
    for part in reversed(key.split(".") if key else []):
        content = {part: content}
    assert loaded(tmp_path, content).weights_key() == loaded(tmp_path, model.state_dict()).weights_key()


def test_modules_around_a_part_of_the_model_do_not_count(model: Any, tmp_path: Path) -> None:
    compiled = {key.replace("visual.", "visual._orig_mod."): value for key, value in model.state_dict().items()}
    averaged = begun(compiled, "module.") | {"n_averaged": torch.tensor(7)}
    assert loaded(tmp_path, {"swa": averaged}).weights_key() == loaded(tmp_path, model.state_dict()).weights_key()


TOWER_STARTS = ["", "visual.", "module.visual.", "clip.visual.", "image_encoder.", "module.image_encoder.model."]
TOWER_STARTS += ["backbone.", "encoder.", "vision_model."]
TOWER_KEYS = ["vision_encoder_state_dict", "visual", "image_encoder", "teacher", "model"]


@pytest.mark.parametrize(("start", "key"), pairs(TOWER_STARTS, TOWER_KEYS))
def test_a_vision_tower_is_found_under_every_key_and_start(
    start: str, key: str, model: Any, other: Any, tmp_path: Path
) -> None:
    content = {"state_dict": {"pad": torch.zeros(1)}, "best_acc1": np.mean([50.0, 51.0])}
    ours = loaded(tmp_path, content | {key: begun(other.visual.state_dict(), start)}, model)
    by_hand = model.state_dict() | begun(other.visual.state_dict(), "visual.")
    assert ours.weights_key() == loaded(tmp_path, by_hand).weights_key()


PAIRS: dict[str, Any] = {
    "keys": lambda a, b: {"model_ema": b, "model": a},
    "keys of a distillation": lambda a, b: {"teacher": b, "student": a},
    "starts": lambda a, b: {"state_dict": begun(b, "teacher.") | begun(a, "student.")},
    "the file itself": lambda a, b: a | begun(b, "ema."),
    "an average's own": lambda a, b: (
        begun(b, "ema_model.") | begun(a, "online_model.") | {"initted": torch.tensor(True)}
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_of_several_that_fit_the_trained_one_is_used_and_the_note_says_so(
    pair: str, model: Any, other: Any, tmp_path: Path
) -> None:
    ours = loaded(tmp_path, PAIRS[pair](model.state_dict(), other.state_dict()))
    assert "are used, not those of" in ours.info.note
    assert ours.weights_key() == loaded(tmp_path, model.state_dict()).weights_key()


def test_an_optimiser_s_averages_are_no_weights(model: Any, tmp_path: Path) -> None:
    averages = {key: torch.zeros_like(value) for key, value in model.state_dict().items()}
    ours = loaded(tmp_path, {"optimizer": {"exp_avg": averages}, "model": model.state_dict()})
    assert ours.weights_key() == loaded(tmp_path, model.state_dict()).weights_key()
    assert "are used, not those" not in ours.info.note


def test_weights_that_do_not_fit_are_named_with_their_part(model: Any, tmp_path: Path) -> None:
    weights = model.state_dict()
    more = {"generator": weights | {"head.weight": torch.ones(3)}}
    with pytest.raises(BackboneError, match=r"more weights than .*in its part generator: unexpected: head\.weight"):
        loaded(tmp_path, more)
    less = {"generator": {key: value for key, value in weights.items() if key != "logit_scale"}}
    with pytest.raises(BackboneError, match=r"another architecture.*in its part generator: missing: logit_scale\)"):
        loaded(tmp_path, less)
    two = {"visual.proj": torch.ones(2), "visual.ln_post.bias": torch.ones(2), "proj": torch.ones(2)}
    with pytest.raises(BackboneError, match=r"proj \(outside visual\.\)"):
        loaded(tmp_path, two, model)


def test_a_file_without_weights_says_what_it_holds(model: Any, tmp_path: Path) -> None:
    for content, said in (
        ({"epoch": 3, "args": {"lr": 1}}, "no tensors under names, but epoch, args"),
        ([1], "it holds a list"),
        ({}, "it holds nothing"),
    ):
        with pytest.raises(BackboneError, match=rf"{said}.*Save the model's state_dict"):
            loaded(tmp_path, content)
        with pytest.raises(BackboneError, match=rf"vision tower: .*{said}"):
            loaded(tmp_path, content, model)


def as_transformers(weights: Weights) -> Weights:
    """open_clip's weights under the names that transformers' ``CLIPModel`` has, its projections apart and transposed."""
    found: Weights = {"vision_model.embeddings.position_ids": torch.arange(5)[None]}
    found["text_model.embeddings.position_ids"] = torch.arange(77)[None]
    for key, value in weights.items():
        for theirs, ours in NAMES.items():
            if key.startswith(("visual.", "vision_model.")) == theirs.startswith(
                ("vision_model.", "visual_projection")
            ) or (theirs.startswith(("self_attn", "layer_norm", "mlp"))):
                key = key.replace(ours, theirs)
        if "attn.in_proj_" in key:
            start, kind = key.split("attn.in_proj_")
            found |= {f"{start}self_attn.{one}_proj.{kind}": part for one, part in zip("qkv", value.chunk(3))}
        else:
            found[key] = value.t().contiguous() if "_projection" in key else value
    return found


@pytest.mark.parametrize("start", ["", "model.", "clip.", "module.model.", "_orig_mod."])
def test_a_clip_in_the_names_of_transformers_gives_the_same_features(start: str, model: Any, tmp_path: Path) -> None:
    theirs = as_transformers(model.state_dict())
    assert {"visual_projection.weight", "text_projection.weight", "text_model.final_layer_norm.bias"} <= theirs.keys()
    assert not model.state_dict().keys() & theirs.keys() - {"logit_scale"}
    ours, same = loaded(tmp_path, {"state_dict": begun(theirs, start)}), loaded(tmp_path, model.state_dict())
    pixels = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        assert torch.equal(ours.encode_pixels(pixels), same.encode_pixels(pixels))
        assert torch.equal(*(encode_sentences(one, ["a photo of a cat."]) for one in (ours, same)))
    assert ours.weights_key() == same.weights_key()
    assert "are used, not those of" not in ours.info.note


def test_a_vision_tower_in_the_names_of_transformers_takes_its_place(model: Any, other: Any, tmp_path: Path) -> None:
    tower = {k: v for k, v in as_transformers(other.state_dict()).items() if k.startswith("vis")}
    by_hand = model.state_dict() | begun(other.visual.state_dict(), "visual.")
    for start in ("", "module."):
        ours = loaded(tmp_path, begun(tower, start), model)
        assert ours.weights_key() == loaded(tmp_path, by_hand).weights_key()
    with pytest.raises(BackboneError, match="holds a vision tower alone"):
        loaded(tmp_path, tower)
    with pytest.raises(BackboneError, match="holds a whole model, not a vision tower alone"):
        loaded(tmp_path, as_transformers(other.state_dict()), model)


def test_a_damaged_clip_of_transformers_is_refused_by_its_names(model: Any, tmp_path: Path) -> None:
    theirs = as_transformers(model.state_dict())
    key = "vision_model.encoder.layers.1.self_attn.k_proj.weight"
    faults = {key: torch.ones(()), "visual_projection.weight": torch.ones(2, 2, 2), "visual.proj": torch.ones(2)}
    for content in ({k: v for k, v in theirs.items() if k != key}, *(theirs | {k: v} for k, v in faults.items())):
        with pytest.raises(BackboneError, match="names of Hugging Face's transformers"):
            loaded(tmp_path, content)


def test_names_of_hugging_face_are_called_that(model: Any, tmp_path: Path) -> None:
    theirs = {"vision_model.encoder.layers.0.self_attn.k_proj.weight": torch.ones(3), "logit_scale": torch.ones(())}
    for base in (None, model):
        with pytest.raises(BackboneError, match="Hugging Face"):
            loaded(tmp_path, theirs, base)
