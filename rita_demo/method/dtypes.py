"""Number types of the method. Device and type come from the tensors.

Half precision becomes float32, because log-domain Sinkhorn divides by lambda. float64 stays float64 for exact tests.
"""

import torch
from torch import Tensor


def at_least_float32(values: Tensor) -> Tensor:
    """``values`` as float32; float64 stays float64."""
    return values if values.dtype in (torch.float32, torch.float64) else values.float()


def to_float64(values: Tensor) -> Tensor:
    """``values`` as float64, for small linear systems and differences of close directions.

    Apple's ``mps`` has no float64 and keeps at least float32.
    """
    return at_least_float32(values) if values.device.type == "mps" else values.double()


def unit(values: Tensor) -> Tensor:
    """Rows of ``values`` (..., D) scaled to length 1, at least float32; a zero row stays zero."""
    return torch.nn.functional.normalize(at_least_float32(values), dim=-1)
