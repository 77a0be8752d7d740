"""Tensors of a GPU on the host, many at once: starting a copy takes longer than copying a small tensor."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def on_host(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors on the CPU, without gradients; those that are there stay. The device is waited for once."""
    far = [one for one in tensors if one.device.type != "cpu"]
    arrays = [array_like(one) for one in far]
    copy_together(list(zip(arrays, far)))
    arrived = iter(arrays)
    return [one.detach() if one.device.type == "cpu" else torch.from_numpy(next(arrived)) for one in tensors]


def array_like(tensor: Tensor) -> np.ndarray:
    """An array of the tensor's shape and type, not filled."""
    return np.empty(tensor.shape, torch.empty(0, dtype=tensor.dtype, device="cpu").numpy().dtype)


def copy_together(copies: Sequence[tuple[np.ndarray, Tensor]]) -> None:
    """Fill arrays with tensors of one device, of the same shapes and types: (to, from). All of one type are joined on the
    device and copied once."""
    arrived = []
    for dtype in {source.dtype for _, source in copies}:
        some = [(own, source) for own, source in copies if source.dtype == dtype]
        joined = torch.cat([source.detach().reshape(-1) for _, source in some])
        staged = torch.empty(joined.shape, dtype=dtype, device="cpu", pin_memory=joined.is_cuda)
        staged.copy_(joined, non_blocking=joined.is_cuda)
        arrived.append(([own for own, _ in some], staged))
    if copies and copies[0][1].is_cuda:
        torch.cuda.current_stream().synchronize()
    for arrays, staged in arrived:  # pinned memory is not for keeping
        ends = np.cumsum([own.size for own in arrays])
        for own, part in zip(arrays, np.split(staged.numpy(), ends[:-1]), strict=True):
            np.copyto(own, part.reshape(own.shape))
