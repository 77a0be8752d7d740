"""Modules that are imported when they are first used: torch for the files of attacks and defences, whose names, texts and
settings are read without it."""

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
