"""Batch norms folded into convolutions: the same features, and the same decisions as the unfused model."""

from dataclasses import replace

import numpy as np
import open_clip
import pytest
import torch
from timm.layers import Conv2dSame
from torch import Tensor, nn

from rita_demo.data.samples import available
from rita_demo.data.vocabularies import vocabulary
from rita_demo.engine.engine import Engine
from rita_demo.settings import PAPER, RECOMMENDED, Settings
from rita_demo.vlm.fold_batchnorm import fold_batchnorm
from rita_demo.vlm.registry import load


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [pytest.param(RECOMMENDED, id="recommended"), pytest.param(PAPER, id="paper", marks=pytest.mark.nightly)],
)
def test_decisions_equal_the_unfused_model(settings: Settings) -> None:
    usual = load("embedded", "cpu")
    fast, slow = Engine(usual), Engine(usual.unfused())
    names = vocabulary("caltech101").names
    settings = settings.replace(protocol="off", views=8)
    for one in list(available().values())[:2]:
        picture = one.load(square="model", side=usual.side)
        traces = []
        for engine in (fast, slow):
            encoded_views = engine.encode_views(replace(picture), settings)
            traces.append(engine.decide(encoded_views, engine.encode_classes(names, settings), None, settings)[0])
        quick, plain = traces
        assert quick.verdict.label == plain.verdict.label
        np.testing.assert_allclose(quick.total, plain.total, rtol=1e-3)
