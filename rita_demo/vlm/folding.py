"""Batch norms and lopsided zero borders of a frozen vision tower made part of its convolutions: one pass over memory
less each."""

from __future__ import annotations

import copy

import torch
from timm.layers import Conv2dSame
from torch import Tensor, nn
from torch.nn import functional as F

ROUNDING = (
    1e-4  # of a feature vector's length: far more than float32's, far less than a wrong pair's
)


def folded(tower: nn.Module, side: int) -> nn.Module | None:
    """A copy with ``w' = w gamma / sigma`` and ``b' = beta + (b - mu) gamma / sigma`` in place of every convolution
    that a batch norm follows, and on a CPU with borders as :func:`_even` makes them; None where no batch norm follows a
    convolution, or where the copy answers otherwise.

    Args:
        tower: pictures (B, 3, side, side) to features (B, D), frozen, in eval mode, float32.
    """
    if not any(isinstance(module, nn.BatchNorm2d) for module in tower.modules()):
        return None
    device = next(tower.parameters()).device
    noise = torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(0)).to(device)
    own = copy.deepcopy(tower)
    names = {module: name for name, module in own.named_modules()}
    for convolution, norm, given in _pairs(own, noise):
        _fold(convolution, norm)
        own.set_submodule(names[norm], getattr(norm, "act", nn.Identity()))  # timm's norm holds it
        # on GPUs there are faster ways through kernels of the usual sizes than through a larger one
        plain = device.type == "cpu" and convolution.dilation == (1, 1)
        if plain and isinstance(convolution, Conv2dSame):
            own.set_submodule(names[convolution], _even(convolution, given))
    with torch.no_grad():
        wanted, found = tower(noise), own(noise)
    close = (wanted - found).norm(dim=-1) <= ROUNDING * wanted.norm(dim=-1)
    return own if bool(close.all()) else None


def _pairs(tower: nn.Module, pixels: Tensor) -> list[tuple[nn.Conv2d, nn.BatchNorm2d, torch.Size]]:
    """Each batch norm with the convolution whose answer it is given, and the size (B, C, H, W) of what that was given."""
    # by the answer's id, with what keeps it alive
    source: dict[int, tuple[nn.Conv2d, torch.Size, Tensor]] = {}
    found: list[tuple[nn.Conv2d, nn.BatchNorm2d, torch.Size]] = []

    def left(module: nn.Module, given: tuple[Tensor, ...], answer: Tensor) -> None:
        assert isinstance(module, nn.Conv2d)
        source[id(answer)] = (module, given[0].shape, answer)

    def met(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        assert isinstance(module, nn.BatchNorm2d)
        if id(given[0]) in source:
            convolution, size, _ = source[id(given[0])]
            found.append((convolution, module, size))

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


def _even(convolution: Conv2dSame, given: torch.Size) -> nn.Conv2d:
    """The same convolution of pictures (B, C, H, W) with as many zeros on both sides, so that nobody has to copy the
    pictures into a larger piece of memory first. Where it takes one zero more behind than in front, a row of zeros in
    front of the kernel makes up for the one that is now too many there."""
    high, wide = (
        max((-(-side // step) - 1) * step + size - side, 0)
        for side, step, size in zip(
            given[2:], convolution.stride, convolution.kernel_size, strict=True
        )
    )
    weight = F.pad(convolution.weight, (wide % 2, 0, high % 2, 0))
    even: nn.Conv2d = nn.utils.skip_init(
        nn.Conv2d,
        convolution.in_channels,
        convolution.out_channels,
        weight.shape[2:],
        convolution.stride,
        ((high + 1) // 2, (wide + 1) // 2),
        groups=convolution.groups,
    )
    even.weight = nn.Parameter(
        weight.contiguous(memory_format=torch.channels_last), requires_grad=False
    )
    even.bias = convolution.bias
    return even
