"""How work is spread over a CPU's cores where OpenMP's own way, a team of threads per operation, does not pay."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import TypeVar

import torch
from threadpoolctl import ThreadpoolController

R = TypeVar("R")


@contextmanager
def one_thread() -> Iterator[None]:
    """On a CPU: nothing is handed to other threads. Waking one, hundreds of times, takes longer than the
    work it would take over (docs/performance.md has the figures).

    ``torch.set_num_threads`` would not do: it also holds for every thread that meets torch meanwhile,
    for as long as that thread lives.
    """
    torch.get_num_threads()  # this thread takes torch's number now, or it would do so in the block
    with _openmp().limit(limits=1):
        yield


def in_parts(work: Callable[[range], R], count: int) -> list[R]:
    """``work`` on consecutive stretches of ``range(count)``, one per core, in order; without gradients.

    Every stretch has a thread for all of it, where OpenMP would wake one for each small operation.
    """
    parts = min(_cores(), count)
    edges = [count * n // parts for n in range(parts + 1)]
    stretches = [range(first, last) for first, last in pairwise(edges)]

    def alone(stretch: range) -> R:
        with torch.no_grad(), one_thread():
            return work(stretch)

    if parts < 2:
        return [alone(range(count))]
    try:
        waiting = [_pool().submit(alone, stretch) for stretch in stretches]
    except RuntimeError:  # the interpreter is going down and gives no new threads: finish here
        return [alone(stretch) for stretch in stretches]
    return [one.result() for one in waiting]


def _cores() -> int:
    return max(1, min(torch.get_num_threads(), os.cpu_count() or 1))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="parts")


@cache
def _openmp() -> ThreadpoolController:
    """The OpenMP runtimes in this process; their numbers of threads belong to the thread that asks."""
    return ThreadpoolController().select(user_api="openmp")
