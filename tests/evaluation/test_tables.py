"""Stored rows as tables: the contract's columns, Wilson's interval, pooled seeds; in pandas, and as ``rita rows`` has them."""

import csv
import io
import json
import math
import re
import shutil
from pathlib import Path

import pandas
import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation.frames import read as read_rows
from rita_demo.evaluation.report import cells, tables
from rita_demo.evaluation.report.cells import CSV_COLUMNS, as_csv, load_runs
from rita_demo.evaluation.rows import COLUMNS
from rita_demo.records.intervals import wilson
from tests.documented import documented, example
from tests.evaluation.conftest import cut, headers
from tests.evaluation.frames import cell, column, frames, markdown_tables, overview, table

OF_CSV = "dataset,backbone,method,attack,budget,steps,protocol,split,accuracy,n,low,high,seeds,settings,class_names,version,title,missing"


def read(runs: Path, form: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert cli.main(["tables", str(runs), "--format", form]) == 0
    return capsys.readouterr().out


def test_wilson_solves_its_own_quadratic_and_its_ends_are_exactly_0_and_1_where_nothing_or_everything_is_right() -> (
    None
):
    z = 1.959963984540054
    for right, n in ((0, 5), (5, 5), (1, 2), (37, 120), (796, 796), (3, 1000)):
        for end in wilson(right, n):  # 1.96 of its own standard errors from right/n
            assert 0 <= end <= 1
            assert abs(right / n - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n), abs=1e-9)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5), "Newcombe 1998, table I"
    for n in range(1, 3001):
        assert wilson(0, n)[0] == 0.0 < wilson(0, n)[1] < 1.0, n
        assert wilson(n, n)[1] == 1.0 > wilson(n, n)[0] > 0.0, n
        for part in (0.25, 1 / 3, 0.5):  # of several seeds: a picture that is right under some of them
            low, high = wilson(part, n), wilson(n - part, n)
            assert 0.0 < low[0] < part / n < low[1] <= 1.0
            assert 0.0 <= high[0] < (n - part) / n < high[1] < 1.0
            assert low[0] == pytest.approx(1 - high[1], abs=1e-15), "right and wrong may change places"


