"""The embedded model: its open_clip config, its two encoders for training, its export. The model is an open_clip `CLIP`: timm's EfficientNet-Lite0 (Tan and Le 2019, without squeeze-and-excitation and with
ReLU6), a linear projection, and a causal text transformer; `open_clip.create_model("local-dir:assets/model")` loads it.
The encoders here give the same features as open_clip's; texts end at their last token, which is faster (and exact,
because the text tower is causal)."""

import json
from pathlib import Path
from typing import Any

import torch
from open_clip import CLIP
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.process.output_file import replace_file

MEAN = STD = (0.5, 0.5, 0.5)  # of the trunk's public weights
ANCHORS = "class_anchors"  # a training-only parameter (C, D) of the model, see steps.batch_losses
MODEL_CFG: dict[str, Any] = {
    "embed_dim": 256,
    "vision_cfg": {"image_size": 128, "timm_model_name": "tf_efficientnet_lite0", "timm_model_pretrained": False}
    | {"timm_pool": "avg", "timm_proj": "linear"},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 192, "heads": 3, "layers": 4},
}
PREPROCESS_CFG = {"mean": MEAN, "std": STD, "interpolation": "bicubic", "resize_mode": "shortest"}


def build_model(cfg: dict[str, Any], seed: int, classes: int = 0) -> CLIP:
    """A fresh float32 open_clip model whose weights depend on `seed` only; with that many class anchors, for the training."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = CLIP(**cfg, quick_gelu=False, output_dict=False)
        if classes:
            model.register_parameter(ANCHORS, nn.Parameter(torch.randn(classes, cfg["embed_dim"]) * 0.05))
        return model


def device_of(model: nn.Module) -> torch.device:
    """The device of the weights."""
    return next(model.parameters()).device


def normalised(pixels: Tensor) -> Tensor:
    """(B, 3, S, S) in [0, 1] to the model's input: minus the mean, over the standard deviation."""
    return (pixels - MEAN[0]) / STD[0]


def encode_image(model: CLIP, pixels: Tensor) -> Tensor:
    """`model.encode_image(pixels, normalize=True)`: unit features (B, D) of normalised pixels (B, 3, S, S), any S from 32."""
    return F.normalize(model.visual(pixels).float(), dim=-1)


def encode_text(model: CLIP, tokens: Tensor) -> Tensor:
    """Unit features (T, D) of token ids (T, L): `model.encode_text(tokens, normalize=True)` on the ids padded with zeros.
    Attention is causal, so nothing after the end token can reach it."""
    length = tokens.shape[1]
    x = model.token_embedding(tokens) + model.positional_embedding[:length]
    x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
    x = model.ln_final(x)
    x = x[torch.arange(len(x), device=x.device), tokens.argmax(dim=-1)]
    return F.normalize((x @ model.text_projection).float(), dim=-1)


def export(weights: dict[str, Tensor], cfg: dict[str, Any], seen: list[int], words: bytes, out: Path) -> None:
    """Write config, float16 weights, the ids of the tokens met in training and seen_words.json (`words`) into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    kept = {name: tensor for name, tensor in weights.items() if name not in {"attn_mask", ANCHORS}}
    save_half(kept, out / "open_clip_model.safetensors")
    config = {"model_cfg": cfg, "preprocess_cfg": PREPROCESS_CFG}
    replace_file(out / "open_clip_config.json", json.dumps(config, indent=2).encode() + b"\n")
    replace_file(out / "seen_tokens.json", json.dumps(seen).encode() + b"\n")
    replace_file(out / "seen_words.json", words)


def save_half(weights: dict[str, Tensor], file: Path) -> None:
    """Write weights as safetensors, in float16."""
    half = {name: w.detach().half().contiguous().cpu() if w.is_floating_point() else w for name, w in weights.items()}
    replace_file(file, save(half, metadata={"format": "pt"}))
