"""Tensors of a GPU on the host, many at once: starting a copy takes longer than copying a small tensor."""

from collections.abc import Sequence

import torch
from torch import Tensor


def on_host(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors on the CPU, without gradients; those that are there stay. The device is waited for once."""
    host = [one.detach() if one.device.type == "cpu" else torch.empty(one.shape, dtype=one.dtype) for one in tensors]
    copy_together([(own, source) for own, source in zip(host, tensors) if source.device.type != "cpu"])
    return host


def copy_together(copies: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Fill tensors of the CPU with those of one device, of the same shapes and types: (to, from). All of one type are joined
    on the device and copied once."""
    arrived = []
    for dtype in {source.dtype for _, source in copies}:
        some = [(own, source) for own, source in copies if source.dtype == dtype]
        joined = torch.cat([source.detach().reshape(-1) for _, source in some])
        staged = torch.empty(joined.shape, dtype=dtype, pin_memory=joined.is_cuda)
        staged.copy_(joined, non_blocking=joined.is_cuda)
        arrived.append((some, staged))
    if copies and copies[0][1].is_cuda:
        torch.cuda.current_stream().synchronize()
    for some, staged in arrived:  # pinned memory is not for keeping
        for (own, _), part in zip(some, staged.split([own.numel() for own, _ in some]), strict=True):
            own.copy_(part.view(own.shape))
