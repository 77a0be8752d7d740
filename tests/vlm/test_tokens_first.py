"""The vision transformer that a GPU differentiates multiplies all pictures at once."""

import copy

import pytest
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import untrained
from rita_demo.vlm.tokens_first import put_tokens_first


def answer_and_slope(model: Backbone, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Features of pictures, and the gradient of some of them."""
    pixels = pixels.clone().requires_grad_()
    features = model.encode_pixels(pixels)
    return features.detach(), torch.autograd.grad(features[:, :3].sum(), pixels)[0]


def products(model: Backbone, pixels: Tensor) -> int:
    """How many products of a batch with a weight of the tower are cut into one for each token."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
        answer_and_slope(model, pixels)
    shapes = [event.input_shapes for event in seen.events() if event.name == "aten::bmm"]
    return sum(first[1] == len(pixels) for first, *_ in shapes)


def test_with_the_tokens_first_a_transformer_gives_the_same_answers_with_whole_products() -> None:
    model = untrained("ViT-S-32-alt", "cpu", "float32")
    turned = copy.deepcopy(model)
    put_tokens_first(turned._visual)
    pixels = torch.rand(3, 3, model.side, model.side, generator=torch.Generator().manual_seed(0))
    for ours, theirs in zip(answer_and_slope(turned, pixels), answer_and_slope(model, pixels), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(turned.encode_views(pixels), model.encode_views(pixels), atol=1e-6, rtol=1e-5)
    layers = len(model._visual.transformer.resblocks)
    assert (products(model, pixels), products(turned, pixels)) == (2 * layers, 0)


@pytest.mark.parametrize("name", ["RN50", pytest.param("EVA02-B-16", marks=pytest.mark.nightly)])
def test_other_towers_stay_as_they_are(name: str) -> None:
    model = untrained(name, "cpu", "float32")
    before = {key: dict(vars(module)) for key, module in model._visual.named_modules()}
    put_tokens_first(model._visual)
    assert {key: dict(vars(module)) for key, module in model._visual.named_modules()} == before
