"""Pictures to features: open_clip's numbers, the gradient of the pixels, error messages."""

from pathlib import Path

import open_clip
import pytest
import torch
from torch.nn import functional as F

from rita_demo.records.errors import BackboneError
from rita_demo.vlm import registry
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import load
from tests.vlm.comparison import assert_same_picture_features, assert_same_text_features, with_few_layers


@pytest.fixture(scope="module")
def backbone(tiny_model_dir: Path) -> Backbone:
    return load(f"local-dir:{tiny_model_dir}", device="cpu", precision="float32")


@pytest.mark.parametrize("architecture", ["ViT-B-32-quickgelu", "RN50-quickgelu", "EVA02-B-16", "ViT-B-32"])
def test_features_equal_open_clip(architecture: str) -> None:
    config = with_few_layers(architecture)
    if architecture == "EVA02-B-16":  # this config has no projection behind the timm model
        config["vision_cfg"]["timm_model_name"], config["embed_dim"] = "eva02_tiny_patch14_224", 192
    torch.manual_seed(0)
    model = registry._build(config, architecture).eval()
    ours = Backbone(model, open_clip.get_tokenizer(architecture), name=architecture, title="t")
    assert_same_picture_features(model, ours)
    assert_same_text_features(model, ours, ["cat", "soy milk carton"])
    assert ours.side == 224


def test_the_gradient_reaches_the_pixels_and_no_weight(backbone: Backbone) -> None:
    torch.manual_seed(0)
    pixels = (0.2 + 0.6 * torch.rand(1, 3, 100, 100)).requires_grad_()
    goal = torch.randn(backbone.info.width)
    (backbone.encode_pixels(pixels) @ goal).sum().backward()
    direction, step = pixels.grad / pixels.grad.norm(), 0.05
    with torch.no_grad():
        ahead, behind = (backbone.encode_pixels(pixels + s * direction) for s in (step, -step))
    slope = float(((ahead - behind).double() @ goal.double()).sum() / (2 * step))
    assert abs(slope - float(pixels.grad.norm())) < 0.05 * abs(slope)
    assert all(not p.requires_grad and p.grad is None for p in backbone._visual.parameters())


def test_a_larger_square_is_resized_as_pil_would(backbone: Backbone) -> None:
    torch.manual_seed(0)
    pixels = torch.rand(1, 3, 150, 150)
    size = (backbone.side, backbone.side)
    small = F.interpolate(pixels, size=size, mode="bicubic", antialias=True).clamp(0, 1)
    torch.testing.assert_close(backbone.encode_pixels(pixels), backbone.encode_pixels(small))


def test_view_features_can_be_used_in_a_later_gradient(backbone: Backbone) -> None:
    features = backbone.encode_views(torch.rand(70, 3, backbone.side, backbone.side))
    prompts = torch.randn(4, backbone.info.width, requires_grad=True)
    (features @ prompts.T).square().sum().backward()
    assert prompts.grad is not None
    torch.testing.assert_close(features.norm(dim=1), torch.ones(70))


@pytest.mark.parametrize(
    "pixels",
    [
        torch.rand(1, 3, 10, 20),
        torch.rand(3, 64, 64),
        torch.rand(1, 1, 64, 64),
        torch.zeros(1, 3, 64, 64, dtype=torch.uint8),
        torch.rand(0, 3, 64, 64),
    ],
    ids=["oblong", "no batch", "grey", "bytes", "empty"],
)
def test_an_invalid_batch_gives_an_error_message(backbone: Backbone, pixels) -> None:
    for encode in (backbone.encode_pixels, backbone.encode_views):
        with pytest.raises(BackboneError, match="square pictures"):
            encode(pixels)
    with pytest.raises(BackboneError, match="64, 64"):
        backbone.encode_views(torch.rand(2, 3, 100, 100))  # not the side of the model
