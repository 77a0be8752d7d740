"""Gradients with respect to pixels, for defences that change the picture before they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def pixel_gradient(value: Callable[[Tensor], Tensor], pixels: Tensor) -> Tensor:
    """The gradient (1, 3, S, S) of a scalar ``value`` of pixels (1, 3, S, S); works under ``inference_mode`` too."""
    import torch

    with torch.inference_mode(False), torch.enable_grad():
        at = pixels.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(value(at), at)
    return gradient


def logits_of(inputs, pixels: Tensor) -> Tensor:
    """CLIP's logits (K,) of pixels (1, 3, S, S)."""
    return inputs.encode_pixels(pixels)[0] @ inputs.template_features.T / inputs.temperature


def with_added(pixels: Tensor, added: Tensor) -> Tensor:
    """``pixels + added`` in [0, 1], with the gradient of ``pixels``: for an attacker, ``added`` is a constant."""
    changed = (pixels.detach() + added).clamp(0, 1)
    return pixels + (changed - pixels.detach())
