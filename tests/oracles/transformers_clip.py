"""The two towers of Hugging Face's ``CLIPModel`` on a state dict under its own names, layer by layer."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

Weights = Mapping[str, Tensor]


def layer_norm(x: Tensor, weights: Weights, name: str) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"])


def linear(x: Tensor, weights: Weights, name: str) -> Tensor:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def encoder(x: Tensor, weights: Weights, name: str, heads: int, causal: bool) -> Tensor:
    """(B, T, W) through all layers: attention and two linear maps with quick-GELU, each after a norm and added."""
    number, (batch, length, width) = 0, x.shape
    while f"{name}.{number}.layer_norm1.weight" in weights:
        layer = f"{name}.{number}"
        normal = layer_norm(x, weights, f"{layer}.layer_norm1")
        q, k, v = (
            linear(normal, weights, f"{layer}.self_attn.{one}_proj").view(batch, length, heads, -1).transpose(1, 2)
            for one in "qkv"
        )
        scores = q @ k.transpose(-1, -2) / (width // heads) ** 0.5
        if causal:
            scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + linear(mixed, weights, f"{layer}.self_attn.out_proj")
        hidden = linear(layer_norm(x, weights, f"{layer}.layer_norm2"), weights, f"{layer}.mlp.fc1")
        x = x + linear(hidden * torch.sigmoid(1.702 * hidden), weights, f"{layer}.mlp.fc2")
        number += 1
    return x


def image_features(pixels: Tensor, weights: Weights, heads: int) -> Tensor:
    """(B, 3, S, S) normalised pixels -> (B, D) of unit length."""
    patches = weights["vision_model.embeddings.patch_embedding.weight"]
    cut = F.conv2d(pixels, patches, stride=patches.shape[-1]).flatten(2).transpose(1, 2)
    first = weights["vision_model.embeddings.class_embedding"].expand(len(pixels), 1, -1)
    x = torch.cat([first, cut], 1) + weights["vision_model.embeddings.position_embedding.weight"]
    x = layer_norm(x, weights, "vision_model.pre_layrnorm")
    x = encoder(x, weights, "vision_model.encoder.layers", heads, causal=False)
    pooled = layer_norm(x[:, 0], weights, "vision_model.post_layernorm")
    return F.normalize(pooled @ weights["visual_projection.weight"].T, dim=-1)


def text_features(tokens: Tensor, weights: Weights, heads: int) -> Tensor:
    """(B, T) ids, whose largest is the last of the sentence -> (B, D) of unit length."""
    words = weights["text_model.embeddings.token_embedding.weight"][tokens]
    x = words + weights["text_model.embeddings.position_embedding.weight"][: tokens.shape[1]]
    x = encoder(x, weights, "text_model.encoder.layers", heads, causal=True)
    x = layer_norm(x, weights, "text_model.final_layer_norm")
    pooled = x[torch.arange(len(tokens)), tokens.argmax(-1)]
    return F.normalize(pooled @ weights["text_projection.weight"].T, dim=-1)
