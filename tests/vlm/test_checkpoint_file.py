"""Weights load beside numbers of numpy; a file of another kind is called by its name; nothing that a file holds is run."""

import argparse
import gzip
import json
import struct
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save, save_file

from rita_demo.records.errors import BackboneError
from rita_demo.vlm.checkpoint_file import SUFFIXES, is_checkpoint_name, read_checkpoint
from rita_demo.vlm.registry import load
from tests.vlm.hub import random_model, shrink

WEIGHTS = {"proj": torch.arange(6.0).reshape(2, 3)}
BESIDE = {
    "best_acc1": np.mean([50.0, 51.0]),
    "epoch": np.int64(9),
    "half": np.float16(0.5),
    "amp": np.bool_(True),
    "name": np.str_("TeCoA"),
    "per class": np.arange(3.0),
    "seeds": np.random.default_rng(0).integers(0, 9, 3, np.uint8),
}


def saved(path: Path, content: Any, **options: Any) -> Path:
    torch.save(content, path, **options)
    return path


@pytest.mark.parametrize("suffix", [*SUFFIXES[1:], ".pth.tar", ".pt.tar", ".PTH.TAR"])
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "pickle"])
def test_numbers_and_arrays_of_numpy_beside_weights_are_no_program(suffix: str, zipped: bool, tmp_path: Path) -> None:
    path = saved(tmp_path / f"best{suffix}", WEIGHTS | BESIDE, _use_new_zipfile_serialization=zipped)
    found = read_checkpoint(path)
    assert torch.equal(found["proj"], WEIGHTS["proj"])
    assert found["best_acc1"] == 50.5
    assert found["per class"].tolist() == [0, 1, 2]
    assert is_checkpoint_name(path.name)


def test_numbers_that_numpy_1_saved_load(tmp_path: Path) -> None:
    path = saved(tmp_path / "old.pt", WEIGHTS | {"best": np.float64(2)}, _use_new_zipfile_serialization=False)
    data = path.read_bytes()
    assert b"numpy._core.multiarray\nscalar" in data
    path.write_bytes(data.replace(b"numpy._core.multiarray\nscalar", b"numpy.core.multiarray\nscalar"))
    assert read_checkpoint(path)["best"] == 2


def test_the_allowed_names_are_forgotten_again(tmp_path: Path) -> None:
    # A list in no order: torch keeps a set.
    before = set(torch.serialization.get_safe_globals())
    read_checkpoint(saved(tmp_path / "a.pt", WEIGHTS | BESIDE))
    assert set(torch.serialization.get_safe_globals()) == before


@pytest.mark.parametrize(
    "thing",
    [argparse.Namespace(lr=1), Path("x"), torch.nn.Linear(2, 2), np.array([argparse.Namespace()], dtype=object)],
    ids=lambda thing: type(thing).__name__,
)
def test_objects_are_not_opened_and_are_named(thing: object, tmp_path: Path) -> None:
    path = saved(tmp_path / "objects.pt", WEIGHTS | {"thing": thing})
    with pytest.raises(BackboneError, match=r"holds a program or objects \([\w.]+\), and is not opened"):
        read_checkpoint(path)


def test_the_content_decides_and_not_the_suffix(tmp_path: Path) -> None:
    save_file(WEIGHTS, tmp_path / "really.pt")
    saved(tmp_path / "really.safetensors", WEIGHTS)
    for name in ("really.pt", "really.safetensors"):
        assert torch.equal(read_checkpoint(tmp_path / name)["proj"], WEIGHTS["proj"])


def zip_of(path: Path, name: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, b"123")


def tar_of(path: Path) -> None:
    (path.parent / "inside.pt").write_bytes(b"123")
    with tarfile.open(path, "w") as file:
        file.add(path.parent / "inside.pt", "inside.pt")


def torch_bytes(path: Path, **options: Any) -> bytes:
    return saved(path, WEIGHTS, **options).read_bytes()


