"""Container, Space and wheel: they cannot be made here, but everything they name can be tried; and ``app.py`` itself."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from PIL import Image

from rita_demo.data.samples import SAMPLES
from rita_demo.process import environment
from rita_demo.server.launch import HEALTH
from tests.live_server import ROOT, tracked_files
from tests.process.test_shutdown import server_process

DOCKERFILE = (ROOT / "Dockerfile").read_text()


def lines(word: str) -> list[str]:
    """What follows an instruction, in order."""
    return re.findall(rf"^{word} (.+)$", DOCKERFILE, flags=re.M)


DECLARED = dict(word.split("=", 1) for line in lines("ENV") for word in line.split())
COPIED = [source for line in lines("COPY") for source in line.split()[:-1]]


def copied_files() -> list[Path]:
    """The files that the image would hold."""
    return [path for path in tracked_files() if str(path.relative_to(ROOT)).startswith(tuple(COPIED))]


def test_files_copied_into_the_image_exist_and_are_not_ignored() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert set(COPIED) == allowed
    found = [str(path.relative_to(ROOT)) for path in copied_files()]
    assert [name for name in COPIED if not any(path.startswith(name) for path in found)] == []


def test_the_image_runs_the_make_command_as_an_unprivileged_user() -> None:
    (command,) = lines("CMD")
    assert json.loads(command) == ["python", "app.py"]
    assert "$(BIN)/python app.py" in (ROOT / "Makefile").read_text()
    assert lines("USER") == ["rita"]
    assert DOCKERFILE.index("USER rita") < DOCKERFILE.index("\nCMD ")
    (install,) = [line for line in lines("RUN") if "pip install" in line]
    assert install.endswith("-r requirements.txt -c constraints.txt")


def test_image_variables_are_known_and_valid() -> None:
    mine = {name: text for name, text in DECLARED.items() if name.startswith("RITA_")}
    assert set(mine) <= set(environment.VARIABLES)
    environment.check(mine)
    assert environment.value("RITA_HOST", mine) == "0.0.0.0"
    assert lines("EXPOSE") == [mine["RITA_PORT"]]
    volumes = json.loads(lines("VOLUME")[0])
    assert volumes == [mine["RITA_DATA"], mine["RITA_RUNS"]]
    assert all(folder in lines("RUN")[0] for folder in volumes), "the user has to own them"


@pytest.mark.nightly
def test_the_image_files_serve_the_page_and_pass_the_health_check(tmp_path: Path) -> None:
    for path in copied_files():
        place = tmp_path / "app" / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    (check,) = re.findall(r"^HEALTHCHECK .*? CMD (\[.+\])$", DOCKERFILE, flags=re.M)
    assert HEALTH in check
    own = ("RITA_HOST", "RITA_PORT", "RITA_DATA", "RITA_RUNS")  # the test's
    mine = {name: text for name, text in DECLARED.items() if name not in own} | {"PYTHONPATH": ""}
    with server_process(tmp_path, "app.py", cwd=tmp_path / "app", **mine) as server:

        def healthy() -> bool:
            port = server.address.rsplit(":", 1)[1].strip("/")
            words = [sys.executable, *json.loads(check)[1:]]
            return subprocess.run(words, env=os.environ | {"RITA_PORT": port}, capture_output=True).returncode == 0

        assert not healthy()
        server.wait_until_open()
        assert healthy()
        server.stop(signal.SIGTERM, 40)
        assert not healthy()


def test_the_space_has_the_required_metadata_and_the_versions_of_the_tests() -> None:
    said = yaml.safe_load((ROOT / "README.md").read_text("utf-8").split("---\n")[1])
    assert said["sdk"] == "gradio"
    for file in ("constraints.txt", "requirements.txt"):
        assert f"gradio=={said['sdk_version']}" in (ROOT / file).read_text().splitlines()
    project = PYPROJECT["project"]
    assert project["requires-python"] == f">={said['python_version']}"
    assert lines("FROM") == [f"python:{said['python_version']}-slim"]
    assert (ROOT / str(said["app_file"])).is_file()
    assert said["license"] == project["license"].lower()


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


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


@pytest.mark.nightly
def test_the_python_example_prints_the_answer_of_every_method(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    code = re.findall(r"## From Python\n\n```python\n(.*?)```", readme, flags=re.S)[0]
    Image.fromarray(SAMPLES["coffee"].load().pixels).save(tmp_path / "picture.jpg")
    words, variables = [sys.executable, "-c", code], {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=280, check=True)
    assert all(f"\n{method} " in done.stdout for method in ("clip", "ensemble", "rita"))
