"""Where a model runs, and in which precision views are encoded there."""

from __future__ import annotations

import torch

from rita_demo import environment
from rita_demo.errors import BackboneError


def pick_device() -> str:
    """``RITA_DEVICE`` where it is set, else the fastest device here: "cuda", "mps" or "cpu".

    Raises:
        BackboneError: when the device that was asked for is not here.
    """
    if asked := environment.value("RITA_DEVICE"):
        return _checked(asked)
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _checked(device: str) -> str:
    """The same name, once a number has been put there."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise BackboneError(
            f"RITA_DEVICE asks for {device[:40]!r}, which cannot be used here.",
            "Leave it out, or set it to cpu, cuda, cuda:1 or mps.",
        ) from None
    return device


def pick_precision(device: str) -> str:
    """What views are encoded in: float16 on CUDA, where it is the usual choice (not measured here), else float32.

    On CPUs bfloat16 takes about half the time, but with the embedded model it moves a class's cost by up to 3 % and
    one label of eight (docs/performance.md): too much for a fast path.
    """
    return "float16" if device.startswith("cuda") else "float32"
