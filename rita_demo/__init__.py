"""RITA demo: see an adversarial attack on a vision-language model, and see a defence undo it."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Before torch is imported: OpenMP threads that wait must sleep, not spin. The transports are small
# batches of tiny problems, and on cores that are shared with anything else (another visitor, a
# browser) spinning threads make a re-score many times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from rita_demo.settings.table import ADDED_BY

# Settings are checked against the names of all attacks and the own settings of all defences.
ADDED_BY += ["rita_demo.attacks.registry", "rita_demo.defences.registry"]

if TYPE_CHECKING:
    from rita_demo.engine.engine import Engine
    from rita_demo.evaluation.report.cells import load_runs
    from rita_demo.evaluation.report.only_right import only_right
    from rita_demo.evaluation.stored_views import stored_views
    from rita_demo.scripting.evaluate import evaluate
    from rita_demo.scripting.judge import judge
    from rita_demo.scripting.memory import save_memory
    from rita_demo.scripting.run import RunResult, run
    from rita_demo.scripting.smallest_budget import smallest_budget
    from rita_demo.vlm.own_model import own_model
else:
    # The first use of a name imports its module, so that "import rita_demo" loads no torch.
    _MODULES = {
        "Engine": "engine.engine",
        "RunResult": "scripting.run",
        "evaluate": "scripting.evaluate",
        "judge": "scripting.judge",
        "load_runs": "evaluation.report.cells",
        "only_right": "evaluation.report.only_right",
        "own_model": "vlm.own_model",
        "run": "scripting.run",
        "save_memory": "scripting.memory",
        "smallest_budget": "scripting.smallest_budget",
        "stored_views": "evaluation.stored_views",
    }

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'rita_demo' has no attribute {name!r}")
        return getattr(import_module(f"rita_demo.{_MODULES[name]}"), name)

    def __dir__() -> list[str]:
        return sorted([*globals(), *_MODULES])


__all__ = [
    "Engine",
    "RunResult",
    "evaluate",
    "judge",
    "load_runs",
    "only_right",
    "own_model",
    "run",
    "save_memory",
    "smallest_budget",
    "stored_views",
]
