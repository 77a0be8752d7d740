"""Fold the batch norms and the asymmetric padding of a frozen vision tower into its convolutions. Each saves one pass
over the activations."""

import copy
from typing import Any

import torch
from timm.layers import Conv2dSame
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.process.lazy import normal

TOLERANCE = 1e-4  # relative to a feature vector's length; rounding gives far less, a wrong fold far more


def fold_batchnorm(tower: nn.Module, side: int) -> nn.Module | None:
    """A copy of the tower in which ``w' = w gamma / sigma`` and ``b' = beta + (b - mu) gamma / sigma`` replace every
    convolution and the batch norm after it; on a CPU also with the padding of :func:`_symmetric_padding`.

    ``tower``: pictures (B, 3, side, side) to features (B, D), frozen, in eval mode, float32. Returns None where there
    is no batch norm, or where the copy gives other features on random pictures."""
    if not any(isinstance(module, nn.BatchNorm2d) for module in tower.modules()):
        return None
    device = next(tower.parameters()).device
    noise = normal([2, 3, side, side], torch.Generator().manual_seed(0)).to(device)
    folded = copy.deepcopy(tower)
    names = {module: name for name, module in folded.named_modules()}
    for convolution, norm, size in _conv_norm_pairs(folded, noise):
        _fold(convolution, norm)
        folded.set_submodule(names[norm], getattr(norm, "act", nn.Identity()))  # timm's norm holds the activation
        # a GPU is faster with kernels of the usual sizes than with a larger one
        plain = device.type == "cpu" and convolution.dilation == (1, 1)
        if plain and isinstance(convolution, Conv2dSame):
            folded.set_submodule(names[convolution], _symmetric_padding(convolution, size))
    with torch.no_grad():
        expected, features = tower(noise), folded(noise)
    close = (expected - features).norm(dim=-1) <= TOLERANCE * expected.norm(dim=-1)
    return folded if bool(close.all()) else None


def _conv_norm_pairs(tower: nn.Module, pixels: Tensor) -> list[tuple[nn.Conv2d, nn.BatchNorm2d, torch.Size]]:
    """Each batch norm with the convolution whose output it receives, and the size (B, C, H, W) of that one's input."""
    pairs: list[tuple[nn.Conv2d, nn.BatchNorm2d, torch.Size]] = []

    def on_conv_output(module: nn.Module, inputs: tuple[Tensor, ...], output: Any) -> None:
        output.source = module, inputs[0].shape

    def on_norm_input(module: Any, inputs: tuple[Tensor, ...]) -> None:
        if source := getattr(inputs[0], "source", None):
            pairs.append((source[0], module, source[1]))

    hooks = []
    for module in tower.modules():
        if isinstance(module, nn.Conv2d):
            hooks.append(module.register_forward_hook(on_conv_output))
        elif isinstance(module, nn.BatchNorm2d):
            hooks.append(module.register_forward_pre_hook(on_norm_input))
    with torch.no_grad():
        tower(pixels)
    for hook in hooks:
        hook.remove()
    return pairs


def _fold(convolution: nn.Conv2d, norm: Any) -> None:
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    shift = norm.bias - norm.running_mean * scale
    if convolution.bias is not None:
        shift = shift + convolution.bias * scale
    weight = convolution.weight * scale[:, None, None, None]
    convolution.weight = nn.Parameter(weight, requires_grad=False)
    convolution.bias = nn.Parameter(shift, requires_grad=False)


def _symmetric_padding(convolution: Conv2dSame, size: torch.Size) -> nn.Conv2d:
    """A convolution that gives the same output for an input of this size (B, C, H, W), with equal padding on both sides, which needs no
    padded copy of the input. Where TensorFlow's "same" padding is one larger at the end than at the start, a row or
    column of zeros at the start of the kernel makes up for it."""
    high, wide = (
        max((-(-side // step) - 1) * step + kernel - side, 0)
        for side, step, kernel in zip(size[2:], convolution.stride, convolution.kernel_size, strict=True)
    )
    weight = F.pad(convolution.weight, (wide % 2, 0, high % 2, 0))
    sizes = convolution.in_channels, convolution.out_channels, weight.shape[2:], convolution.stride
    padding = (high + 1) // 2, (wide + 1) // 2
    padded: nn.Conv2d = nn.utils.skip_init(nn.Conv2d, *sizes, padding, groups=convolution.groups)
    padded.weight = nn.Parameter(weight.contiguous(memory_format=torch.channels_last), requires_grad=False)
    padded.bias = convolution.bias
    return padded
