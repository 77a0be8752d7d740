"""Random numbers of a generator of the CPU in float32: the same on every device, whatever torch's default dtype and device."""

from __future__ import annotations

from collections.abc import Sequence

from rita_demo.process.lazy import Tensor, torch


def uniform(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Uniform numbers in [0, 1)."""
    return torch.rand(shape, generator=generator, dtype=torch.float32, device="cpu")


def normal(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Normal numbers with mean 0 and standard deviation 1."""
    return torch.randn(shape, generator=generator, dtype=torch.float32, device="cpu")
