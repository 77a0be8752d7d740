"""The weights of a model are found wherever training scripts put them in a file, or it is said what the file holds."""

from collections.abc import Callable
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


def loaded(tmp_path: Path, content: Any, base: Any = None) -> Any:
    """The model of a file, or of ``base`` with the vision tower of the file."""
    torch.save(content, tmp_path / "mine.pth.tar")
    if base is None:
        return load(f"{ARCHITECTURE}:{tmp_path}/mine.pth.tar", "cpu", "float32")
    torch.save(base.state_dict(), tmp_path / "base.pt")
    return load(f"{ARCHITECTURE}:{tmp_path}/base.pt+{tmp_path}/mine.pth.tar", "cpu", "float32")


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


def compiled(weights: Weights) -> Weights:
    return {key.replace("visual.", "visual._orig_mod."): value for key, value in weights.items()}


KEYS = "state_dict model model_state_dict module net network weights params ema model_ema state_dict_ema student clip"
STARTS = (
    "module. _orig_mod. module._orig_mod. model. clip. model.clip_model. net.module. student. _fsdp_wrapped_module."
)
LAYOUTS: dict[str, Callable[[Weights], Any]] = {
    **{key: lambda a, key=key: {key: a} for key in [*KEYS.split(), "an odd name"]},  # type: ignore[misc]
    **{start: lambda a, start=start: begun(a, start) for start in STARTS.split()},  # type: ignore[misc]
    "Lightning": lambda a: {"state_dict": begun(a, "model."), "hparams_name": "kwargs", "callbacks": {}, "loops": {}},
    "key and start": lambda a: {"checkpoint": {"model": begun(a, "module.")}},
    "a compiled tower, averaged": lambda a: {"swa": begun(compiled(a), "module.") | {"n_averaged": torch.tensor(7)}},
    "an optimiser's averages": lambda a: {
        "optimizer": {"exp_avg": {key: torch.zeros_like(value) for key, value in a.items()}},
        "model": a,
    },
    **{
        f"transformers {start}": lambda a, start=start: {"state_dict": begun(as_transformers(a), start)}  # type: ignore[misc]
        for start in ("", "model.", "module.model.", "_orig_mod.")
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_model_is_found_in_every_layout(layout: str, model: Any, tmp_path: Path) -> None:
    content, weights = LAYOUTS[layout](model.state_dict()), model.state_dict()
    beside = {"epoch": 3, "best": np.float64(1)} if set(content) - set(weights) and len(content) < 9 else {}
    ours, same = loaded(tmp_path, content | beside), loaded(tmp_path, weights)
    assert ours.weights_key() == same.weights_key()
    assert "are used, not those" not in ours.info.note
    if layout == "transformers ":
        pixels = torch.rand(2, 3, 64, 64)
        with torch.no_grad():
            assert torch.equal(ours.encode_pixels(pixels), same.encode_pixels(pixels))
            assert torch.equal(*(encode_sentences(one, ["a photo of a cat."]) for one in (ours, same)))


TOWER_STARTS = "visual. module.visual. clip.visual. image_encoder. module.image_encoder.model. backbone. vision_model."
TOWERS: dict[str, Callable[[Weights], Any]] = {
    # as TeCoA's script saves it, with the best accuracy
    "TeCoA": lambda a: {
        "state_dict": {"pad": torch.zeros(1)},
        "vision_encoder_state_dict": a,
        "best_acc1": np.mean([50.0, 51.0]),
    },
    "FARE": lambda a: a,
    **{key: lambda a, key=key: {key: a} for key in ("visual", "image_encoder", "teacher", "model")},  # type: ignore[misc]
    **{start: lambda a, start=start: {"model": begun(a, start)} for start in TOWER_STARTS.split()},  # type: ignore[misc]
    **{
        f"transformers {start}": lambda a, start=start: begun(  # type: ignore[misc]
            {k: v for k, v in as_transformers(begun(a, "visual.")).items() if k.startswith("vis")}, start
        )
        for start in ("", "module.")
    },
}


@pytest.mark.parametrize("layout", TOWERS)
def test_a_vision_tower_is_found_in_every_layout(layout: str, model: Any, other: Any, tmp_path: Path) -> None:
    content = TOWERS[layout](other.visual.state_dict())
    by_hand = model.state_dict() | begun(other.visual.state_dict(), "visual.")
    assert loaded(tmp_path, content, model).weights_key() == loaded(tmp_path, by_hand).weights_key()
    with pytest.raises(BackboneError, match=r"a vision tower alone.*openai\+mine\.pth\.tar"):
        loaded(tmp_path, content)


PAIRS: dict[str, Callable[[Weights, Weights], Any]] = {
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


def without(weights: Weights, key: str) -> Weights:
    assert key in weights
    return {name: value for name, value in weights.items() if name != key}


KEY = "vision_model.encoder.layers.1.self_attn.k_proj.weight"
FACE = {"vision_model.encoder.layers.0.self_attn.k_proj.weight": torch.ones(3), "logit_scale": torch.ones(())}
TWO = {"visual.proj": torch.ones(2), "visual.ln_post.bias": torch.ones(2), "proj": torch.ones(2)}
#: What a file holds, whether it is named as a vision tower, and what is said.
REFUSED: dict[str, tuple[Callable[[Weights], Any], bool, str]] = {
    "more": (
        lambda a: {"generator": a | {"head.weight": torch.ones(3)}},
        False,
        r"more weights than .*in its part generator: unexpected: head\.weight\)\. Save the model without them",
    ),
    "less": (
        lambda a: {"generator": without(a, "logit_scale")},
        False,
        r"another architecture.*in its part generator: missing: logit_scale\)",
    ),
    "two names": (lambda a: TWO, True, r"proj \(outside visual\.\)"),
    "one name for two": (lambda a: {"module.proj": torch.ones(2), "proj": torch.ones(2)}, False, "get one name"),
    "names that are no text": (lambda a: {1: torch.ones(3)}, True, "cannot be read as the weights of a vision tower"),
    "nothing under the key": (lambda a: {"vision_encoder_state_dict": None}, True, "as the weights of a vision tower"),
    "a whole model behind a start": (lambda a: begun(a, "module."), True, rf"a whole model.*{ARCHITECTURE}:mine"),
    "a whole model": (lambda a: a, True, "holds a whole model, not a vision tower alone"),
    "a whole one of transformers": (as_transformers, True, "holds a whole model, not a vision tower alone"),
    "transformers, one less": (lambda a: without(as_transformers(a), KEY), False, "Hugging Face"),
    "transformers, damaged": (lambda a: as_transformers(a) | {KEY: torch.ones(())}, False, "Hugging Face"),
    "transformers, of another shape": (
        lambda a: as_transformers(a) | {"visual_projection.weight": torch.ones(2, 2, 2)},
        False,
        "names of Hugging Face's transformers",
    ),
    "transformers and ours": (lambda a: as_transformers(a) | {"visual.proj": torch.ones(2)}, False, "Hugging Face"),
    "another of transformers": (lambda a: FACE, False, "Hugging Face"),
    "another tower of transformers": (lambda a: FACE, True, "Hugging Face"),
    **{
        f"{name}, {tower}": (lambda a, content=content: content, tower, rf"{said}.*Save the model's state_dict")
        for tower in (True, False)
        for name, content, said in (
            ("words", {"epoch": 3, "args": {"lr": 1}}, "no tensors under names, but epoch, args"),
            ("a list", [1], "it holds a list"),
            ("nothing", {}, "it holds nothing"),
        )
    },
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_does_not_fit_is_named(kind: str, model: Any, tmp_path: Path) -> None:
    make, tower, said = REFUSED[kind]
    with pytest.raises(BackboneError, match=said) as caught:
        loaded(tmp_path, make(model.state_dict()), model if tower else None)
    assert str(tmp_path) not in str(caught.value)
