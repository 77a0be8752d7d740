"""One thread computes alone; every other thread keeps its own number of OpenMP threads, also one that starts meanwhile."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from rita_demo.method import sinkhorn_newton
from rita_demo.process import cpu_threads


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """More than one, whatever the machine and tests/method/conftest.py say."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_only_the_solving_thread_is_single_threaded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, list[int]] = {"solving": [], "new": []}
    step = sinkhorn_newton._newton

    def watched(*of: Any) -> torch.Tensor:
        seen["solving"].append(torch.get_num_threads())
        other = threading.Thread(target=lambda: seen["new"].append(torch.get_num_threads()))
        other.start()
        other.join()
        return step(*of)

    monkeypatch.setattr(sinkhorn_newton, "_newton", watched)
    cost = torch.rand(1, 8, 4, generator=torch.Generator().manual_seed(0))
    rows, columns = torch.full((1, 8), 1 / 8), torch.full((1, 4), 1 / 4)
    sinkhorn_newton.solve(cost, rows, columns, entropy_weight=0.1, tolerance=1e-6, max_iterations=200)
    assert set(seen["solving"]) == {1}
    assert set(seen["new"]) == {2}
    assert torch.get_num_threads() == 2


def test_parallel_chunks_keep_their_order_and_finish_without_new_threads() -> None:
    """While the interpreter exits, a pool accepts no work; a stopped server must not fail because of that."""
    wanted = list(range(7))
    assert [n for part in cpu_threads.parallel_chunks(list, 7) for n in part] == wanted
    cpu_threads._pool().shutdown()
    assert [n for part in cpu_threads.parallel_chunks(list, 7) for n in part] == wanted
    cpu_threads._pool.cache_clear()
