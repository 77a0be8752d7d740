"""What is above the engine can be imported without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "rita_demo"
FOLDERS = ("pipeline", "evaluation", "plots", "analysis", "records", "settings")
CODE = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    assert "torch" not in sys.modules, name
"""


def test_no_module_above_the_engine_loads_torch() -> None:
    files = [path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py")) if path.stem != "ray"]
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in files]
    names += ["rita_demo.engine.protocol", "rita_demo.attacks.registry", "rita_demo.defences.registry"]
    done = subprocess.run([sys.executable, "-c", CODE, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
