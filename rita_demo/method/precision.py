"""Which number type the method computes in.

Device and type come from the tensors.  Half precision is widened to float32, because log-domain
Sinkhorn divides by lambda; float64 stays float64, so that tests can compare to the last digit.
"""

from __future__ import annotations

import torch
from torch import Tensor


def working(values: Tensor) -> Tensor:
    """``values`` as float32, or as float64 when they came as float64."""
    return values if values.dtype in (torch.float32, torch.float64) else values.float()


def wide(values: Tensor) -> Tensor:
    """``values`` as float64, for tiny linear systems and directions whose difference cancels.

    Apple's ``mps`` has no float64: there the values stay as they are.
    """
    return working(values) if values.device.type == "mps" else values.double()


def unit(values: Tensor) -> Tensor:
    """Rows of ``values`` (..., D) scaled to length 1, at least float32; a zero row stays zero."""
    return torch.nn.functional.normalize(working(values), dim=-1)
