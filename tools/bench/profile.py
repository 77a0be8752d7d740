"""Where a call's time goes: its dearest kernels, and for how long the device waits for Python."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from tools.bench.timing import medians, synchronise

KERNELS = 20  # in the table
NAME_LENGTH = 90  # characters; names of templates are longer


@dataclass(frozen=True)
class Kernel:
    """A kernel (on a CPU: an operator), its seconds and its number of calls in one call of the work."""

    name: str
    seconds: float
    calls: int


@dataclass(frozen=True)
class Profile:
    """One call. ``wall``: its seconds without the profiler; ``busy``: seconds in which at least one kernel ran; ``launched``:
    number of kernels; ``copies``: those between device and host; ``kernels``: the dearest ones, dearest first."""

    wall: float
    busy: float
    launched: int
    copies: int
    kernels: tuple[Kernel, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def profiled(work: Callable[[], Any], device: torch.device, calls: int = 3) -> Profile:
    """The mean over ``calls`` of ``work``, after one that is not counted."""
    cuda = device.type == "cuda"
    wall = medians({"": work}, calls, device=device)[""]
    with profile(activities=[ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU]) as recorded:
        for _ in range(calls):
            work()
        synchronise(device)
    spans = list(_kernels(recorded) if cuda else _operators(recorded))
    spans.sort()
    total: defaultdict[str, float] = defaultdict(float)
    number: defaultdict[str, int] = defaultdict(int)
    for *_, name, own in spans:
        total[name] += own
        number[name] += 1
    dearest = sorted(total, key=lambda name: -total[name])[:KERNELS]
    return Profile(
        wall=wall,
        busy=_union([span[:2] for span in spans]) / calls,
        launched=round(len(spans) / calls),
        copies=round(sum("Memcpy" in name and "DtoD" not in name for _, _, name, _ in spans) / calls),
        kernels=tuple(Kernel(n[:NAME_LENGTH], total[n] / calls, round(number[n] / calls)) for n in dearest),
    )


def _kernels(recorded: profile) -> Iterator[tuple[float, float, str, float]]:
    """Start, end, name and own time, in seconds. Torch's list of events takes minutes for what a stream starts."""
    results: Any = recorded.profiler
    for event in results.kineto_results.events():
        if event.device_type() == DeviceType.CUDA:
            begin, taken = event.start_ns() / 1e9, event.duration_ns() / 1e9
            yield begin, begin + taken, event.name(), taken


def _operators(recorded: profile) -> Iterator[tuple[float, float, str, float]]:
    for event in recorded.events() or ():
        span = event.time_range
        yield span.start / 1e6, span.end / 1e6, event.name, event.self_cpu_time_total / 1e6


def _union(spans: list[tuple[float, float]]) -> float:
    """Length of the union of intervals that are sorted by their start."""
    covered, end = 0.0, float("-inf")
    for first, last in spans:
        covered += max(last - max(first, end), 0.0)
        end = max(end, last)
    return covered