def test_csv_has_exactly_the_contracts_columns_one_row_per_cell(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = read(runs, "csv", capsys)
    assert text.splitlines()[0] == OF_CSV
    lines = list(csv.DictReader(io.StringIO(text)))
    named = {(line["method"], line["attack"], line["protocol"]): line for line in lines}
    assert len(named) == len(lines) == 2 * (1 + 1 + 2)
    assert {(m, p) for m, _, p in named} == {("clip", "off"), ("ensemble", "off"), ("rita", "off"), ("rita", "stream")}
    pooled = named["rita", "pgd", "stream"]  # n counts pictures, not answers
    assert (pooled["n"], pooled["seeds"], pooled["budget"], pooled["steps"]) == ("5", "0 1", "4", "1")
    clean = named["clip", "none", "off"]  # does not depend on the seed
    assert (clean["n"], clean["seeds"], clean["budget"], clean["steps"]) == ("5", "0", "0", "0")
    answers = read_rows(runs).to_dict("records")
    assert all(row["right"] == (row["answer"] == row["label"]) for row in answers)
    for line in lines:
        columns = ("method", "attack", "budget", "protocol", "settings")
        right = [row["right"] for row in answers if all(str(row[name]) == line[name] for name in columns)]
        share, n = sum(right) / len(right), int(line["n"])
        assert len(right) == n * len(line["seeds"].split())
        low, high = wilson(share * n, n)
        texts = (line["accuracy"], line["low"], line["high"])
        assert texts == tuple(f"{100 * value:.2f}" for value in (share, low, high))


def test_the_overview_has_every_cell_and_each_threat_model_stands_once(runs, capsys) -> None:
    text, found = read(runs, "markdown", capsys), cells.cells(runs)
    overview, details = markdown_tables(text)
    assert overview[0] == ["method", "memory", "clean", "pgd 4/255", "settings"]
    for name, attack in (("clean", "none"), ("pgd 4/255", "pgd")):
        mine = found[found["attack"] == attack]
        assert column(overview, name) == [f"{accuracy:.1f}" for accuracy in mine["accuracy"]]
    assert column(details, "95 %") == [f"{one.low:.1f} to {one.high:.1f}" for one in found.itertuples()]
    for sentence in (
        "No attack",
        "Attacked: frozen CLIP with one view",
        "more than 4/255, in 1 step,",
        "on the model's square of 64 × 64 pixels",
        "The attacker knows the model",
    ):
        assert text.count(sentence) == 1
    assert "among 3 prompts" in text
    assert "Runs with plain GELU in its text tower, as its open_clip_config.json says." in text
    assert ["RITA", "stream"] in [row[:2] for row in overview]


def test_seeds_show_the_lowest_and_highest_accuracy_seconds_are_medians_and_unfinished_cells_have_a_star() -> None:
    two = [cell("rita", rights="yyynn"), cell("rita", rights="ynnnn", seed=1, view_seconds=1.1)]
    _, details = markdown_tables(tables.as_markdown(table(*two, cell("clip", rights="yynnn", view_seconds=0.64))))
    assert column(details, "seeds") == ["0", "0 1 (20.0 to 60.0)"]
    assert column(details, "n") == ["5", "5"], "a picture under another seed is not a new one"
    assert column(details, "s per picture") == ["≥ 0.010 + 0.400", "1.000 + 0.400"], "CLIP has one view of 64"
    found = table(cell("clip", "none", "yyn", pictures=5), cell("clip", "pgd", "yynnn"))
    overview, details = markdown_tables(tables.as_markdown(found))
    assert (overview[1][2], details[1][3:6]) == ("66.7 (3 of 5)*", ["66.7*", "20.8 to 93.9", "3"])
    assert [line["missing"] for line in csv.DictReader(io.StringIO(as_csv(found)))] == ["2", "0"]


def test_pictures_that_own_code_failed_at_are_counted_apart() -> None:
    mine = cell("mine", "pgd", "yyff", method_title="Mine")
    text = tables.as_markdown(table(mine))
    assert "Failed, and counted neither as right nor as wrong: Mine under pgd 1/255, 7 steps, 2 of 4." in text
    assert markdown_tables(text)[0][1][2] == "100.0 (2 of 4)*"
    assert cells.failure_lines(*frames(mine)) == [
        "Failed: Mine: no answer to 2 of 4 pictures of caltech101 under pgd, the first c: it failed: ValueError",
        "2 answers failed. They count neither as right nor as wrong.",
    ]


#: How an attack is made, and what its column says of it.
MADE = (
    (("adaptive", "adaptive.restarts=1"), "adaptive 4/255, 2 steps, adaptive.restarts=1"),
    (("adaptive", "attack_views=2"), "adaptive 4/255, 2 steps, attack_views=2"),
    (("eot", "attack_views=2"), "eot 4/255, 2 steps, attack_views=2"),
    (("pgd", "attack_seed=3"), "pgd 4/255, 2 steps, attack_seed=3"),
)


@pytest.mark.slow
def test_settings_that_act_in_an_attack_alone_are_part_of_its_column_and_tear_no_row_apart(
    run_evaluate, tmp_path, capsys
) -> None:
    few = ["--limit", "1", "--methods", "clip,rita,rita_untuned", "--protocols", "off,stream"]
    runs = run_evaluate(tmp_path / "runs", *few, "--attack", "none,pgd")
    for (attack, setting), _ in MADE:
        run_evaluate(runs, *few, "--attack", attack, "--steps", "2", "--set", setting)
    text = read(runs, "markdown", capsys)
    overview, _ = markdown_tables(text)
    assert set(overview[0][2:-1]) == {"clean", "pgd 4/255", *(name for _, name in MADE)}
    rows = [
        ["CLIP (1 view)", ""],
        *([name, memory] for name in ("RITA", "RITA, untuned") for memory in ("off", "stream")),
    ]
    assert [row[:2] for row in overview[1:]] == rows
    assert all(re.fullmatch(r"\d+\.\d", one) for row in overview[1:] for one in row[2:-1])
    own = "views=6, prompts=2"
    assert set(column(overview, "settings")) == {"recommended", own, f"{own}, max_entropy=9.0"}
    assert "–: not measured" not in text
    assert all(f"**{name}**" in text for _, name in MADE), "each attack with its own settings has its threat model"
    lines = list(csv.DictReader(io.StringIO(read(runs, "csv", capsys))))
    assert len({line["settings"] for line in lines if (line["method"], line["attack"]) == ("clip", "adaptive")}) == 2


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
