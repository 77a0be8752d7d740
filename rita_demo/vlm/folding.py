"""Batch norms of a frozen vision tower made part of the convolutions before them: one pass over memory less each."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

ROUNDING = (
    1e-4  # of a feature vector's length: far more than float32's, far less than a wrong pair's
)


def folded(tower: nn.Module, side: int) -> nn.Module | None:
    """A copy with ``w' = w gamma / sigma`` and ``b' = beta + (b - mu) gamma / sigma`` in place of every convolution
    that a batch norm follows; None where there is none, or where the copy answers otherwise.

    Args:
        tower: pictures (B, 3, side, side) to features (B, D), frozen, in eval mode, float32.
    """
    if not any(isinstance(module, nn.BatchNorm2d) for module in tower.modules()):
        return None
    device = next(tower.parameters()).device
    noise = torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(0)).to(device)
    own = copy.deepcopy(tower)
    names = {module: name for name, module in own.named_modules()}
    for convolution, norm in _pairs(own, noise):
        _fold(convolution, norm)
        own.set_submodule(names[norm], getattr(norm, "act", nn.Identity()))  # timm's norm holds it
    with torch.no_grad():
        wanted, found = tower(noise), own(noise)
    close = (wanted - found).norm(dim=-1) <= ROUNDING * wanted.norm(dim=-1)
    return own if bool(close.all()) else None


def _pairs(tower: nn.Module, pixels: Tensor) -> list[tuple[nn.Conv2d, nn.BatchNorm2d]]:
    """Each batch norm with the convolution whose answer it is given."""
    source: dict[int, tuple[nn.Conv2d, Tensor]] = {}  # by the answer's id, with what keeps it alive
    found: list[tuple[nn.Conv2d, nn.BatchNorm2d]] = []

    def left(module: nn.Module, _: object, answer: Tensor) -> None:
        assert isinstance(module, nn.Conv2d)
        source[id(answer)] = (module, answer)

    def met(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        assert isinstance(module, nn.BatchNorm2d)
        if id(given[0]) in source:
            found.append((source[id(given[0])][0], module))

    hooks = []
    for module in tower.modules():
        if isinstance(module, nn.Conv2d):
            hooks.append(module.register_forward_hook(left))
        elif isinstance(module, nn.BatchNorm2d):
            hooks.append(module.register_forward_pre_hook(met))
    try:
        with torch.no_grad():
            tower(pixels)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _fold(convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> None:
    assert norm.running_var is not None
    assert norm.running_mean is not None
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    shift = norm.bias - norm.running_mean * scale
    if convolution.bias is not None:
        shift = shift + convolution.bias * scale
    weight = convolution.weight * scale[:, None, None, None]
    convolution.weight = nn.Parameter(weight, requires_grad=False)
    convolution.bias = nn.Parameter(shift, requires_grad=False)
