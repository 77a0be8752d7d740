"""Pictures to features: open_clip's numbers, the gradient of the pixels, and what makes a tower faster changes neither."""

import copy
from pathlib import Path

import open_clip
import pytest
import torch
from timm.layers import Conv2dSame
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.records.errors import BackboneError
from rita_demo.vlm import registry
from rita_demo.vlm.backbone import Backbone, put_tokens_first
from rita_demo.vlm.fold_batchnorm import fold_batchnorm
from rita_demo.vlm.registry import load, untrained
from tests.vlm.comparison import assert_same_picture_features, assert_same_text_features, with_few_layers


@pytest.fixture(scope="module")
def backbone(tiny_model_dir: Path) -> Backbone:
    return load(f"local-dir:{tiny_model_dir}", device="cpu", precision="float32")


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "pixels",
    [torch.rand(1, 3, 10, 20), torch.rand(3, 64, 64), torch.zeros(1, 3, 64, 64, dtype=torch.uint8)],
    ids=["oblong", "no batch", "bytes"],
)
def test_an_invalid_batch_gives_an_error_message(backbone: Backbone, pixels) -> None:
    for encode in (backbone.encode_pixels, backbone.encode_views):
        with pytest.raises(BackboneError, match="square pictures"):
            encode(pixels)
    with pytest.raises(BackboneError, match="64, 64"):
        backbone.encode_views(torch.rand(2, 3, 100, 100))  # not the side of the model


# --- batch norms folded into convolutions


def with_random_batch_norms(tower: nn.Module) -> nn.Module:
    """Batch norms as after training: fresh ones change nothing, and any folding of them would seem right."""
    generator = torch.Generator().manual_seed(1)
    for module in tower.modules():
        if isinstance(module, nn.BatchNorm2d):
            for number in (module.weight.data, module.running_var):
                number.copy_(0.5 + torch.rand(number.shape, generator=generator))
            for number in (module.bias.data, module.running_mean):
                number.copy_(0.2 * torch.randn(number.shape, generator=generator))
    return tower.eval().requires_grad_(False)


@pytest.mark.slow
def test_folding_does_not_change_resnet_features() -> None:
    torch.manual_seed(0)
    config = open_clip.get_model_config("RN50")
    config["vision_cfg"]["layers"] = [1, 1, 1, 1]
    tower = with_random_batch_norms(open_clip.CLIP(**config).visual)
    own = fold_batchnorm(tower, 224)
    assert own is not None
    assert not any(isinstance(module, nn.BatchNorm2d) for module in own.modules())
    assert any(isinstance(module, nn.BatchNorm2d) for module in tower.modules())  # left as it was
    pixels = torch.randn(3, 3, 224, 224)
    wanted = tower(pixels)
    torch.testing.assert_close(own(pixels), wanted, atol=1e-5 * float(wanted.norm()), rtol=1e-5)


@pytest.mark.parametrize("side", [31, 32, 33])
@pytest.mark.parametrize(("size", "step"), [(3, 1), (3, 2), (5, 2), (2, 2), (3, 3)])
def test_asymmetric_padding_becomes_part_of_the_kernel(side: int, size: int, step: int) -> None:
    torch.manual_seed(0)
    convolution = Conv2dSame(3, 4, size, step, bias=False)
    tower = with_random_batch_norms(nn.Sequential(convolution, nn.BatchNorm2d(4), nn.Flatten()))
    own = fold_batchnorm(tower, side)
    assert own is not None
    assert not any(isinstance(module, Conv2dSame) for module in own.modules())
    pixels = torch.randn(2, 3, side, side)
    torch.testing.assert_close(own(pixels), tower(pixels), atol=1e-5, rtol=1e-5)


class BranchingModel(nn.Module):
    """A convolution whose answer goes through a batch norm and past it."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, pixels: Tensor) -> Tensor:
        answer = self.convolution(pixels)
        return (answer + self.norm(answer)).mean((2, 3))


def test_nothing_is_folded_where_it_would_change_the_output_or_without_a_batch_norm() -> None:
    assert fold_batchnorm(with_random_batch_norms(BranchingModel()), 16) is None
    assert fold_batchnorm(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten()).eval(), 16) is None


# --- tokens first: the transformer that a GPU differentiates multiplies all pictures at once


def answer_and_slope(model: Backbone, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Features of pictures, and the gradient of some of them."""
    pixels = pixels.clone().requires_grad_()
    features = model.encode_pixels(pixels)
    return features.detach(), torch.autograd.grad(features[:, :3].sum(), pixels)[0]


@pytest.mark.slow
def test_with_the_tokens_first_a_transformer_gives_the_same_answers() -> None:
    model = untrained("ViT-S-32-alt", "cpu", "float32")
    turned = copy.deepcopy(model)
    put_tokens_first(turned._visual)
    pixels = torch.rand(3, 3, model.side, model.side, generator=torch.Generator().manual_seed(0))
    for ours, theirs in zip(answer_and_slope(turned, pixels), answer_and_slope(model, pixels), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(turned.encode_views(pixels), model.encode_views(pixels), atol=1e-6, rtol=1e-5)
