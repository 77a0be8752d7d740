"""A CLIP in transformers' names, of TinyCLIP-ViT-8M/16's shape and random weights, has the same features here."""

import json
from pathlib import Path

import open_clip
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from rita_demo.vlm.prompts import encode_sentences
from rita_demo.vlm.registry import load
from tests.oracles.transformers_clip import image_features, text_features
from tools import convert_clip

VISION, TEXT, WORDS, WIDTH, HEADS, PATCH, SIDE = 10, 3, 49408, 256, 4, 16, 224
CONFIG = {
    "model_type": "clip",
    "projection_dim": 512,
    "vision_config": {"hidden_size": WIDTH, "intermediate_size": 4 * WIDTH, "num_hidden_layers": VISION}
    | {"num_attention_heads": HEADS, "patch_size": PATCH, "image_size": SIDE, "hidden_act": "quick_gelu"},
    "text_config": {"hidden_size": WIDTH, "intermediate_size": 4 * WIDTH, "num_hidden_layers": TEXT}
    | {"num_attention_heads": HEADS, "vocab_size": WORDS, "max_position_embeddings": 77, "hidden_act": "quick_gelu"},
}


def shapes() -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor, as transformers saves them."""
    found: dict[str, tuple[int, ...]] = {"logit_scale": (), "visual_projection.weight": (512, WIDTH)}
    found |= {"text_projection.weight": (512, WIDTH)}
    found |= {"vision_model.embeddings.class_embedding": (WIDTH,)}
    found |= {"vision_model.embeddings.patch_embedding.weight": (WIDTH, 3, PATCH, PATCH)}
    found |= {"vision_model.embeddings.position_embedding.weight": ((SIDE // PATCH) ** 2 + 1, WIDTH)}
    found |= {"text_model.embeddings.token_embedding.weight": (WORDS, WIDTH)}
    found |= {"text_model.embeddings.position_embedding.weight": (77, WIDTH)}
    norms = ["vision_model.pre_layrnorm", "vision_model.post_layernorm", "text_model.final_layer_norm"]
    layers = [f"vision_model.encoder.layers.{n}" for n in range(VISION)]
    layers += [f"text_model.encoder.layers.{n}" for n in range(TEXT)]
    for layer in layers:
        norms += [f"{layer}.layer_norm1", f"{layer}.layer_norm2"]
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            found |= {f"{layer}.self_attn.{name}.weight": (WIDTH, WIDTH), f"{layer}.self_attn.{name}.bias": (WIDTH,)}
        found |= {f"{layer}.mlp.fc1.weight": (4 * WIDTH, WIDTH), f"{layer}.mlp.fc1.bias": (4 * WIDTH,)}
        found |= {f"{layer}.mlp.fc2.weight": (WIDTH, 4 * WIDTH), f"{layer}.mlp.fc2.bias": (WIDTH,)}
    return found | {f"{norm}.{kind}": (WIDTH,) for norm in norms for kind in ("weight", "bias")}


@pytest.fixture(scope="module")
def weights() -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(0)
    return {name: 0.05 * torch.randn(shape, generator=random) for name, shape in shapes().items()}


@pytest.fixture
def downloaded(weights: dict[str, Tensor], tmp_path: Path) -> Path:
    folder = tmp_path / "downloaded"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    save_file(weights, folder / "model.safetensors")
    return folder


@pytest.mark.slow
def test_a_converted_model_has_the_features_of_the_original(weights, downloaded, tmp_path, capsys) -> None:
    assert convert_clip.main([str(downloaded), str(tmp_path / "tiny")]) == 0
    assert f"--backbone local-dir:{tmp_path / 'tiny'}" in capsys.readouterr().out
    ours = load(f"local-dir:{tmp_path / 'tiny'}", "cpu", "float32")
    assert ours.info.parameters == sum(tensor.numel() for tensor in weights.values())
    assert "quick-GELU" in ours.info.note
    sentences = ["a photo of a cat.", "a striped texture."]
    with torch.no_grad():
        pixels = torch.rand(2, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(1))
        theirs = image_features((pixels - ours._mean) / ours._std, weights, HEADS)
        torch.testing.assert_close(ours.encode_pixels(pixels), theirs, atol=1e-5, rtol=0)
        theirs = text_features(open_clip.tokenize(sentences), weights, HEADS)
        torch.testing.assert_close(encode_sentences(ours, sentences), theirs, atol=1e-5, rtol=0)
