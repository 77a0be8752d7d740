"""One loaded model behind a few methods, numpy above it and torch below it. Importing this package loads no torch."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rita_demo.engine.engine import Engine


def __getattr__(name: str) -> Any:
    if name == "Engine":  # when it is first used: this imports torch
        from rita_demo.engine.engine import Engine

        return Engine
    raise AttributeError(name)
