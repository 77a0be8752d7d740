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

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_example_prints_the_answer_of_every_method(tmp_path: Path) -> None:
    code = re.findall(r"## From Python\n\n```python\n(.*?)```", README, flags=re.S)[0]
    Image.fromarray(SAMPLES["coffee"].load().pixels).save(tmp_path / "picture.jpg")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )
    assert all(f"\n{method} " in done.stdout for method in ("clip", "ensemble", "rita"))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_every_file_linked_in_the_readme_exists(target: str) -> None:
    assert (ROOT / target).is_file()


COMMANDS = re.findall(r"^python -m rita_demo (.+)$", README, flags=re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_in_the_readme_parses(command: str) -> None:
    assert build_parser().parse_args(shlex.split(command, comments=True)).run


def test_the_readme_shows_app_py_without_options() -> None:
    assert COMMANDS
    assert "app.py --" not in README
