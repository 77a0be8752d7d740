"""The import ladder, executed: data flows one way, and a newcomer can trust the folders."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rita_demo"

# Who may import whom inside rita_demo. Everybody may import records, settings and errors.
BOTTOM = {
    "records",
    "surveys",
    "settings",
    "knob",
    "errors",
    "intervals",
    "methods",
    "environment",
    "logs",
    "duty",
}
SIBLINGS = {"method", "vlm", "views", "attacks", "data"}
LADDER: dict[str, set[str]] = {
    **{name: set() for name in BOTTOM},
    "surveys": {"records"},
    "knob": {"errors"},
    "environment": {"errors"},
    "duty": {"errors"},
    "settings": {"errors", "knob"},
    "methods": {"errors"},
    **dict.fromkeys(SIBLINGS, BOTTOM),
    **dict.fromkeys(("method", "views"), BOTTOM | {"threads"}),
    "threads": set(),
    "baselines": BOTTOM | {"method"},
    "training": BOTTOM | SIBLINGS | {"baselines"},
    "crossing": set(),
    "heap": set(),
    "recent": set(),
    "terminal": {"errors", "environment"},
    "sights": BOTTOM | {"attacks", "method", "views"},
    "engine": BOTTOM | SIBLINGS | {"baselines", "crossing", "heap", "recent", "sights"},
    "evaluation": BOTTOM
    | {"data", "views", "attacks", "engine", "analysis", "terminal", "environment"},
    "measuring": BOTTOM | {"evaluation", "data", "attacks", "engine"},
    "threat": BOTTOM | {"attacks"},
    "story": BOTTOM | {"engine", "data", "threat"},
    "retelling": BOTTOM | {"attacks", "engine", "data", "story", "threat"},
    "film": BOTTOM | {"engine", "story", "data"},
    "examples": {"records", "settings", "story", "data", "engine", "vlm"},
    "reference": BOTTOM | {"vlm", "views"},
    "bench": BOTTOM
    | SIBLINGS
    | {"crossing", "engine", "story", "retelling", "reference", "table", "terminal"},
    "exports": BOTTOM,
    "bundle": BOTTOM | {"exports", "data"},
    "plots": BOTTOM,
    "analysis": BOTTOM,
    "ui": BOTTOM
    | {
        "plots",
        "analysis",
        "story",
        "retelling",
        "film",
        "exports",
        "data",
        "attacks",
        "vlm",
        "measuring",
    }
    | {"bundle", "heap"},
    "table": BOTTOM | {"story", "data", "vlm"},
    "cli": BOTTOM
    | {"engine", "story", "exports", "data", "vlm", "training", "table", "evaluation", "bench"}
    | {"terminal", "ui", "serving", "environment"},
    "serving": {"errors", "bundle"},
    "__main__": {"cli"},
    "__init__": set(),
}
# Libraries that belong to one side of the engine only.
FORBIDDEN: dict[str, set[str]] = {
    **{
        name: {"gradio", "plotly"}
        for name in [
            *SIBLINGS,
            "sights",
            "engine",
            "baselines",
            "training",
            "reference",
            "bench",
        ]
    },
    **{
        name: {"torch", "open_clip", "torchvision"}
        for name in [
            "ui",
            "plots",
            "analysis",
            "exports",
            "bundle",
            "serving",
            "evaluation",
            "measuring",
        ]
    },
    **{name: {"torch", "open_clip", "gradio", "plotly", "PIL"} for name in BOTTOM},
    "method": {"open_clip", "PIL", "gradio", "plotly"},
    "attacks": {"open_clip", "PIL", "gradio", "plotly"},
    "data": {"torch", "gradio", "plotly"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def place_of(path: Path) -> str:
    """The rung a file stands on: its folder below rita_demo, or its own name."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Dotted names of everything a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            raise AssertionError(f"{path.name} uses a relative import; write the full name")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_only_from_lower_rungs(path: Path) -> None:
    place = place_of(path)
    assert place in LADDER, f"{place} has no rung on the ladder yet"
    ours = {name.split(".")[1] for name in imports_of(path) if name.startswith("rita_demo.")}
    assert ours <= LADDER[place] | {place}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_no_library_from_the_other_side_of_the_engine(path: Path) -> None:
    libraries = {name.split(".")[0] for name in imports_of(path)}
    assert not libraries & FORBIDDEN.get(place_of(path), set())


def test_ray_is_optional_and_imported_by_one_file() -> None:
    users = {path.name for path in FILES if {n.split(".")[0] for n in imports_of(path)} & {"ray"}}
    importers = {path.name for path in FILES if any("on_ray" in name for name in imports_of(path))}
    assert users == {"on_ray.py"}
    assert not importers
