"""What the README shows runs as it stands there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from rita_demo.cli.main import build_parser
from rita_demo.data.samples import SAMPLES
from tests.live_server import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_example_prints_the_answer_of_every_method(tmp_path: Path) -> None:
    code = re.findall(r"## From Python\n\n```python\n(.*?)```", README, flags=re.S)[0]
    Image.fromarray(SAMPLES["coffee"].load().pixels).save(tmp_path / "picture.jpg")
    words, variables = [sys.executable, "-c", code], {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=280, check=True)
    assert all(f"\n{method} " in done.stdout for method in ("clip", "ensemble", "rita"))


def test_every_file_linked_in_the_readme_exists() -> None:
    assert [target for target in re.findall(r"\]\(([^)#:]+)\)", README) if not (ROOT / target).is_file()] == []


def test_every_command_in_the_readme_parses_and_app_py_has_no_options() -> None:
    commands = re.findall(r"^python -m rita_demo (.+)$", README, flags=re.M)
    assert len(commands) >= 8
    for command in commands:
        assert build_parser().parse_args(shlex.split(command, comments=True)).run, command
    assert "app.py --" not in README
