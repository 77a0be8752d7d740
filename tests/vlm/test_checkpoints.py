"""The weights of a model are found wherever training scripts put them in a file, nothing that a file holds is run, and a file of
another kind is called by its name."""

import argparse
import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save

from rita_demo.records.errors import BackboneError
from rita_demo.vlm.checkpoint_file import SUFFIXES, is_checkpoint_name, read_checkpoint
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


def loaded(tmp_path: Path, content: Any, base: Any = None, name: str = "mine.pth.tar") -> Any:
    """The model of a file with this content (bytes: the file as it is), or of ``base`` with the vision tower of the file."""
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else torch_bytes(content))
    if base is None:
        return load(f"{ARCHITECTURE}:{tmp_path / name}", "cpu", "float32")
    torch.save(base.state_dict(), tmp_path / "base.pt")
    return load(f"{ARCHITECTURE}:{tmp_path}/base.pt+{tmp_path / name}", "cpu", "float32")


def torch_bytes(content: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, **options)
    return buffer.getvalue()


# --- what is in a file

PROJ = {"proj": torch.arange(6.0).reshape(2, 3)}
BESIDE = {
    "best_acc1": np.mean([50.0, 51.0]),
    "epoch": np.int64(9),
    "half": np.float16(0.5),
    "amp": np.bool_(True),
    "name": np.str_("TeCoA"),
    "per class": np.arange(3.0),
    "seeds": np.random.default_rng(0).integers(0, 9, 3, np.uint8),
}


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "pickle"])
def test_numbers_and_arrays_of_numpy_beside_weights_are_no_program(zipped: bool, tmp_path: Path) -> None:
    before = set(torch.serialization.get_safe_globals())
    for suffix in (
        *SUFFIXES[1:],
        ".pth.tar",
        ".pt.tar",
        ".PTH.TAR",
        ".safetensors",
    ):  # the content decides, not the suffix
        path = tmp_path / f"best{suffix}"
        path.write_bytes(torch_bytes(PROJ | BESIDE, _use_new_zipfile_serialization=zipped))
        found = read_checkpoint(path)
        assert torch.equal(found["proj"], PROJ["proj"])
        assert (found["best_acc1"], found["per class"].tolist()) == (50.5, [0, 1, 2])
        assert is_checkpoint_name(path.name)
    assert set(torch.serialization.get_safe_globals()) == before, "the allowed names are forgotten again"
    (tmp_path / "really.pt").write_bytes(save(PROJ))
    assert torch.equal(read_checkpoint(tmp_path / "really.pt")["proj"], PROJ["proj"])


# --- where it is


