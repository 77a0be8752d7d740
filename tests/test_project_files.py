"""What makes the project citable, installable and usable elsewhere: CITATION.cff, CHANGELOG.md, the wheel, the card."""

import subprocess
import sys
import tomllib

import yaml

import rita_demo
from rita_demo.process.assets import ASSETS, HOME
from tests.live_server import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_citation_has_what_its_format_requires_and_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == rita_demo.__version__
    assert cited["type"] == "software"
    assert cited["message"]
    (paper,) = cited["references"]
    for one in (cited, paper):
        assert one["title"]
        assert all(set(author) == {"name"} for author in one["authors"])
    assert "RITA" in paper["title"]


def test_the_newest_version_of_the_changelog_is_that_of_the_command() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = next(line for line in text.splitlines() if line.startswith("## "))
    assert newest.split()[1] == rita_demo.__version__
    answer = subprocess.run([sys.executable, "-m", "rita_demo", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert answer.stdout.strip() == f"rita-demo {rita_demo.__version__}"


def test_the_model_card_has_metadata() -> None:
    _, front, body = (ROOT / "assets" / "model" / "README.md").read_text("utf-8").split("---\n", 2)
    said = yaml.safe_load(front)
    assert said["library_name"] == "open_clip"
    assert said["license"] == "other"
    assert said["license_name"]
    assert said["pipeline_tag"] == "zero-shot-image-classification"
    assert {"caltech101", "dtd"} <= set(said["datasets"])
    assert body.lstrip().startswith("# ")


def test_a_plain_clone_has_the_model_and_no_pointer() -> None:
    assert "filter=lfs" not in (ROOT / ".gitattributes").read_text("utf-8")
    for file in (ROOT / "assets" / "model").glob("*.safetensors"):
        assert not file.read_bytes().startswith(b"version https://git-lfs")


def test_the_wheel_carries_the_assets_and_the_page() -> None:
    build = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert build["force-include"] == {"assets": "rita_demo/assets", "app.py": "rita_demo/app.py"}
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
