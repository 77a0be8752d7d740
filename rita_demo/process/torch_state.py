"""The caller's torch: its inference mode, autocast, gradient mode and default device do not reach our numbers,
and ours do not reach it.

These four are states of a thread and are entered. The default dtype and the precision of products are states of the whole
process, and are never set: another thread would compute with ours. So all our tensors name their dtype, and products that
torch would round are refused.

And torch's compiler, which a server does not use and does not load."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from inspect import isfunction, isgeneratorfunction
from types import ModuleType
from typing import Any, ParamSpec, TypeVar, cast

import torch

from rita_demo.process.generators import steps_in
from rita_demo.records.errors import BackboneError

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)
DEVICES = "cpu", "cuda", "mps"  # where a model may be


@contextmanager
def plain_torch() -> Iterator[None]:
    """Inside the block this thread has torch as a new thread has it: gradients, no inference mode, no autocast, and tensors on
    the CPU. Not around a ``yield``, which would give it to the caller: :func:`in_plain_torch` is for generators. Raises
    BackboneError: torch is set to round the factors of float32 products, for the whole process."""
    _check_products()
    rounded = [kind for kind in DEVICES if torch.is_autocast_enabled(kind)]
    elsewhere = torch.empty(0, dtype=torch.float32, device=None).device.type != "cpu"
    if torch.is_grad_enabled() and not (torch.is_inference_mode_enabled() or rounded or elsewhere):
        yield
        return
    with ExitStack() as states:
        states.enter_context(torch.inference_mode(False))
        states.enter_context(torch.enable_grad())
        for kind in rounded:
            states.enter_context(torch.autocast(kind, enabled=False))
        if elsewhere:  # a default device slows every function of torch down
            states.enter_context(torch.device("cpu"))
        yield


def in_plain_torch(function: Callable[P, R]) -> Callable[P, R]:
    """The function, run in :func:`plain_torch`; a generator function is in it during each step, and its caller is not."""
    if isgeneratorfunction(function):

        @wraps(function)
        def steps(*args: P.args, **kwargs: P.kwargs) -> R:
            return cast(R, steps_in(plain_torch, cast(Any, function(*args, **kwargs))))

        return steps

    @wraps(function)
    def plain(*args: P.args, **kwargs: P.kwargs) -> R:
        with plain_torch():
            return function(*args, **kwargs)

    return plain


def methods_in_plain_torch(cls: C) -> C:
    """The class, with ``__init__`` and all public methods of its own :func:`in_plain_torch`."""
    for name, member in list(vars(cls).items()):
        if isfunction(member) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, in_plain_torch(member))
    return cls


def _check_products() -> None:
    onednn: Any = torch.backends.mkldnn
    for name, precision in (("matmul", onednn.matmul.fp32_precision), ("conv", onednn.conv.fp32_precision)):
        if precision not in ("none", "ieee") and _rounds(precision):
            raise BackboneError(
                f"torch rounds the factors of float32 products to {precision} (torch.set_float32_matmul_precision, "
                f"torch.backends.mkldnn.{name}.fp32_precision), and the numbers would be others.",
                'Call torch.set_float32_matmul_precision("highest") '
                f'and set torch.backends.mkldnn.{name}.fp32_precision to "ieee" before.',
            )


def _rounds(precision: str) -> bool:
    """Whether this processor multiplies in "bf16" or "tf32" where torch is told to; the others ignore it."""
    if precision == "tf32":
        return bool(torch.cpu.get_capabilities().get("amx_fp16"))
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@contextmanager
def without_compiler() -> Iterator[None]:
    """Inside, where open_clip is imported, ``torch._dynamo`` is a module with two functions alone: torchvision and timm import
    it, and with it triton, for these two: 0.1 GB and a second of the processor. Afterwards an import gives the real one."""
    if "torch._dynamo" in sys.modules:
        yield
        return

    def disable(function: Callable[..., Any] | None = None, *_: object, **__: object) -> Callable[..., Any]:
        return function or (lambda later: later)

    compiler, utils = ModuleType("torch._dynamo"), ModuleType("torch._dynamo.utils")
    vars(compiler).update(disable=disable, utils=utils)
    vars(utils).update(is_compile_supported=lambda device: False)
    stand_ins = {module.__name__: module for module in (compiler, utils)}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]
