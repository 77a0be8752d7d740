"""``rita rows``: the stored answers as CSV and as JSON lines are those of the DataFrame."""

import io
import json
from pathlib import Path

import pandas

from rita_demo import load_runs
from rita_demo.cli import main as cli
from rita_demo.evaluation.rows import COLUMNS


def test_csv_and_json_lines_have_every_answer_exactly(runs: Path, capsys) -> None:  # type: ignore[no-untyped-def]
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


def test_a_folder_without_measurements_is_a_sentence(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    assert cli.main(["rows", str(tmp_path)]) == 1
    assert "There are no measurements in the folder" in capsys.readouterr().err
    assert cli.main(["rows", str(tmp_path / "nowhere")]) == 1
    assert "The folder nowhere does not exist." in capsys.readouterr().err
