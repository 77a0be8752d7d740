"""Torch for the files of attacks and defences, whose names, texts and settings are read without it: it is imported when it is
first used. And random numbers that are the same on every device, whatever torch's default dtype and device."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any


class LazyModule:
    """A module that is imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch, Tensor = LazyModule("torch"), Any


def uniform(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Uniform numbers in [0, 1) of a generator of the CPU, in float32."""
    return torch.rand(shape, generator=generator, dtype=torch.float32, device="cpu")


def normal(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Normal numbers with mean 0 and standard deviation 1, of a generator of the CPU, in float32."""
    return torch.randn(shape, generator=generator, dtype=torch.float32, device="cpu")
