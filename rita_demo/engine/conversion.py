"""Between numpy and torch: records have arrays above the engine and tensors below it."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch

from rita_demo.process.gpu import array_like, copy_together

T = TypeVar("T")


def to_numpy(value: T) -> T:
    """A record with every tensor replaced by a numpy array; other values stay. A GPU is waited for once: its tensors arrive
    together."""
    copies: dict[int, tuple[np.ndarray, torch.Tensor]] = {}  # by id: a tensor that stands in two places is one array

    def copy(tensor: torch.Tensor) -> np.ndarray:
        if tensor.device.type == "cpu":
            return tensor_to_numpy(tensor)
        if id(tensor) not in copies:
            copies[id(tensor)] = array_like(tensor), tensor
        return copies[id(tensor)][0]

    record = _map_arrays(value, copy, torch.Tensor)
    copy_together(list(copies.values()))
    return record


def to_torch(value: T, device: torch.device) -> T:
    """A record with every numpy array replaced by a tensor on the device."""
    return _map_arrays(value, lambda a: array_to_tensor(a, device), np.ndarray)


def _map_arrays(value: Any, convert: Callable[[Any], Any], kind: type) -> Any:
    if isinstance(value, kind):
        return convert(value)
    if is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: _map_arrays(getattr(value, f.name), convert, kind) for f in fields(value)}
        return replace(value, **changes)
    if isinstance(value, tuple):
        return tuple(_map_arrays(item, convert, kind) for item in value)
    if isinstance(value, dict):
        return {name: _map_arrays(item, convert, kind) for name, item in value.items()}
    return value


def tensor_to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A tensor's values, from any device."""
    return tensor.detach().cpu().numpy()


def array_to_tensor(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """An array as a tensor on the device."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
