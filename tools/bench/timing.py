"""Medians after a warm-up, and the machine. The functions to compare alternate, so that a busy machine slows all of them
alike."""

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import torch


def medians(
    work: Mapping[str, Callable[[], Any]], rounds: int, *, warm_up: int = 1, device: torch.device | None = None
) -> dict[str, float]:
    """Median wall seconds of every function over ``rounds`` rounds, after ``warm_up`` untimed ones.

    A CUDA ``device`` is synchronised before and after every call.
    """
    taken: dict[str, list[float]] = {name: [] for name in work}
    for number in range(warm_up + rounds):
        for name, function in work.items():
            synchronise(device)
            begin = time.perf_counter()
            function()
            synchronise(device)
            if number >= warm_up:
                taken[name].append(time.perf_counter() - begin)
    return {name: median(seconds) for name, seconds in taken.items()}


def machine_of(device: torch.device) -> dict[str, Any]:
    """Hardware and libraries; ``load``: the machine's load average before the benchmark."""
    processor = platform.processor()
    if sys.platform.startswith("linux"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
            processor = next(names, processor)
    return {
        "device": device.type,
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "processor": processor,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def synchronise(device: torch.device | None) -> None:
    """Wait for all that a CUDA device was asked to do."""
    if device is not None and device.type == "cuda":
        torch.cuda.synchronize(device)
