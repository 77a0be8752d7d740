"""Where numpy meets torch: records with arrays above the engine, with tensors below it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch

T = TypeVar("T")


def outside(value: T) -> T:
    """A record with every tensor turned into a numpy array; other values pass through."""
    return _convert(value, as_numpy, torch.Tensor)


def inside(value: T, device: torch.device) -> T:
    """A record with every numpy array turned into a tensor on the device."""
    return _convert(
        value, lambda a: torch.from_numpy(np.ascontiguousarray(a)).to(device), np.ndarray
    )


def _convert(value: Any, turn: Callable[[Any], Any], kind: type) -> Any:
    if isinstance(value, kind):
        return turn(value)
    if is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: _convert(getattr(value, f.name), turn, kind) for f in fields(value)}
        return replace(value, **changes)
    if isinstance(value, tuple):
        return tuple(_convert(item, turn, kind) for item in value)
    return value


def as_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A tensor's values, wherever it lives."""
    return tensor.detach().cpu().numpy()
