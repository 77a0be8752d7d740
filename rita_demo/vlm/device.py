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
    """What views are encoded in: reduced where the device has units for it, else float32.

    Measured for 64 views with the embedded model on a CPU with matrix tiles (AMX): bfloat16 takes 0.47
    times the processor time of float32 (one thread) and moves a cosine by at most 8e-4, a probability at
    temperature 0.01 by 0.016; more training made that larger, so a test holds the embedded model to a
    tenth of a logit. float16 on CUDA is the usual choice, not measured here.
    """
    if device.startswith("cuda"):
        return "float16"
    tiles = getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    return "bfloat16" if device == "cpu" and tiles() else "float32"