DAMAGED = "it is damaged, or another kind of file"
OTHER_KINDS: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "web page": (
        "a.pt",
        lambda p: p.write_text("\n<!DOCTYPE html><p>Virus scan"),
        "it is a web page. The download got",
    ),
    "web page 2": ("a.safetensors", lambda p: p.write_text("<html>"), "it is a web page"),
    "web page in UTF-16": ("a.bin", lambda p: p.write_text("<html>", "utf-16"), "it is a web page"),
    "LFS pointer": ("a.pt", lambda p: p.write_text("version https://git-lfs.github.com/spec/v1\noid"), "git lfs pull"),
    "empty": ("a.pt", lambda p: p.write_bytes(b""), "it is an empty file"),
    "JSON": ("a.pth", lambda p: p.write_text(json.dumps({"e": {"error": "gone"}})), "it is a JSON text"),
    "JSON 2": ("a.safetensors", lambda p: p.write_text('{"a":1,\n{}'), "it is a JSON text"),
    "XML": ("a.bin", lambda p: p.write_text("<?xml version='1.0'?><Error/>"), "it is an XML text"),
    "text": ("a.ckpt", lambda p: p.write_text("Not Found"), "it is plain text"),
    "another zip": ("a.pt", lambda p: zip_of(p, "model.pt"), "a zip archive without weights"),
    "tar": ("a.tar", tar_of, "it is a tar archive. Unpack it"),
    "gzip": ("a.pth.tar", lambda p: p.write_bytes(gzip.compress(b"1")), "it is a gzip archive. Unpack it"),
    "array": ("a.bin", lambda p: np.save(p.open("wb"), np.ones(3)), DAMAGED),
    "folder": ("a.pt", lambda p: p.mkdir(), "is a folder"),
    "zip cut off": ("a.pt", lambda p: p.write_bytes(torch_bytes(p)[:500]), "it is cut off"),
    "pickle cut off": (
        "a.pt",
        lambda p: p.write_bytes(torch_bytes(p, _use_new_zipfile_serialization=False)[:100]),
        DAMAGED,
    ),
    "other protocol": ("a.pt", lambda p: saved(p, WEIGHTS, pickle_protocol=4), "without pickle_protocol"),
    "safetensors cut off": ("a.safetensors", lambda p: p.write_bytes(save(WEIGHTS)[:-3]), "it is cut off"),
    "header too long": (
        "a.safetensors",
        lambda p: p.write_bytes(struct.pack("<Q", 10**12) + save(WEIGHTS)[8:]),
        DAMAGED,
    ),
    "header no JSON": (
        "a.safetensors",
        lambda p: p.write_bytes(save(WEIGHTS)[:8] + b"{{" + save(WEIGHTS)[10:]),
        DAMAGED,
    ),
    "noise": ("a.pt", lambda p: p.write_bytes(np.random.default_rng(0).bytes(999)), DAMAGED),
    "zeros": ("a.pt", lambda p: p.write_bytes(bytes(999)), DAMAGED),
}


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize(("name", "write", "said"), OTHER_KINDS.values(), ids=OTHER_KINDS)
def test_another_kind_of_file_is_called_by_its_name(
    name: str, write: Callable[[Path], Any], said: str, tmp_path: Path
) -> None:
    write(tmp_path / name)
    with pytest.raises(BackboneError) as caught:
        read_checkpoint(tmp_path / name)
    assert said in str(caught.value)
    assert name in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


class Archive(torch.nn.Module):
    """What OpenAI's archives are: the weights of CLIP in half precision, and three numbers about it."""

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name, value in {"input_resolution": torch.tensor(64), "context_length": torch.tensor(77)}.items():
            self.register_buffer(name, value)
        self.register_buffer("vocab_size", torch.tensor(49408))
        for name, value in weights.items():
            *folder, last = name.split(".")
            place: torch.nn.Module = self
            for part in folder:
                if not hasattr(place, part):
                    place.add_module(part, torch.nn.Module())
                place = getattr(place, part)
            place.register_buffer(last, value.half())

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels


def test_the_lines_that_convert_openai_s_own_file_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    architecture = "ViT-B-32-quickgelu"
    model = random_model(shrink(monkeypatch, architecture), seed=0)
    path = tmp_path / "ViT-B-32.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated; OpenAI's files stay as they are
        torch.jit.save(torch.jit.script(Archive(model.state_dict())), path)
    with pytest.raises(BackboneError, match="TorchScript archive") as caught:
        load(f"{architecture}:{path}", "cpu")
    lines = [line.strip() for line in caught.value.hint.splitlines() if line.startswith("  ")]
    assert len(lines) == 2
    subprocess.run([sys.executable, "-W", "ignore", "-c", "\n".join(lines)], cwd=tmp_path, check=True)
    assert "name ViT-B-32-plain.pt" in caught.value.hint
    ours = load(f"{architecture}:{tmp_path / 'ViT-B-32-plain.pt'}", "cpu", "float32")
    pixels = torch.rand(1, 3, 64, 64)
    with torch.no_grad():
        theirs = model.encode_image((pixels - ours._mean) / ours._std, normalize=True)
    torch.testing.assert_close(ours.encode_pixels(pixels), theirs, atol=2e-3, rtol=0)
