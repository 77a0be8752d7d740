"""Work on CPU cores where OpenMP's way, a team of threads per operation, is too slow: many small operations."""

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
def single_threaded() -> Iterator[None]:
    """OpenMP uses this thread only. For hundreds of small operations, waking other threads takes longer than the work
    (docs/performance.md has the numbers). Not ``torch.set_num_threads``: it also changes every thread that first uses
    torch meanwhile, for good."""
    torch.get_num_threads()  # sets this thread's number from torch's now, and not inside the block
    with _openmp().limit(limits=1):
        yield


def parallel_chunks(work: Callable[[range], R], count: int) -> list[R]:
    """``work`` on consecutive chunks of ``range(count)``, one thread per core, without gradients; results in order."""
    parts = min(torch.get_num_threads(), os.cpu_count() or 1, count)
    edges = [count * n // parts for n in range(parts + 1)]
    chunks = [range(first, last) for first, last in pairwise(edges)]

    def run_chunk(chunk: range) -> R:
        with torch.no_grad(), single_threaded():
            return work(chunk)

    if parts < 2:
        return [run_chunk(range(count))]
    try:
        waiting = [_pool().submit(run_chunk, chunk) for chunk in chunks]
    except RuntimeError:  # the interpreter exits and starts no threads
        return [run_chunk(chunk) for chunk in chunks]
    return [chunk.result() for chunk in waiting]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="parts")


@cache
def _openmp() -> ThreadpoolController:
    """The OpenMP runtimes of this process; their number of threads is the calling thread's own."""
    return ThreadpoolController().select(user_api="openmp")
