"""Prompts whose first tokens are the same for all classes: these tokens are encoded once.

In a causal tower a token does not attend to later tokens. So the start token and the context are encoded as if no
class name followed: their keys and values are computed once per context, and every class attends to them. Only the
name, the full stop and the end token are encoded per class, and in the last layer only the pooled token. The result
is exact, and gradients reach the contexts through the shared keys and values."""

from typing import Any

import torch
from open_clip.transformer import ResidualAttentionBlock
from torch import Tensor
from torch.nn import functional as F

from rita_demo.vlm.text_tower import TextTower


def can_share_prefix(tower: TextTower) -> bool:
    """Whether :func:`encode_with_prefix` reproduces this tower: causal, and made of CLIP's own blocks."""
    if not tower.can_truncate or tower.mask is None:
        return False
    length = tower.context_length
    causal = torch.full((length, length), float("-inf"), dtype=torch.float32, device=tower.mask.device).triu(1)
    return torch.equal(tower.mask.float(), causal) and all(map(_is_supported_block, tower.transformer.resblocks))


def encode_with_prefix(tower: TextTower, prefix: Tensor, rest: Tensor, position: Tensor) -> Tensor:
    """Unit features (C, M, D) of every prefix followed by every rest: ``tower.encode`` of both joined. Differentiable
    with respect to ``prefix``. Requires :func:`can_share_prefix` of the tower.

    Args:
        prefix: (M, P, E) embeddings of the first tokens.
        rest: (C, T, E) embeddings of the tokens that follow.
        position: (C,) index of the pooled token in a rest; the tokens after it are padding."""
    P, T = prefix.shape[1], rest.shape[1]
    assert tower.mask is not None  # can_share_prefix
    mask = tower.mask[None, : P + T, : P + T]
    shared = prefix + tower.positional_embedding[:P]
    x = (rest + tower.positional_embedding[P : P + T])[:, None]  # (C, 1, T, E): the same for all contexts so far
    *first, last = tower.transformer.resblocks
    for block in first:
        q, k, v = _qkv(block, x)
        x = _block_output(block, x, _attend(q, k, v, _qkv(block, shared), mask[:, P:]))
        shared = block(shared, attn_mask=mask[0, :P, :P])
    q, k, v = _qkv(last, x)  # keys and values of every token, a query of the pooled one alone
    rows, pooled = torch.arange(len(x), device=x.device), position.to(x.device)
    q, x = q[rows, ..., pooled, :].unsqueeze(-2), x[rows, :, pooled].unsqueeze(-2)
    attended = _attend(q, k, v, _qkv(last, shared), mask[0, P + pooled, None])
    return tower.project(_block_output(last, x, attended)[:, :, 0])


def _is_supported_block(block: Any) -> bool:
    if type(block) is not ResidualAttentionBlock or hasattr(block, "ln_1_kv"):
        return False
    attention = block.attn
    plain = attention.bias_k is None and not attention.add_zero_attn and not attention.dropout
    return plain and attention.in_proj_weight is not None


def _qkv(block: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values (..., heads, T, E / heads) of tokens (..., T, E)."""
    attention = block.attn
    joined = F.linear(block.ln_1(x), attention.in_proj_weight, attention.in_proj_bias)
    q, k, v = joined.unflatten(-1, (3, attention.num_heads, -1)).movedim(-3, 0).transpose(-2, -3)
    return q, k, v


def _attend(q: Tensor, k: Tensor, v: Tensor, prefix: tuple[Tensor, Tensor, Tensor], mask: Tensor) -> Tensor:
    """Attention (C, M, T, E) of tokens (C, M or 1, heads, T, e) to a prefix (M, heads, P, e) and to each other.
    ``mask`` (C or 1, T, P + tokens), additive."""
    C, M = len(q), len(prefix[0])
    q, k, v = (part.expand(-1, M, -1, -1, -1) for part in (q, k, v))
    k, v = (torch.cat([shared.expand(C, -1, -1, -1, -1), each], dim=-2) for shared, each in zip(prefix[1:], (k, v)))
    mask = mask.repeat_interleave(M, 0)[:, None] if len(mask) > 1 else mask[:, None]
    q, k, v = (part.flatten(0, 1) for part in (q, k, v))
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return attended.transpose(1, 2).flatten(2).unflatten(0, (C, M))


def _block_output(block: Any, x: Tensor, attended: Tensor) -> Tensor:
    """The rest of a block: output projection and MLP, each with its residual."""
    x = x + block.ls_1(block.attn.out_proj(attended))
    return x + block.ls_2(block.mlp(block.ln_2(x)))
