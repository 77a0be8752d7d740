"""The type of an engine, for modules that may not load torch; tests bring a fake one."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rita_demo.engine.engine import Engine
else:
    Engine = Any
