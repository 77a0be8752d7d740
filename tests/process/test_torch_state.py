"""What a thread's torch has of its caller at the engine's doors, and what it leaves to it."""

import ast
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import rita_demo
from rita_demo.method import sinkhorn_newton
from rita_demo.process import cpu_threads, torch_state
from rita_demo.process.torch_state import in_plain_torch, plain_torch
from rita_demo.records.errors import BackboneError
from tests.live_server import ROOT
from tests.toy_model import ToyEngine

State = tuple[bool, bool, bool, str]
PLAIN: State = (True, False, False, "cpu")
MODES: list[Callable[[], AbstractContextManager[object]]] = [
    torch.no_grad,
    torch.inference_mode,
    lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    lambda: torch.device("meta"),
]
_CREATE = "arange empty eye full linspace logspace ones rand randint randn randperm tensor scalar_tensor zeros"
CREATE = set(_CREATE.split())
WHOLE = {"arange", "randint", "randperm"}  # of integers: their dtype is no default


def state() -> State:
    elsewhere = torch.empty(0).device.type
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"), elsewhere


@pytest.mark.parametrize("mode", MODES)
def test_a_function_has_plain_torch_and_its_caller_has_his_own_again(mode) -> None:
    with mode():
        before = state()
        assert before != PLAIN
        assert in_plain_torch(state)() == PLAIN
        assert state() == before
    assert state() == PLAIN


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


@pytest.mark.parametrize("part", ["matmul", "conv"])
@pytest.mark.parametrize("precision", ["bf16", "tf32"])
def test_products_that_this_processor_would_round_are_refused_with_the_settings_name(
    part: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_to = getattr(torch.backends.mkldnn, part)
    before = set_to.fp32_precision
    try:
        set_to.fp32_precision = precision
        monkeypatch.setattr(torch_state, "_rounds", lambda _: False)
        with plain_torch():  # a processor that ignores it
            pass
        monkeypatch.setattr(torch_state, "_rounds", lambda found: found == precision)
        with pytest.raises(BackboneError, match=f"mkldnn.{part}.fp32_precision"), plain_torch():
            pass
        with pytest.raises(BackboneError, match="set_float32_matmul_precision"):
            ToyEngine()
    finally:
        set_to.fp32_precision = before
    with plain_torch():
        pass


def test_which_precisions_a_processor_rounds_to(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in (False, True):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_fp16": answer})  # noqa: B023
        monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace(_is_mkldnn_bf16_supported=lambda: answer))  # noqa: B023
        assert torch_state._rounds("tf32") is answer
        assert torch_state._rounds("bf16") is answer


def test_every_tensor_that_is_made_names_its_device_and_its_dtype() -> None:
    """Torch's defaults are the caller's."""
    found = []
    for path in sorted(Path(rita_demo.__file__).parent.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(call, ast.Call) and ast.unparse(call.func).startswith("torch.")):
                continue
            name, named = ast.unparse(call.func).removeprefix("torch."), {word.arg for word in call.keywords}
            wanted = {"device"} if name in WHOLE else {"device", "dtype"}
            takes = name in ("as_tensor", "asarray")  # the dtype of what is given
            if (name in CREATE and not wanted <= named) or (takes and "device" not in named):
                found.append(f"{path.name}:{call.lineno} {ast.unparse(call)}")
    assert not found


@pytest.mark.slow
def test_nothing_of_the_whole_process_is_set() -> None:
    """Another thread would compute with it. On a GPU the products of the engine are (``gpu.py``): torch has no such
    state of a thread."""
    forbidden = ("set_default_dtype", "set_default_device", "set_float32_matmul_precision", "set_num_threads")
    forbidden += ("use_deterministic_algorithms", "set_default_tensor_type", "mkldnn.flags", "set_flush_denormal")
    called = [
        f"{path.name}:{call.lineno} {ast.unparse(call)}"
        for path in Path(rita_demo.__file__).parent.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(forbidden)
    ]
    assert not called


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


@pytest.mark.usefixtures("two_threads")
def test_parallel_chunks_keep_their_order_and_finish_without_new_threads() -> None:
    """While the interpreter exits, a pool accepts no work; a stopped server must not fail because of that."""
    wanted = list(range(7))
    assert [n for part in cpu_threads.parallel_chunks(list, 7) for n in part] == wanted
    cpu_threads._pool().shutdown()
    assert [n for part in cpu_threads.parallel_chunks(list, 7) for n in part] == wanted
    cpu_threads._pool.cache_clear()


CODE = """
import sys
from app import _load_engine
engine = _load_engine("embedded", None)
print({"torch._dynamo", "triton"} & set(sys.modules))
import torch
print(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)), torch._dynamo.config.cache_size_limit > 0)
"""


@pytest.mark.slow
def test_open_clip_is_loaded_without_the_compiler_which_works_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-2:] == ["set()", "tensor([2.]) True"], done.stderr[-2000:]
