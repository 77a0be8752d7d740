"""A model that runs out of memory, or answers with what is no number: the engine goes on, or says a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from rita_demo import vlm
from rita_demo.data.pictures import picture_of
from rita_demo.engine import Engine
from rita_demo.errors import BackboneError
from rita_demo.settings import RECOMMENDED
from tests.data.hostile import photo

PICTURE, NAMES = picture_of(photo(64, 64)), ("cat", "dog", "cup")
SETTINGS = RECOMMENDED.but(views=16, tuning_steps=0, prompts=2, attack="pgd", steps=2)
ROOM = "needs more memory than its device has left"


class Narrow(nn.Module):
    """An image encoder on a device that holds ``most`` pictures; ``tried`` are the sizes it was asked for."""

    def __init__(self, whole: nn.Module, most: int) -> None:
        super().__init__()
        self.whole, self.most, self.tried = whole, most, list[int]()

    def forward(self, pixels: Tensor) -> Tensor:
        self.tried.append(len(pixels))
        if len(pixels) > self.most:
            raise torch.OutOfMemoryError(f"no room for {len(pixels)}")
        return self.whole(pixels)


class Broken(nn.Module):
    """An image encoder that answers NaN."""

    def __init__(self, whole: nn.Module) -> None:
        super().__init__()
        self.whole = whole

    def forward(self, pixels: Tensor) -> Tensor:
        return self.whole(pixels) * torch.nan


@pytest.fixture
def backbone(tiny_model_dir: Path) -> Any:
    return vlm.load(f"local-dir:{tiny_model_dir}", "cpu", "float32")


@pytest.mark.parametrize(
    ("most", "tried"),
    [(15, [16, 8, 8]), (5, [16, 8, 4, 4, 4, 4]), (1, [16, 8, 4, 2, *[1] * 16])],
)
def test_views_that_do_not_fit_are_encoded_in_halves(backbone: Any, most: int, tried: Any) -> None:
    whole = Engine(backbone).look(PICTURE, SETTINGS)
    backbone._visual = narrow = Narrow(backbone._visual, most)
    halved = Engine(backbone).look(PICTURE, SETTINGS)
    assert halved.features == pytest.approx(whole.features, abs=1e-5)
    assert narrow.tried == tried


def test_where_one_does_not_fit_there_is_a_sentence_and_the_next_picture_works(
    backbone: Any,
) -> None:
    engine = Engine(backbone)
    bank = engine.classes(NAMES, SETTINGS)
    backbone._visual = narrow = Narrow(backbone._visual, 0)
    with pytest.raises(BackboneError, match=ROOM):
        engine.look(PICTURE, SETTINGS)
    with pytest.raises(BackboneError, match=ROOM):  # nothing to halve: one picture, its gradient
        engine.attack(PICTURE, bank, SETTINGS, 0)
    narrow.most = 64
    assert engine.attack(PICTURE, bank, SETTINGS, 0).pixels.shape == PICTURE.pixels.shape
    assert np.isfinite(engine.look(PICTURE, SETTINGS).features).all()


def test_prompts_that_do_not_fit_are_a_sentence(
    backbone: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError

    engine = Engine(backbone)
    with monkeypatch.context() as patch:
        patch.setattr(vlm, "build_prompts", full)
        with pytest.raises(BackboneError, match=ROOM):
            engine.classes(NAMES, SETTINGS)
    assert engine.classes(NAMES, SETTINGS).names == NAMES


def test_an_answer_that_is_no_number_is_a_sentence_and_is_not_kept(backbone: Any) -> None:
    engine, whole = Engine(backbone), backbone._visual
    backbone._visual = Broken(whole)
    with pytest.raises(BackboneError, match="not a number"):
        engine.look(PICTURE, SETTINGS)
    backbone._visual = whole
    assert np.isfinite(engine.look(PICTURE, SETTINGS).features).all()
    with torch.no_grad():
        backbone.tower.ln_final.weight.fill_(torch.nan)
    with pytest.raises(BackboneError, match="not a number"):
        engine.classes(NAMES, SETTINGS)


def test_a_checkpoint_full_of_nan_is_refused_when_it_is_loaded(
    tiny_model_dir: Path, tmp_path: Path
) -> None:
    for file in tiny_model_dir.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(tmp_path / "open_clip_model.safetensors")
    key = next(
        name for name in weights if name.startswith("visual") and name.endswith("proj.weight")
    )
    weights[key] = weights[key] * torch.nan
    save_file(weights, tmp_path / "open_clip_model.safetensors")
    with pytest.raises(BackboneError, match="not a number"):
        vlm.load(f"local-dir:{tmp_path}", "cpu", "float32")
