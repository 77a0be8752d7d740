"""Every promise of docs/reliability.md names the test that holds it, and that test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMED_TESTS = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def functions_of(path: Path) -> set[str]:
    """The names of the test functions in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")}


def test_every_test_named_in_reliability_md_exists() -> None:
    named = NAMED_TESTS.findall((ROOT / "docs" / "reliability.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [name for name in named if name[1] not in functions_of(ROOT / name[0])] == []


def test_every_promise_names_a_test() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    promises = [row for row in rows if not row.startswith(("| promise", "| what", "| reader"))]
    assert len(promises) > 15
    assert [row for row in promises if not NAMED_TESTS.search(row)] == []
