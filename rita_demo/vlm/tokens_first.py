"""The order of the axes inside a vision transformer on a GPU: tokens, then pictures.

open_clip's blocks work on (B, T, E). Torch's attention turns that around to (T, B, E) without moving a number, and a product
of such a tensor with frozen weights becomes T small products instead of a large one, forward and backward. With the axes
turned around once, before the first block, the same numbers are multiplied at once. The attention that needs no gradient has
a path of its own for (B, T, E): a tower that is never differentiated keeps that order."""

from open_clip.transformer import ResidualAttentionBlock, Transformer
from torch import nn


def put_tokens_first(visual: nn.Module) -> None:
    """Change open_clip's own vision transformer to work on (T, B, E); its answers stay. Other towers stay as they are."""
    transformer = getattr(visual, "transformer", None)
    if not isinstance(transformer, Transformer):
        return
    if all(type(block) is ResidualAttentionBlock for block in transformer.resblocks):
        transformer.batch_first = False
        for block in transformer.resblocks:
            block.attn.batch_first = False
