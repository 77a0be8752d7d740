"""The sections "A dataset" and "A figure in *Inside*" of docs/extending.md, followed to the letter."""

import csv
import io
import shlex
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.data import datasets
from rita_demo.data.pictures import png_bytes
from rita_demo.evaluation.frames import measurements
from rita_demo.ui.inside import folds
from tests.extending.page import code_blocks
from tests.textures import texture
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run, make_inside_tab

FOLDER_COMMAND, ROW, LISTING, COMMANDS, _ = code_blocks("A dataset")


def draw_classes(folder: Path) -> None:
    """Two folders with two drawn pictures each."""
    for name, word in (("chanterelle", "pleated"), ("fly_agaric", "polka-dotted")):
        (folder / name).mkdir(parents=True)
        for number in (1, 2):
            (folder / name / f"{number}.png").write_bytes(png_bytes(texture(word, number, 64)))


def mushrooms() -> datasets.Dataset:
    """The row of the page."""
    ((name, row),) = tomllib.loads(ROW).items()
    return datasets.Dataset(name, **row)


def run(commands: str, tmp_path: Path) -> None:
    """Run the commands of a code block on folders below ``tmp_path``."""
    for line in commands.replace("\\\n", "").strip().splitlines():
        places = {"DATA": f"{tmp_path}/data", "RUNS": f"{tmp_path}/runs"}
        words = [places.get(word, word) for word in shlex.split(line)]
        assert words[:3] == ["python", "-m", "rita_demo"]
        assert cli.main(words[3:]) == 0


def results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> set[tuple[str, str, str]]:
    """(dataset, method, number of pictures) of the stored rows."""
    capsys.readouterr()
    assert cli.main(["tables", str(tmp_path / "runs"), "--format", "csv"]) == 0
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    return {(row["dataset"], row["method"], row["n"]) for row in rows}


@pytest.mark.slow
def test_a_folder_per_class_is_a_dataset(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.delitem(datasets.DATASETS, "mushrooms", raising=False)  # who has followed the page has the row
    draw_classes(tmp_path / "data/mushrooms")
    run(FOLDER_COMMAND, tmp_path)
    assert results(tmp_path, capsys) == {("mushrooms", "clip", "2"), ("mushrooms", "rita", "2")}


@pytest.mark.slow
def test_a_row_is_a_dataset(tmp_path, capsys, monkeypatch) -> None:
    row = mushrooms()
    monkeypatch.setitem(datasets.DATASETS, row.name, row)
    draw_classes(tmp_path / "data/mushrooms/images")
    (tmp_path / "data/mushrooms/split.json").write_text(LISTING)
    listed, measured = COMMANDS.strip().split("\n", 1)
    run(listed, tmp_path)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "mushrooms" in line)
    assert line.split(maxsplit=2)[2].split("  ")[0] == row.template
    assert line.endswith("2 classes; pictures: val 2.")
    run(measured, tmp_path)
    assert {asked["ctpt_weight"] for asked in measurements(tmp_path / "runs").requested} == {20.0}
    assert results(tmp_path, capsys) == {("mushrooms", "clip", "2"), ("mushrooms", "rita", "2")}


def test_a_function_and_a_row_are_a_figure_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    source, row = code_blocks("A figure in *Inside*")
    module = ModuleType("rita_demo.figures.decision.votes")
    exec(compile(source, "votes.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    imported, call = row.split("\n\n")
    names = vars(folds).copy()
    exec(imported, names)
    known = [row for row in folds.SURE if row.name != "votes"]  # who has followed the page has this row
    monkeypatch.setattr(folds, "SURE", (*known, eval(call, names)))

    inside = make_inside_tab(ToyEngine(spread=0.2))
    visitor = inside.context.sessions.open()
    session = inside.context.sessions.get(visitor)
    run = completed_run(ToyEngine(spread=0.2))
    session.show(run)
    session.inside.open_folds = frozenset({"entropy-fold"})
    session.touch("run")
    updates = inside.context.panels.open(session, "inside")
    (figure,) = (value for one, value in updates.items() if one.elem_id == "in-votes")
    labels = run.attacked.trace.confidence.label
    assert list(figure.data[0].y) == np.bincount(labels, minlength=len(run.class_prompts.names)).tolist()
