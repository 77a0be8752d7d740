"""The embedded model: its open_clip config, its two encoders for training, its export.

The model is a plain open_clip `CLIP` (ModifiedResNet of Radford et al. 2021, made small, and a
causal text transformer). Nothing here is needed to use it:
`open_clip.create_model("local-dir:assets/model")` is enough. The encoders below give the same
features as open_clip's, only faster in training: texts are cut after their last token (exact,
because the text tower is causal), and pictures may be smaller than the config's size.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from open_clip import CLIP
from open_clip.modified_resnet import ModifiedResNet
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

MEAN = (0.48145466, 0.4578275, 0.40821073)
STD = (0.26862954, 0.26130258, 0.27577711)

ANCHORS = "class_anchors"  # a training-only parameter (C, D) of the model, see loss.anchor_loss

MODEL_CFG: dict[str, Any] = {
    "embed_dim": 256,
    "vision_cfg": {"image_size": 112, "layers": [1, 2, 2, 1], "width": 32, "patch_size": None},
    "text_cfg": {
        "context_length": 77,
        "vocab_size": 49408,
        "width": 192,
        "heads": 3,
        "layers": 4,
    },
}

PREPROCESS_CFG: dict[str, Any] = {
    "mean": list(MEAN),
    "std": list(STD),
    "interpolation": "bicubic",
    "resize_mode": "shortest",
}


Trunk = Callable[[ModifiedResNet, Tensor], Tensor]


def build_model(cfg: dict[str, Any], seed: int, classes: int = 0) -> CLIP:
    """A fresh float32 open_clip model whose weights depend on `seed` only.

    With `classes`, it also carries that many class anchors, which training uses and drops.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = CLIP(**cfg, quick_gelu=False, output_dict=False)
        if classes:
            model.register_parameter(
                ANCHORS, nn.Parameter(torch.randn(classes, cfg["embed_dim"]) * 0.05)
            )
        return model


def device_of(model: nn.Module) -> torch.device:
    """Where the weights lie."""
    return next(model.parameters()).device


def trunk(visual: ModifiedResNet, pixels: Tensor) -> Tensor:
    """Normalised pixels (B, 3, S, S) to the last feature map (B, C, S//32, S//32)."""
    x = visual.stem(pixels)
    for layer in (visual.layer1, visual.layer2, visual.layer3, visual.layer4):
        x = layer(x)
    return x


def encode_image(model: CLIP, pixels: Tensor, run_trunk: Trunk = trunk) -> Tensor:
    """Unit image features (B, D) of normalised pixels (B, 3, S, S), S any multiple of 16 from 64.

    At the config's own size this equals `model.encode_image(pixels, normalize=True)`. At other sizes
    the positions of the attention pooling are interpolated, as CLIP's are when it is fine-tuned.
    `run_trunk` lets the training loop pass a compiled trunk.
    """
    visual = model.visual
    feature_map = run_trunk(visual, pixels)
    pool = visual.attnpool
    side, own = feature_map.shape[-1], round((len(pool.positional_embedding) - 1) ** 0.5)
    if side == own:
        return F.normalize(pool(feature_map).float(), dim=-1)
    position = pool.positional_embedding
    grid = position[1:].T.reshape(1, -1, own, own)
    grid = F.interpolate(grid, size=(side, side), mode="bilinear", align_corners=False)
    resized = torch.cat([position[:1], grid.flatten(2)[0].T])
    features = torch.func.functional_call(pool, {"positional_embedding": resized}, (feature_map,))
    return F.normalize(features.float(), dim=-1)


def encode_text(model: CLIP, tokens: Tensor) -> Tensor:
    """Unit text features (T, D) of token ids (T, L), L at most the context length.

    Equals `model.encode_text(tokens, normalize=True)` on the ids padded with zeros: attention is
    causal, so nothing after the end token can reach it.
    """
    length = tokens.shape[1]
    x = model.token_embedding(tokens) + model.positional_embedding[:length]
    x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
    x = model.ln_final(x)
    x = x[torch.arange(len(x), device=x.device), tokens.argmax(dim=-1)]
    return F.normalize((x @ model.text_projection).float(), dim=-1)


def export(weights: dict[str, Tensor], cfg: dict[str, Any], seen: list[int], out: Path) -> None:
    """Write config, float16 weights and the ids of the tokens met in training into folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    half = {
        name: tensor.detach().half().contiguous().cpu() if tensor.is_floating_point() else tensor
        for name, tensor in weights.items()
        if name not in {"attn_mask", ANCHORS}
    }
    config = {"model_cfg": cfg, "preprocess_cfg": PREPROCESS_CFG}
    temporary = out / "open_clip_model.safetensors.tmp"
    save_file(half, temporary, metadata={"format": "pt"})
    temporary.chmod(0o644)
    os.replace(temporary, out / "open_clip_model.safetensors")
    write_text(out / "open_clip_config.json", json.dumps(config, indent=2) + "\n")
    write_text(out / "seen_tokens.json", json.dumps(seen) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old one or the new one, never half of it."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
