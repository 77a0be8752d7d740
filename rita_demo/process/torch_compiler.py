"""open_clip without torch's compiler: 0.1 GB at rest and a second of the processor that a server has no use for."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def without_compiler() -> Iterator[None]:
    """While open_clip is imported, a stand-in for ``torch._dynamo``.

    torchvision and timm import it, and with it sympy and triton, for these two decorators of models that are compiled.
    Whoever compiles one later imports the real module.
    """
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
