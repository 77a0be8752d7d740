"""What a thread's torch has of its caller at the engine's doors, and what it leaves to it."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager

import pytest
import torch

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
