"""A memory that the page exported, in scripts: ``run``, ``explain --memory``, and ``stored_views``."""

import json
from pathlib import Path

import pytest

from rita_demo import Engine, run, stored_views
from rita_demo.cli import main as cli
from rita_demo.data import memory_file
from rita_demo.data.memory import MemoryTable
from rita_demo.data.memory_file import FileError
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.export import to_json
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.generators import run_to_end
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED

NAMES = ("cup", "crab", "cat")
SETTINGS = {"views": 6, "tuning_steps": 0, "max_entropy": 9.0}
FIRST, SECOND = (SAMPLES[name].path for name in ("coffee", "cat"))


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.fixture(scope="module")
def page(engine: Engine) -> MemoryTable:
    """What the page has in its memory after a picture."""
    request = RunRequest.parse(FIRST, classes=list(NAMES), label="cup", attack="none", changes=SETTINGS)
    request = request.opened(engine.info.side)
    done = run_to_end(request.run_steps(engine))
    return MemoryTable().with_picture(
        "coffee.png", request.picture.key, done, engine.view_pixels(request.picture, done.settings)
    )


@pytest.fixture(scope="module")
def exported(engine: Engine, page: MemoryTable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "memory.zip"
    path.write_bytes(memory_file.pack(page, engine.info.name, RECOMMENDED.replace(**SETTINGS)))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("picture", [FIRST, SECOND])
def test_a_run_from_a_file_is_what_the_page_decides(picture, engine, page, exported) -> None:
    """Also of a picture that is in the memory: it is decided without its own views."""
    request = RunRequest.parse(picture, classes=list(NAMES), attack="none", changes=SETTINGS).opened(engine.info.side)
    imported = memory_file.unpack(exported.read_bytes(), None, engine.info.name, engine.info.width)
    theirs = to_json(run_to_end(request.run_steps(engine, imported.cache_before(request.picture.key))))
    mine = run(picture, NAMES, attack="none", settings=SETTINGS, engine=engine, memory=exported)
    empty = run(picture, NAMES, attack="none", settings=SETTINGS, engine=engine)
    assert mine.to_json()["clean"] == theirs["clean"]
    assert mine.run.cache_before.pictures == page.moments[-1].pictures
    before = [int(one.run.cache_before.count.sum()) for one in (mine, empty)]
    assert before == [0 if picture == FIRST else len(page.moments[-1].held), 0]
    if picture == SECOND:
        assert mine.to_json()["clean"]["methods"]["rita"] != empty.to_json()["clean"]["methods"]["rita"]


def test_a_memory_that_would_not_be_used_and_a_file_that_is_none_are_refused(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="protocol=stream; got off"):
        run(SECOND, NAMES, settings={"protocol": "off"}, memory=exported)
    with pytest.raises(FileError, match="cannot be read"):
        run(SECOND, NAMES, memory=tmp_path / "none.zip")
    with pytest.raises(FileError, match="not a zip"):
        stored_views(FIRST)


def test_the_terminal_begins_with_it_too(engine: Engine, exported: Path, tmp_path: Path) -> None:
    words = ["--classes", ",".join(NAMES), "--attack", "none", "--methods", "clip", "--memory", str(exported)]
    words += [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    assert cli.main(["explain", str(SECOND), *words, "--json", str(tmp_path / "a.json")]) == 0
    mine = run(SECOND, NAMES, attack="none", methods="clip", settings=SETTINGS, engine=engine, memory=exported)
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["clean"] == json.loads(json.dumps(mine.to_json()["clean"]))
