"""The door ``from rita_demo import ...``: what it loads, and what a result shows and writes."""

import html
import json
import re
from pathlib import Path

import pytest

import rita_demo
from rita_demo import RunResult, run
from rita_demo.cli import main as cli
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.bundle_read import read_file
from rita_demo.records.errors import DataError

ASKED = {"label": "cup", "settings": {"views": 4}, "methods": ["clip"], "seed": 3}


@pytest.fixture(scope="module")
def coffee() -> RunResult:
    return run(SAMPLES["coffee"].path, ["cup", "crab", "cat"], **ASKED)


def test_every_name_of_the_door_is_there_and_an_unknown_one_is_an_attribute_error() -> None:
    for name in rita_demo.__all__:
        assert name in dir(rita_demo)
        assert getattr(rita_demo, name).__doc__
    with pytest.raises(AttributeError, match="'rita_demo' has no attribute 'nothing'"):
        getattr(rita_demo, "nothing")  # noqa: B009, the name is not there


def test_python_and_the_command_line_give_the_same_json(coffee: RunResult, tmp_path: Path) -> None:
    words = ["--classes", "cup,crab,cat", "--label", "cup", "--set", "views=4", "--methods", "clip", "--seed", "3"]
    assert cli.main(["explain", str(SAMPLES["coffee"].path), *words, "--json", str(tmp_path / "a.json")]) == 0
    written = json.loads((tmp_path / "a.json").read_text())
    assert written | {"timings": 0} == json.loads(json.dumps(coffee.to_json())) | {"timings": 0}


def test_a_notebook_gets_the_page_in_a_sandboxed_frame(coffee: RunResult) -> None:
    shown = coffee._repr_html_()
    (frame,) = re.findall(r"<iframe [^>]*>", shown)
    assert 'sandbox="allow-scripts"' in frame
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == coffee.to_html()
    assert f"{len(coffee.to_html().encode()) / 1e6:.1f} MB" in shown.removeprefix(frame)


def test_a_saved_run_opens_again(coffee: RunResult, tmp_path: Path) -> None:
    saved = read_file(coffee.save(tmp_path / "run.zip"))
    assert saved.settings == coffee.run.settings
    for name in ("run.json", "nowhere/run.zip"):
        with pytest.raises(DataError):
            coffee.save(tmp_path / name)
