"""What makes the project citable, installable and usable elsewhere: CITATION.cff, CHANGELOG.md, README.md, the wheel, the card."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from PIL import Image

from rita_demo.data.samples import SAMPLES
from rita_demo.process.assets import ASSETS, HOME
from tests.live_server import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_a_plain_clone_has_the_model_and_no_pointer() -> None:
    assert "filter=lfs" not in (ROOT / ".gitattributes").read_text("utf-8")
    for file in (ROOT / "assets" / "model").glob("*.safetensors"):
        assert not file.read_bytes().startswith(b"version https://git-lfs")


@pytest.mark.parametrize(
    ("version", "beside"),
    [("standard", {name: f"rita_demo/{name}" for name in ("assets", "app.py", "docs/teaching.md")}), ("editable", {})],
)
def test_the_wheel_carries_the_assets_the_page_and_the_lecture_and_an_editable_one_does_not(version, beside) -> None:
    builder = WheelBuilder(str(ROOT))
    (hook,) = builder.get_build_hooks("").values()
    given: dict[str, dict[str, str]] = {"force_include": {}}
    hook.initialize(version, given)
    assert given["force_include"] == beside
    assert "force-include" not in PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert (HOME, ASSETS) == (ROOT, ROOT / "assets")


def test_what_a_user_installs_is_what_the_package_needs() -> None:
    """requirements.txt and pyproject.toml name the same packages; each lower bound is below the tried version."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    tried = dict(line.split("==") for line in lines if line and line[0] != "#")
    wanted = dict(line.split(",")[0].split(">=") for line in PYPROJECT["project"]["dependencies"])
    assert wanted.keys() == tried.keys()
    for name, low in wanted.items():
        assert version(low) <= version(tried[name]), name


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


@pytest.mark.slow
def test_the_python_example_prints_the_answer_of_every_method(tmp_path: Path) -> None:
    code = re.findall(r"## From Python\n\n```python\n(.*?)```", README, flags=re.S)[0]
    Image.fromarray(SAMPLES["coffee"].load().pixels).save(tmp_path / "picture.jpg")
    words, variables = [sys.executable, "-c", code], {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=280, check=True)
    assert all(f"\n{method} " in done.stdout for method in ("clip", "ensemble", "rita"))
