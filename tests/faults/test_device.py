"""A model that runs out of memory or returns NaN: the engine recovers, or raises one sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from starlette.applications import Starlette
from starlette.testclient import TestClient
from torch import Tensor, nn

from rita_demo.data.pictures import picture_of
from rita_demo.engine.engine import Engine
from rita_demo.engine.loading import failure_of
from rita_demo.records.errors import BackboneError
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.registry import load
from tests.data.hostile import photo

PICTURE, NAMES = picture_of(photo(64, 64)), ("cat", "dog", "cup")
SETTINGS = RECOMMENDED.replace(views=16, tuning_steps=0, prompts=2, attack="pgd", steps=2)
OUT_OF_MEMORY_TEXT = "needs more memory than its device has left"


class Tower(nn.Module):
    """A vision tower that ``forward`` computes from the real one and the pixels; ``batch_sizes`` lists the batches it
    got."""

    def __init__(self, backbone: Any, forward: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.real, self.compute, self.batch_sizes = backbone._visual, forward, list[int]()
        backbone._visual, backbone._folded = self, None  # also its copy with folded batch norms

    def forward(self, pixels: Tensor) -> Tensor:
        self.batch_sizes.append(len(pixels))
        return self.compute(self.real, pixels)


def full(kind: str = "cuda") -> None:
    """What torch raises on a device whose memory is full."""
    if kind == "cuda":
        raise torch.OutOfMemoryError("no room")
    torch.empty(1 << 60, dtype=torch.uint8)


def limited(most: int, kind: str = "cuda") -> Callable[[nn.Module, Tensor], Tensor]:
    """A device that holds so many pictures."""

    def forward(real: nn.Module, pixels: Tensor) -> Tensor:
        if len(pixels) > most:
            full(kind)
        return real(pixels)

    return forward


@pytest.fixture
def backbone(tiny_model_dir: Path) -> Any:
    return load(f"local-dir:{tiny_model_dir}", "cpu", "float32")


@pytest.mark.parametrize("kind", ["cuda", "cpu"])
@pytest.mark.parametrize(("most", "tried"), [(15, [16, 8, 8]), (5, [16, 8, 4, 4, 4, 4]), (1, [16, 8, 4, 2, *[1] * 16])])
def test_views_that_do_not_fit_are_encoded_in_halves(backbone: Any, kind: str, most: int, tried: Any) -> None:
    backbone.one_core = False
    whole = Engine(backbone).encode_views(PICTURE, SETTINGS)
    narrow = Tower(backbone, limited(most, kind))
    halved = Engine(backbone).encode_views(PICTURE, SETTINGS)
    assert halved.features == pytest.approx(whole.features, abs=1e-5)
    assert narrow.batch_sizes == tried


@pytest.mark.parametrize("kind", ["cuda", "cpu"])
def test_out_of_memory_gives_an_error_message_and_the_next_picture_works(backbone, kind, monkeypatch) -> None:
    engine = Engine(backbone)
    with monkeypatch.context() as patch:
        patch.setattr("rita_demo.engine.encoding.build_prompts", lambda *_: full(kind))
        with pytest.raises(BackboneError, match=OUT_OF_MEMORY_TEXT):
            engine.encode_classes(NAMES, SETTINGS)
    class_prompts = engine.encode_classes(NAMES, SETTINGS)
    narrow = Tower(backbone, limited(0, kind))
    with pytest.raises(BackboneError, match=OUT_OF_MEMORY_TEXT):
        engine.encode_views(PICTURE, SETTINGS)
    with pytest.raises(BackboneError, match=OUT_OF_MEMORY_TEXT):  # nothing to halve: one picture, its gradient
        engine.attack(PICTURE, class_prompts, SETTINGS, 0)
    narrow.compute = limited(64)
    assert engine.attack(PICTURE, class_prompts, SETTINGS, 0).pixels.shape == PICTURE.pixels.shape
    assert np.isfinite(engine.encode_views(PICTURE, SETTINGS).features).all()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (torch.OutOfMemoryError("full"), OUT_OF_MEMORY_TEXT),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"), OUT_OF_MEMORY_TEXT),
        (torch.AcceleratorError("CUDA error: unspecified launch failure"), "graphics card does not answer"),
    ],
)
def test_a_model_that_its_device_does_not_take_is_not_called_damaged(tiny_model_dir, monkeypatch, error, said) -> None:
    def refuse(*_: Any) -> None:
        raise error

    monkeypatch.setattr(nn.Module, "to", refuse)
    with pytest.raises(BackboneError, match=said):
        load(f"local-dir:{tiny_model_dir}", "cpu", "float32")


def test_a_graphics_card_that_no_longer_answers_is_a_sentence_and_makes_the_server_unhealthy(backbone: Any) -> None:
    from rita_demo.server.launch import health  # here, so that FULL's process does not import gradio

    def lost(real: nn.Module, pixels: Tensor) -> Tensor:
        raise torch.AcceleratorError("CUDA error: unspecified launch failure")

    engine = Engine(backbone)
    assert failure_of(engine) is None
    tower = Tower(backbone, lost)
    for _ in range(2):
        with pytest.raises(BackboneError, match="graphics card does not answer"):
            engine.encode_views(PICTURE, SETTINGS)
    assert tower.batch_sizes == [16, 1]  # the second one did not try
    assert "started again" in str(failure_of(engine))
    app = Starlette(routes=[health(lambda: True, lambda: failure_of(engine))])
    assert TestClient(app).get("/health").status_code == 503


def test_nan_output_gives_an_error_message_and_is_not_cached(backbone: Any) -> None:
    engine, whole = Engine(backbone), backbone._visual
    Tower(backbone, lambda real, pixels: real(pixels) * torch.nan)
    with pytest.raises(BackboneError, match="not a number"):
        engine.encode_views(PICTURE, SETTINGS)
    backbone._visual = whole
    assert np.isfinite(engine.encode_views(PICTURE, SETTINGS).features).all()
    with torch.no_grad():
        backbone.tower.ln_final.weight.fill_(torch.nan)
    with pytest.raises(BackboneError, match="not a number"):
        engine.encode_classes(NAMES, SETTINGS)


def test_a_checkpoint_full_of_nan_is_refused_when_it_is_loaded(tiny_model_dir: Path, tmp_path: Path) -> None:
    for file in tiny_model_dir.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(tmp_path / "open_clip_model.safetensors")
    key = next(name for name in weights if name.startswith("visual") and name.endswith("proj.weight"))
    weights[key] = weights[key] * torch.nan
    save_file(weights, tmp_path / "open_clip_model.safetensors")
    with pytest.raises(BackboneError, match="not a number"):
        load(f"local-dir:{tmp_path}", "cpu", "float32")
