"""While one thread solves, every other keeps its own number of threads: also one that meets torch only then."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from rita_demo import threads
from rita_demo.method.solver import solve


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """More than one, whatever the machine and tests/method/conftest.py say."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_only_the_solving_thread_works_alone() -> None:
    seen: dict[str, list[int]] = {"solving": [], "new": []}

    def watch(*_: object) -> None:
        seen["solving"].append(torch.get_num_threads())
        other = threading.Thread(target=lambda: seen["new"].append(torch.get_num_threads()))
        other.start()
        other.join()

    cost = torch.rand(1, 8, 4, generator=torch.Generator().manual_seed(0))
    rows, columns = torch.full((1, 8), 1 / 8), torch.full((1, 4), 1 / 4)
    solve(cost, rows, columns, entropy_weight=0.1, tolerance=1e-6, max_iterations=200, watch=watch)
    assert set(seen["solving"]) == {1}
    assert set(seen["new"]) == {2}
    assert torch.get_num_threads() == 2


def test_parts_come_in_order_and_are_finished_without_new_threads() -> None:
    """At the interpreter's end a pool refuses work; a server that is stopped must not trip over it."""
    wanted = list(range(7))
    assert [n for part in threads.in_parts(list, 7) for n in part] == wanted
    threads._pool().shutdown()
    assert [n for part in threads.in_parts(list, 7) for n in part] == wanted
    threads._pool.cache_clear()


def test_what_a_part_raises_is_raised() -> None:
    def work(_: range) -> None:
        raise ValueError("a part")

    with pytest.raises(ValueError, match="a part"):
        threads.in_parts(work, 7)
