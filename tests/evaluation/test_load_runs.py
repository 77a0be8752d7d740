"""Stored rows as a pandas table, and as ``rita rows`` prints them; the columns that docs/python.md describes."""

import io
import json
import shutil
from pathlib import Path

import pandas
import pytest

from rita_demo import __version__
from rita_demo.cli import main as cli
from rita_demo.evaluation.report.cells import CSV_COLUMNS, cells, load_runs
from rita_demo.evaluation.rows import COLUMNS
from tests.documented import documented, example
from tests.evaluation.conftest import cut, headers
from tests.evaluation.frames import overview


def test_the_table_has_every_row_and_a_cell_counts_once(runs: Path) -> None:
    frame, found = load_runs(runs), list(cells(runs).itertuples())
    assert (set(frame.dataset), set(frame.version)) == ({"caltech101"}, {__version__})
    assert (frame.right == (frame.label == frame.answer)).all()
    assert {(cell.class_names, cell.version) for cell in found} == {(3, __version__)}
    assert len(load_runs(runs, runs)) == len(frame) == sum(cell.answers for cell in found)


def test_tables_figures_and_load_runs_take_folders_of_run_folders(runs: Path, tmp_path: Path, capsys) -> None:
    one, other = (Path(shutil.copytree(runs, tmp_path / "all" / name)) for name in ("one", "other"))
    for folder, method in ((one, "clip"), (other, "rita")):
        cut(folder, 0, f"method = '{method}'")
    both, whole = load_runs(tmp_path / "all"), load_runs(runs)
    pandas.testing.assert_frame_equal(both, load_runs(one, other))
    by = list(both)[:11]  # the numbers of measurements follow the folders
    frames = [frame.drop(columns="measurement").sort_values(by, ignore_index=True) for frame in (both, whole)]
    pandas.testing.assert_frame_equal(*frames)
    assert overview(tmp_path / "all") == overview(runs), "with the comparisons between methods of both folders"
    printed = set()
    for words in ([tmp_path / "all"], [one, other], [runs]):
        assert cli.main(["tables", *map(str, words), "--format", "csv"]) == 0
        printed.add(capsys.readouterr().out)
    assert len(printed) == 1


def test_a_sweep_is_not_pooled_without_a_word(runs: Path, run_evaluate, tmp_path: Path, recwarn) -> None:
    load_runs(runs)
    assert not [one for one in recwarn if "settings" in str(one.message)], "seeds, attacks and memories are columns"
    more = ("--methods", "ensemble", "--limit", "2", "--sweep", "ensemble_average=logit,feature")
    swept = run_evaluate(tmp_path / "runs", *more)
    sentence = r"ensemble on caltech101 was measured under 2 settings .*ensemble_average=logit.*group by settings"
    with pytest.warns(UserWarning, match=sentence):
        assert load_runs(swept).settings.nunique() == 2


def test_every_column_is_documented_and_nothing_else(runs: Path) -> None:
    assert documented("Rows of evaluate") == list(load_runs(runs).columns)
    assert sorted(documented("The facts of a measurement")) == sorted(headers(runs)[0].facts)
    assert documented("Tables as CSV") == list(CSV_COLUMNS)


@pytest.mark.parametrize(
    ("number", "end", "said"),
    [(0, "\0", "stream"), (1, "\0", "stored_as"), (2, "evaluate(", "pictures right that CLIP")],
)
def test_the_documents_lines_run(number: int, end: str, said: str, runs: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(runs.parent)
    lines = example(number).rpartition(end)[0] or example(number)
    exec(lines.replace("RUNS", runs.name).replace("MORE", runs.name), {})
    assert said in capsys.readouterr().out


def test_csv_and_json_lines_have_every_answer_exactly(runs: Path, capsys) -> None:
    frame, shown = load_runs(runs), [*COLUMNS, "content", "place"]
    said = []
    for option in ("--csv", "--jsonl"):
        capsys.readouterr()
        assert cli.main(["rows", str(runs), option]) == 0
        said.append(capsys.readouterr().out)
    lines = [json.loads(line) for line in said[1].splitlines()]
    assert len(lines) == len(frame) > 50
    assert list(lines[0]) == shown == [*list(frame)[: list(frame).index("seconds_method") + 1], "content", "place"]
    for name in ("picture", "answer", "margin", "probability", "entered", "seed"):
        assert [line[name] for line in lines] == frame[name].tolist()
    assert {line["already_wrong"] for line in lines} == {None, True, False}
    table = pandas.read_csv(io.StringIO(said[0]))
    assert list(table) == shown
    assert table.margin.tolist() == frame.margin.tolist()
    assert cli.main(["rows", str(runs)]) == 0
    assert capsys.readouterr().out == said[0], "CSV, where nothing is said"
