"""Compare our features with open_clip's ``encode_image`` and ``encode_text`` of the same model."""

from collections.abc import Sequence
from typing import Any

import open_clip
import torch
from torch.nn import functional as F

from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.prompts import DEFAULT_START, build_prompts, encode_sentences

LAYERS = 2  # the first one's output still holds every token, the last one's only the pooled one
NAMES = ("cat", "polka-dotted", "soy milk carton", "São Tomé 🦀 <b>bold</b>", "x" * 300, "Dog's")


def randomise_weights(model: torch.nn.Module) -> torch.nn.Module:
    """The same model, its weights moved: biases and scales start at 0 and 1, which hides mistakes."""
    for parameter in model.parameters():
        if parameter.ndim and len(parameter) < 30_000:  # the vocabulary's are random anyway, and many
            parameter.data += 0.02 * torch.randn(parameter.shape)
    return model


def with_few_layers(architecture: str) -> dict[str, Any]:
    """An architecture's open_clip config with few layers, apart from those of timm's towers."""
    config = open_clip.get_model_config(architecture)
    config["text_cfg"]["layers"], vision = LAYERS, config["vision_cfg"]
    if "timm_model_name" not in vision:
        vision["layers"] = [1] * 4 if isinstance(vision["layers"], list) else LAYERS
    return config


def assert_same_text_features(model: Any, ours: Backbone, names: Sequence[str] = NAMES) -> None:
    """Sentences, hand prompts and every template of every class, whatever their length."""
    sentences = [f"{DEFAULT_START} {name}." for name in names]
    with torch.no_grad():
        expected = F.normalize(model.encode_text(ours.tower.tokenizer(sentences)), dim=-1)
    torch.testing.assert_close(encode_sentences(ours, sentences), expected, atol=1e-5, rtol=0)
    prompts = build_prompts(ours, tuple(names), RECOMMENDED)
    torch.testing.assert_close(prompts.template_features, expected, atol=1e-5, rtol=0)
    written = [sentence for row in prompts.prompts for sentence in row]
    with torch.no_grad():
        every = F.normalize(model.encode_text(ours.tower.tokens(written)), dim=-1)
    torch.testing.assert_close(prompts.features.flatten(0, 1), every, atol=1e-5, rtol=0)


def assert_same_picture_features(model: Any, ours: Backbone, count: int = 2) -> None:
    """Random pictures at the model's side, through both encoders."""
    torch.manual_seed(0)
    pixels = torch.rand(count, 3, ours.side, ours.side)
    with torch.no_grad():
        expected = model.encode_image((pixels - ours._mean) / ours._std, normalize=True)
    torch.testing.assert_close(ours.encode_pixels(pixels), expected, atol=2e-5, rtol=0)
    torch.testing.assert_close(ours.encode_views(pixels), expected, atol=2e-5, rtol=0)
    assert ours.info.width == expected.shape[1]
