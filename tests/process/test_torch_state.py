"""What a thread's torch has of its caller at the engine's doors, and what it leaves to it."""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch

from rita_demo.method import sinkhorn_newton
from rita_demo.process.torch_state import in_plain_torch

State = tuple[bool, bool, bool, str]
PLAIN: State = (True, False, False, "cpu")
MODES: list[Callable[[], AbstractContextManager[object]]] = [
    torch.no_grad,
    torch.inference_mode,
    lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    lambda: torch.device("meta"),
]


def state() -> State:
    elsewhere = torch.empty(0).device.type
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"), elsewhere


@pytest.mark.parametrize("mode", MODES)
def test_a_generator_has_plain_torch_in_every_step_and_its_caller_never(mode) -> None:
    @in_plain_torch
    def steps() -> Generator[State, None, State]:
        yield state()
        yield state()
        return state()

    running = steps()
    assert next(running) == PLAIN, "the first step in plain torch, the second one in the mode"
    with mode():
        before = state()
        assert next(running) == PLAIN
        assert state() == before
        with pytest.raises(StopIteration) as end:
            next(running)
        assert end.value.value == PLAIN
        assert state() == before


# --- threads: one computes alone, and every other one keeps its own number of OpenMP threads


@pytest.fixture
def two_threads() -> Iterator[None]:
    """More than one, whatever the machine and tests/method/conftest.py say."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
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
