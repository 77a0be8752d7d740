"""Public weights under other names are loaded into the trunk, or give an error message."""

from pathlib import Path

import pytest
import timm
import torch

from rita_demo.records.errors import DemoError
from rita_demo.training.model_config import build_model
from rita_demo.training.teacher import load_pretrained
from tests.training.drawn_data import TINY


def public_package(folder: Path, monkeypatch: pytest.MonkeyPatch, architecture: str) -> None:
    """A package `public_weights` on the path, with weights under other names and a classifier."""
    (folder / "public_weights" / "models").mkdir(parents=True)
    (folder / "public_weights" / "__init__.py").write_text("raise RuntimeError('never imported')")
    there = timm.create_model(architecture).state_dict()
    renamed = {f"other.{n}": tensor for n, tensor in enumerate(there.values()) if tensor.ndim}
    torch.save(renamed, folder / "public_weights" / "models" / "weights.pth")
    monkeypatch.syspath_prepend(str(folder))


def test_pretrained_weights_are_loaded_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    public_package(tmp_path, monkeypatch, "test_efficientnet")
    visual = build_model(TINY, seed=0).visual.eval()
    before = visual.trunk.conv_stem.weight.clone()
    assert "starts from the ImageNet weights" in load_pretrained(visual, "public_weights")
    there = torch.load(tmp_path / "public_weights" / "models" / "weights.pth", weights_only=True)
    assert torch.equal(visual.trunk.conv_stem.weight, there["other.0"])
    assert not torch.equal(visual.trunk.conv_stem.weight, before)
    own = [tensor for tensor in visual.trunk.state_dict().values() if tensor.ndim]
    assert all(torch.equal(a, b) for a, b in zip(own, there.values(), strict=False))


def test_weights_of_another_architecture_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    public_package(tmp_path, monkeypatch, "test_resnet")
    with pytest.raises(DemoError, match="belong to another architecture"):
        load_pretrained(build_model(TINY, seed=0).visual, "public_weights")


def test_without_the_package_training_warns_and_starts_from_random_weights() -> None:
    visual = build_model(TINY, seed=0).visual
    before = visual.trunk.conv_stem.weight.clone()
    assert "not installed" in load_pretrained(visual, "no_such_package")
    assert "random weights" in load_pretrained(visual, "")
    assert torch.equal(visual.trunk.conv_stem.weight, before)
