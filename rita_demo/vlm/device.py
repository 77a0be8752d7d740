"""The device that a model runs on, and the precision in which views are encoded there."""

import torch

from rita_demo.process import environment
from rita_demo.records.errors import BackboneError


def pick_device() -> str:
    """``RITA_DEVICE`` where it is set, else the fastest device of this machine: "cuda", "mps" or "cpu".

    Raises:
        BackboneError: the device of ``RITA_DEVICE`` cannot be used.
    """
    if asked := environment.value("RITA_DEVICE"):
        try:
            torch.zeros(1, device=asked)
        except (RuntimeError, AssertionError, NotImplementedError):
            raise BackboneError(
                f"RITA_DEVICE asks for {asked[:40]!r}, which cannot be used here.",
                "Leave it out, or set it to cpu, cuda, cuda:1 or mps.",
            ) from None
        return asked
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def pick_precision(device: str) -> str:
    """Precision of encoding views: float16 on CUDA, the usual choice there (not measured here), else float32.

    On CPUs bfloat16 takes about half the time, but with the embedded model it changes the cost of a class by up to
    3 % and one label of eight (docs/performance.md).
    """
    return "float16" if device.startswith("cuda") else "float32"
