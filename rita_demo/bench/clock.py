"""Medians after warm-up; what is compared takes turns, so that a busy machine slows all of it alike."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import torch


def medians(
    work: Mapping[str, Callable[[], Any]],
    rounds: int,
    *,
    warm_up: int = 1,
    device: torch.device | None = None,
) -> dict[str, float]:
    """Median wall seconds of every piece of work over ``rounds`` turns, after ``warm_up`` untimed ones.

    On an accelerator every piece begins and ends with an idle device.
    """
    taken: dict[str, list[float]] = {name: [] for name in work}
    for number in range(warm_up + rounds):
        for name, piece in work.items():
            _wait(device)
            begin = time.perf_counter()
            piece()
            _wait(device)
            if number >= warm_up:
                taken[name].append(time.perf_counter() - begin)
    return {name: median(seconds) for name, seconds in taken.items()}


def peak_bytes(work: Callable[[], Any]) -> int | None:
    """By how much the process's resident memory grew at most during ``work``; None where Linux's
    ``/proc`` is missing."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.is_file() or not reset.exists():
        return None
    try:
        _give_back()
        reset.write_text("5")  # the high-water mark starts again from what is resident now
    except OSError:
        return None
    before = _field(status, "VmRSS")
    work()
    return _field(status, "VmHWM") - before


def _give_back() -> None:
    """What was freed goes back to the system first, or its reuse would hide what the work needs."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library: the figure may then be too low
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _field(status: Path, name: str) -> int:
    (line,) = (line for line in status.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def _wait(device: torch.device | None) -> None:
    if device is not None and device.type == "cuda":
        torch.cuda.synchronize(device)
