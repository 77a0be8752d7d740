"""Small random class prompts and views for the tests of ``rita_demo.method``."""

import torch
from torch import Tensor

from rita_demo.method import Prompts


def units(seed: int, *shape: int) -> Tensor:
    """Random unit vectors along the last axis."""
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(values, dim=-1)


def prompts(K: int = 5, M: int = 3, D: int = 16, seed: int = 0) -> Prompts:
    """Class vectors plus a small linear map of the contexts (M, 2, 4)."""
    classes, lift = units(seed, K, 1, D), units(seed + 1, 8, D)
    context = units(seed + 2, M, 2, 4)

    def encode(context: Tensor) -> Tensor:
        return torch.nn.functional.normalize(classes + 0.3 * context.flatten(1) @ lift, dim=-1)

    return Prompts(encode, context, encode(context), torch.full((K, M), 1 / M), 0.05)


def views(around: Tensor, N: int = 8, seed: int = 7, noise: float = 0.5) -> Tensor:
    """(N, D) views near one direction."""
    return torch.nn.functional.normalize(around + noise * units(seed, N, len(around)), dim=-1)
