"""The installed command: its name, its version, and that every file beside the code travels in the wheel."""

import subprocess
import sys
import tomllib
from pathlib import Path

import rita_demo
from rita_demo.process.assets import ASSETS, HOME

ROOT = Path(__file__).resolve().parents[1]


def test_version_is_that_of_the_package() -> None:
    answer = subprocess.run([sys.executable, "-m", "rita_demo", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert answer.stdout.strip() == f"rita-demo {rita_demo.__version__}"


def test_the_wheel_carries_the_assets_and_the_page() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert build["force-include"] == {"assets": "rita_demo/assets", "app.py": "rita_demo/app.py"}
    assert (HOME, ASSETS) == (ROOT, ROOT / "assets")


def test_what_a_user_installs_is_what_the_package_needs() -> None:
    """requirements.txt and pyproject.toml name the same packages; each lower bound is below the tried version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tried = dict(
        line.split("==") for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] != "#"
    )
    wanted = {}
    for line in project["dependencies"]:
        name, bound = line.split(">=")
        wanted[name] = tuple(int(part) for part in bound.split(",")[0].split("."))
    assert wanted.keys() == tried.keys()
    for name, low in wanted.items():
        assert low <= tuple(int(part) for part in tried[name].split(".")[:3] if part.isdigit()), name
