"""docs/extending.md, "Your defence, judged", to the letter."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from rita_demo.cli.main import build_parser
from tests.extending.page import code_blocks

pytestmark = pytest.mark.slow
TITLE = "Your defence, judged"


def test_the_file_is_short_and_its_commands_judge_it(folder: Path, tiny_model_dir: Path, rita) -> None:
    file, commands, _ = code_blocks(TITLE)
    assert sum(bool(line) for line in file.splitlines()) <= 12
    (folder / "mine.py").write_text(file)
    quick, whole = (shlex.split(line)[3:] for line in commands.strip().splitlines())
    assert build_parser().parse_args(whole).run
    small = ["--backbone", f"local-dir:{tiny_model_dir}", "--limit", "2", "--set", "views=4", "--set", "attack_views=2"]
    done = rita(*quick, *small)
    assert done.status == 0, done.err
    written = json.loads((folder / "mine/judge.json").read_text())
    assert written["verdict"] in done.out
    assert "mine/judge.html" in done.out
    assert (folder / "mine/judge.html").is_file()


@pytest.mark.nightly
def test_the_python_block_prints_the_verdict(folder: Path, output_of: Callable[[str], str]) -> None:
    """With the embedded model itself: nightly."""
    file, _, code = code_blocks(TITLE)
    (folder / "mine.py").write_text(file)
    assert output_of(code).startswith("Mine, at a quick look, which is no judgement: ")