def as_transformers(weights: Weights) -> Weights:
    """open_clip's weights under the names that transformers' ``CLIPModel`` has, its projections apart and transposed."""
    found: Weights = {"vision_model.embeddings.position_ids": torch.arange(5)[None]}
    found["text_model.embeddings.position_ids"] = torch.arange(77)[None]
    for key, value in weights.items():
        for theirs, ours in NAMES.items():
            of_vision = theirs.startswith(("vision_model.", "visual_projection"))
            if key.startswith(("visual.", "vision_model.")) == of_vision or theirs.startswith(
                ("self_attn", "layer", "mlp")
            ):
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
STARTS = "module. _orig_mod. module._orig_mod. model. clip. model.clip_model. net.module. _fsdp_wrapped_module."
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
    # as TeCoA's script saves it: the prompter's weights before them are another network's
    "TeCoA": lambda a: {
        "state_dict": {"pad": torch.zeros(1)},
        "vision_encoder_state_dict": a,
        "best_acc1": np.float64(5),
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
    ours = loaded(tmp_path, content, model)
    assert ours.weights_key() == loaded(tmp_path, by_hand).weights_key()
    assert ours.info.name == f"{ARCHITECTURE}:base.pt+mine.pth.tar"
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
def test_of_several_that_fit_the_trained_one_is_used_and_the_note_says_so(pair, model, other, tmp_path) -> None:
    ours = loaded(tmp_path, PAIRS[pair](model.state_dict(), other.state_dict()))
    assert "are used, not those of" in ours.info.note
    assert ours.weights_key() == loaded(tmp_path, model.state_dict()).weights_key()


# --- what is refused


class HostilePickle:
    """The content of a hostile pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("this must never be printed",)


def zip_of(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(name, b"123")
    return buffer.getvalue()


def without(weights: Weights, key: str) -> Weights:
    assert key in weights
    return {name: value for name, value in weights.items() if name != key}


DAMAGED = "it is damaged, or another kind of file"
OBJECTS = r"holds a program or objects \([\w.]+\), and is not opened"
KEY = "vision_model.encoder.layers.1.self_attn.k_proj.weight"
#: What a file holds, or what is made of a model's weights, and what is said. "tower": it is named as a vision tower.
BAD: dict[str, tuple[Any, str]] = {
    # a file of another kind
    "web page in UTF-16": ("<html>".encode("utf-16"), "it is a web page"),
    "LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
    "empty": (b"", "it is an empty file"),
    "JSON like safetensors": (b'{"a":1,\n{}', "it is a JSON text"),
    "text": (b"Not Found", "it is plain text"),
    "another zip": (zip_of("model.pt"), "a zip archive without weights"),
    "gzip": (gzip.compress(b"1"), "it is a gzip archive. Unpack it"),
    "zip cut off": (torch_bytes(PROJ)[:500], "it is cut off"),
    "pickle cut off": (torch_bytes(PROJ, _use_new_zipfile_serialization=False)[:100], DAMAGED),
    "other protocol": (torch_bytes(PROJ, pickle_protocol=4), "without pickle_protocol"),
    "safetensors cut off": (save(PROJ)[:-3], "it is cut off"),
    "header too long": ((10**12).to_bytes(8, "little") + save(PROJ)[8:], DAMAGED),
    "header no JSON": (save(PROJ)[:8] + b"{{" + save(PROJ)[10:], DAMAGED),
    "noise": (np.random.default_rng(0).bytes(999), DAMAGED),
    # objects, or a program
    "a namespace": (PROJ | {"thing": argparse.Namespace(lr=1)}, OBJECTS),
    "a module": (PROJ | {"thing": torch.nn.Linear(2, 2)}, OBJECTS),
    "an array of objects": (PROJ | {"thing": np.array([argparse.Namespace()], dtype=object)}, OBJECTS),
    "a hostile pickle": ({"state_dict": HostilePickle()}, "holds a program"),
    # other weights
    "more": (
        lambda a: {"generator": a | {"head.weight": torch.ones(3)}},
        r"more weights than .*in its part generator: unexpected: head\.weight\)\. Save the model without them",
    ),
    "less": (
        lambda a: {"generator": without(a, "logit_scale")},
        r"another architecture.*in its part generator: missing: logit_scale\)",
    ),
    "one name for two": ({"module.proj": torch.ones(2), "proj": torch.ones(2)}, "get one name"),
    "names that are no text, tower": ({1: torch.ones(3)}, "cannot be read as the weights of a vision tower"),
    "nothing under the key, tower": ({"vision_encoder_state_dict": None}, "as the weights of a vision tower"),
    "another size, tower": (
        lambda a: {k[7:]: torch.ones(2) if "conv1" in k else v for k, v in a.items() if k.startswith("visual.")},
        r"does not hold the vision tower of .*other size: conv1\.weight",
    ),
    "a whole model, tower": (lambda a: a, "holds a whole model, not a vision tower alone"),
    "transformers, one less": (lambda a: without(as_transformers(a), KEY), "Hugging Face"),
    "transformers, damaged": (lambda a: as_transformers(a) | {KEY: torch.ones(())}, "Hugging Face"),
    "no tensors": (
        {"epoch": 3, "args": {"lr": 1}},
        "no tensors under names, but epoch, args.*Save the model's state_dict",
    ),
    "a list, tower": ([1], "it holds a list.*Save the model's state_dict"),
}


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_checkpoint_is_refused_with_a_sentence_and_nothing_in_it_is_run(kind, model, tmp_path, capsys) -> None:
    content, words = BAD[kind]
    content = content(model.state_dict()) if callable(content) else content
    with pytest.raises(BackboneError, match=words) as caught:
        loaded(tmp_path, content, model if "tower" in kind else None)
    assert "mine.pth.tar" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert "never" not in capsys.readouterr().out
