"""Every promise of SECURITY.md and docs/deployment.md names the tests that hold it, and those tests exist."""

import ast
import re

import pytest

from tests.live_server import ROOT

NAMED_TESTS = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
TABLE = "| promise | held by |\n|---|---|\n"


@pytest.mark.parametrize(("page", "least"), [("SECURITY.md", 22), ("docs/deployment.md", 6)])
def test_every_promise_names_tests_that_exist(page: str, least: int) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").partition(TABLE)[2].partition("\n\n")[0]
    promises = text.splitlines()
    assert len(promises) >= least
    assert [row for row in promises if not NAMED_TESTS.search(row)] == []
    for file, name in NAMED_TESTS.findall(text):
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (file, name)
