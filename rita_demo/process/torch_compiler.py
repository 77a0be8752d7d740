"""open_clip is imported without torch's compiler, which takes 0.1 GB and a second of the processor. A server does not use it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def without_compiler() -> Iterator[None]:
    """Inside, ``torch._dynamo`` is a module with two functions alone: torchvision and timm import it, and with it triton, for
    these two. Afterwards an import of it gives the real one."""
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
