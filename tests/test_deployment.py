"""Container and Space: neither can be made here, but everything they name can be tried."""

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

from rita_demo.process import environment
from rita_demo.server.launch import HEALTH
from tests.process.test_shutdown import server_process

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def lines(word: str) -> list[str]:
    """What follows an instruction, in order."""
    return re.findall(rf"^{word} (.+)$", DOCKERFILE, flags=re.M)


def pinned(name: str) -> str:
    (found,) = re.findall(rf"^{name}==(\S+)$", (ROOT / "constraints.txt").read_text(), flags=re.M)
    return found


def declared_variables() -> dict[str, str]:
    return dict(word.split("=", 1) for line in lines("ENV") for word in line.split())


def copied() -> list[str]:
    return [source for line in lines("COPY") for source in line.split()[:-1]]


def image(folder: Path) -> Path:
    """The files that the image would hold."""
    app = folder / "app"
    app.mkdir()
    for name in copied():
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.pyi")
            shutil.copytree(ROOT / name, app / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, app / name)
    return app


def test_files_copied_into_the_image_exist_and_are_not_ignored() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert set(copied()) == allowed
    for name in copied():
        listed = subprocess.run(["git", "ls-files", name], cwd=ROOT, capture_output=True, text=True)
        assert (ROOT / name).exists()
        assert listed.stdout, f"{name} is not part of the repository"


def test_the_image_runs_the_make_command_as_an_unprivileged_user() -> None:
    (command,) = lines("CMD")
    assert json.loads(command) == ["python", "app.py"]
    assert "$(BIN)/python app.py" in (ROOT / "Makefile").read_text()
    assert lines("USER") == ["rita"]
    assert DOCKERFILE.index("USER rita") < DOCKERFILE.index("\nCMD ")
    (install,) = [line for line in lines("RUN") if "pip install" in line]
    assert install.endswith("-r requirements.txt -c constraints.txt")


def test_image_variables_are_known_and_valid() -> None:
    mine = {name: text for name, text in declared_variables().items() if name.startswith("RITA_")}
    assert set(mine) <= set(environment.VARIABLES)
    environment.check(mine)
    assert environment.value("RITA_HOST", mine) == "0.0.0.0"
    assert lines("EXPOSE") == [mine["RITA_PORT"]]
    volumes = json.loads(lines("VOLUME")[0])
    assert volumes == [mine["RITA_DATA"], mine["RITA_RUNS"]]
    assert all(folder in lines("RUN")[0] for folder in volumes), "the user has to own them"


@pytest.mark.nightly
def test_the_image_files_serve_the_page_and_pass_the_health_check(tmp_path: Path) -> None:
    app = image(tmp_path)
    (check,) = re.findall(r"^HEALTHCHECK .*? CMD (\[.+\])$", DOCKERFILE, flags=re.M)
    assert HEALTH in check
    (command,) = lines("CMD")
    mine = declared_variables() | {"PYTHONPATH": ""}
    for name in ("RITA_HOST", "RITA_PORT", "RITA_DATA", "RITA_RUNS"):
        del mine[name]  # the test's own
    with server_process(tmp_path, *json.loads(command)[1:], cwd=app, **mine) as server:

        def healthy() -> bool:
            port = server.address.rsplit(":", 1)[1].strip("/")
            words = [sys.executable, *json.loads(check)[1:]]
            asked = subprocess.run(words, env=os.environ | {"RITA_PORT": port}, capture_output=True)
            return asked.returncode == 0

        assert not healthy()
        server.wait_until_open()
        assert healthy()
        server.stop(signal.SIGTERM, 40)
        assert not healthy()


def front_matter() -> dict[str, object]:
    (block,) = re.findall(r"\A---\n(.*?)\n---\n", (ROOT / "README.md").read_text("utf-8"), flags=re.S)
    return yaml.safe_load(block)


def test_the_space_has_the_versions_of_the_tests() -> None:
    said = front_matter()
    assert (said["sdk"], said["sdk_version"]) == ("gradio", pinned("gradio"))
    assert f"gradio=={said['sdk_version']}" in (ROOT / "requirements.txt").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={said['python_version']}"
    assert lines("FROM") == [f"python:{said['python_version']}-slim"]
    assert (ROOT / str(said["app_file"])).is_file()
    assert said["license"] == project["license"].lower()


def test_the_space_has_the_required_metadata() -> None:
    said = front_matter()
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {said["colorFrom"], said["colorTo"]} <= colours
    assert len(str(said["short_description"])) <= 60
    assert all(said[name] for name in ("title", "emoji"))
