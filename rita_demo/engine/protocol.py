"""The engine as a type, for modules that run without torch; :class:`rita_demo.engine.engine.Engine` says what it does."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rita_demo.engine.engine import Engine
else:
    Engine = Any  # the engine itself imports torch
