"""What version 0.1.0 wrote opens today (before/README.md says how each file was made)."""

import shlex
import shutil
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from rita_demo.cli import main as cli
from rita_demo.engine.engine import Engine
from rita_demo.pipeline.bundle_read import differences, read_file
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.background.saved_run import ReopenedRun
from rita_demo.ui.session import cache_file
from rita_demo.ui.session.share_link import parse_link

BEFORE = Path(__file__).parent / "before"
RUN = "evaluate --dataset textures --split val --limit 3 --methods clip,ensemble,rita --attack none,pgd --budget 4"


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine("embedded", "cpu")


def test_the_tables_of_a_run_folder_are_what_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tables", str(BEFORE / "run"), "--format", "csv"]) == 0
    rows = [
        line.rsplit(",", 2)[0] for line in capsys.readouterr().out.splitlines()
    ]  # without "title" and "missing", which came at the end
    assert rows == (BEFORE / "tables.csv").read_text().splitlines()


def test_the_same_command_finds_every_row_of_a_run_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(BEFORE / "run", tmp_path / "run")
    words = [*RUN.split(), "--set", "views=8", "--protocols", "off,stream", "--out", str(tmp_path / "run")]
    assert cli.main(words) == 0
    assert "8 cells, 24 rows, 0 of them new" in capsys.readouterr().out


def test_a_saved_run_gives_the_answers_that_are_stored_in_it(engine: Engine) -> None:
    saved = read_file(BEFORE / "saved-run.zip")
    assert saved.names == ("cup", "crab", "cat")
    assert saved.cache_file is not None
    reopened = ReopenedRun(engine, saved)
    reopened.start()
    assert reopened.wait(60), reopened.sentence
    assert reopened.session is not None
    run = reopened.session.run
    assert run is not None
    assert run.cache_before.pictures == 1
    assert not differences(saved, run)


def test_an_exported_memory_is_imported(engine: Engine) -> None:
    prompts = engine.encode_classes(("cup", "crab", "cat"), RECOMMENDED.replace(views=8))
    data = cache_file.read_file(BEFORE / "memory.safetensors")
    snapshot = cache_file.unpack(data, prompts, engine.info.name)
    (item,) = snapshot.items_by_class[1]
    assert (snapshot.count, item.view, item.born) == (1, 0, 0)


def test_a_link_asks_for_what_it_asked_for() -> None:
    link = parse_link(dict(parse_qsl((BEFORE / "link.txt").read_text().strip(), keep_blank_values=True)))
    assert link is not None
    assert (link.sample, link.form["own_names"], link.attack) == ("motorcycle", "motorbike,crab,piano", True)
    assert (link.form["budget"], link.form["views"], link.form["steps"]) == (7, 16, RECOMMENDED.steps)
    assert link.selection == {"k": 2, "view": 5, "atom": 1, "step": 3, "side": "clean"}


@pytest.mark.parametrize("line", (BEFORE / "commands.txt").read_text().splitlines())
def test_a_command_line_is_understood(line: str) -> None:
    assert callable(cli.build_parser().parse_args(shlex.split(line)).run)
