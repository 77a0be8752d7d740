"""What the README shows runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from rita_demo.data.samples import SAMPLES

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_example_prints_an_answer_of_every_method(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
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
    assert all(f"'{method}': " in done.stdout for method in ("clip", "ensemble", "rita"))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_every_file_the_readme_points_to_is_here(target: str) -> None:
    assert (ROOT / target).is_file()


def test_every_command_of_the_readme_exists() -> None:
    from rita_demo import cli

    for command in re.findall(r"python -m rita_demo (\w+)", README):
        assert cli.main([command, "--help"]) == 0
