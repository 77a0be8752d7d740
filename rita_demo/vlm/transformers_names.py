"""The weights of a CLIP of Hugging Face's transformers under the names of open_clip."""

from collections.abc import Mapping

import torch
from torch import Tensor

#: Parts of names: transformers -> open_clip, in this order.
NAMES = {
    "vision_model.embeddings.class_embedding": "visual.class_embedding",
    "vision_model.embeddings.patch_embedding.weight": "visual.conv1.weight",
    "vision_model.embeddings.position_embedding.weight": "visual.positional_embedding",
    "vision_model.pre_layrnorm": "visual.ln_pre",
    "vision_model.post_layernorm": "visual.ln_post",
    "vision_model.encoder.layers": "visual.transformer.resblocks",
    "visual_projection.weight": "visual.proj",
    "text_model.embeddings.token_embedding": "token_embedding",
    "text_model.embeddings.position_embedding.weight": "positional_embedding",
    "text_model.final_layer_norm": "ln_final",
    "text_model.encoder.layers": "transformer.resblocks",
    "text_projection.weight": "text_projection",
    "self_attn.out_proj": "attn.out_proj",
    "layer_norm1": "ln_1",
    "layer_norm2": "ln_2",
    "mlp.fc1": "mlp.c_fc",
    "mlp.fc2": "mlp.c_proj",
}
_MARK = "vision_model.embeddings.class_embedding"  # SigLIP, whose other names are the same, has none
_TRANSPOSED = ("visual_projection.weight", "text_projection.weight")


def is_of_transformers(names: Mapping[str, object]) -> bool:
    """Whether these are the names of a ``CLIPModel`` or of its vision tower, perhaps behind its place in a larger module."""
    return any(name.endswith(_MARK) for name in names)


def open_clip_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a ``CLIPModel``, or of its vision tower, under open_clip's names; the three projections of a layer
    become one. What is before its names stays there. Raises KeyError, RuntimeError: a layer lacks a projection, they do
    not fit together, or two tensors get one name."""
    ours_by_name: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name.endswith("position_ids") or ".self_attn.k_proj." in name or ".self_attn.v_proj." in name:
            continue
        kind, transposed = name.rpartition(".")[2], name.endswith(_TRANSPOSED)
        if ".self_attn.q_proj." in name:
            parts = [weights[name.replace("q_proj", f"{letter}_proj")] for letter in "qkv"]
            name, tensor = name.replace(f"self_attn.q_proj.{kind}", f"attn.in_proj_{kind}"), torch.cat(parts)
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        if name in ours_by_name:
            raise KeyError(name)
        ours_by_name[name] = (tensor.t() if transposed else tensor).contiguous()
    return ours_by_name
