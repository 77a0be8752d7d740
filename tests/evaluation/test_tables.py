"""Tables: the contract's columns, Wilson's interval, pooled seeds, the threat model above."""

import csv
import io
import json
import math
import re
import shutil
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rita_demo.evaluation.report.results import ResultRow, result_rows
from rita_demo.evaluation.store.cell_file import CellHeader, SeedGroup
from rita_demo.evaluation.store.files import read_lines

from rita_demo.cli import main as cli
from rita_demo.evaluation.report import results
from rita_demo.evaluation.report.tables import measured_tables
from rita_demo.records.intervals import wilson
from tests.evaluation.conftest import result_row, stored_header

COLUMNS = "dataset,backbone,method,attack,budget,steps,protocol,split,accuracy,n,low,high,seeds,settings,class_names,version,title,missing"


def read(runs: Path, form: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert cli.main(["tables", str(runs), "--format", form]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (1, 2), (37, 120), (796, 796), (3, 1000)])
def test_wilson_solves_its_own_quadratic(right: int, n: int) -> None:
    """Both ends p are 1.96 standard errors of p away from right/n."""
    z = 1.959963984540054
    for end in wilson(right, n):
        assert 0 <= end <= 1
        error = math.sqrt(end * (1 - end) / n)
        assert abs(right / n - end) == pytest.approx(z * error, abs=1e-9)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5), "Newcombe 1998, table I"


def test_wilsons_ends_are_exactly_0_and_1_where_nothing_or_everything_is_right() -> None:
    for n in range(1, 3001):
        assert wilson(0, n)[0] == 0.0 < wilson(0, n)[1] < 1.0, n
        assert wilson(n, n)[1] == 1.0 > wilson(n, n)[0] > 0.0, n
        for part in (0.25, 1 / 3, 0.5):  # of several seeds: a picture that is right under some of them
            low, high = wilson(part, n), wilson(n - part, n)
            assert 0.0 < low[0] < part / n < low[1] <= 1.0
            assert 0.0 <= high[0] < (n - part) / n < high[1] < 1.0
            assert low[0] == pytest.approx(1 - high[1], abs=1e-15), "right and wrong may change places"


def test_the_model_note_is_above_its_numbers(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    note = "Runs with plain GELU in its text tower, as its open_clip_config.json says."
    for form in ("markdown", "latex"):
        assert note in read(runs, form, capsys).replace("\\_", "_")
    silent = Path(shutil.copytree(runs, tmp_path / "runs"))
    for header in silent.glob("cells/*/header.json"):
        header.write_text(json.dumps(json.loads(header.read_text()) | {"note": ""}))
    text = read(silent, "markdown", capsys)
    assert "Model weights" in text
    assert note not in text


def test_csv_has_exactly_the_contracts_columns_one_row_per_cell(runs: Path, rows_of, capsys) -> None:  # type: ignore[no-untyped-def]
    text = read(runs, "csv", capsys)
    assert text.splitlines()[0] == COLUMNS
    rows = list(csv.DictReader(io.StringIO(text)))
    cells = {(r["method"], r["attack"], r["protocol"]): r for r in rows}
    assert len(cells) == len(rows) == 2 * (1 + 1 + 2)
    assert {(m, p) for m, _, p in cells} == {("clip", "off"), ("ensemble", "off"), ("rita", "off"), ("rita", "stream")}
    pooled = cells["rita", "pgd", "stream"]
    # n counts pictures, not answers
    assert (pooled["n"], pooled["seeds"], pooled["budget"], pooled["steps"]) == ("5", "0 1", "4", "1")
    clean = cells["clip", "none", "off"]  # does not depend on the seed
    assert (clean["n"], clean["seeds"], clean["budget"], clean["steps"]) == ("5", "0", "0", "0")
    stored = [row for found in rows_of(runs).values() for row in found]
    assert all(row["right"] == (row["answer"] == row["label"]) for row in stored)
    for row in rows:
        columns = ("method", "attack", "budget", "protocol", "settings")
        right = [one["right"] for one in stored if all(str(one[k]) == row[k] for k in columns)]
        share, n = sum(right) / len(right), int(row["n"])
        assert len(right) == n * len(row["seeds"].split())
        low, high = wilson(share * n, n)
        texts = (row["accuracy"], row["low"], row["high"])
        assert texts == tuple(f"{100 * value:.2f}" for value in (share, low, high))


def test_markdown_prints_the_threat_model_above_each_table(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overview, clean, attacked = read(runs, "markdown", capsys).split("### ")[1:]
    shape = {(cell.method, cell.protocol): {} for cell in result_rows(runs)}
    for cell in result_rows(runs):
        shape[cell.method, cell.protocol][cell.attack] = f"{cell.accuracy:.1f}"
    lines = [line.split(" | ") for line in overview.splitlines() if line.startswith("| ")]
    assert lines[0][2:4] == ["clean", "pgd 4/255"]
    assert [line[2:4] for line in lines[2:]] == [[found["none"], found["pgd"]] for found in shape.values()]
    assert clean.index("No attack") < clean.index("| method |")
    for sentence in (
        "Attacked: frozen CLIP with one view",
        "more than 4/255, in 1 step,",
        "on the model's square of 64 × 64 pixels",
        "The attacker knows the model",
        "among 3 prompts",
    ):
        assert attacked.index(sentence) < attacked.index("| method |")
    assert "| RITA | stream |" in attacked
    assert "views=6" in attacked


def test_several_seeds_show_the_lowest_and_highest_accuracy(runs, rows_of, capsys) -> None:
    cells = [rows for name, rows in rows_of(runs).items() if "_rita_pgd_" in name and rows[0]["protocol"] == "stream"]
    ends = sorted(100 * sum(row["right"] for row in rows) / len(rows) for rows in cells)
    assert len(ends) == 2
    (line,) = (x for x in result_rows(runs) if (x.method, x.attack, x.protocol) == ("rita", "pgd", "stream"))
    assert line.accuracy_range == (ends[0], ends[-1])
    assert f"| 0 1 ({ends[0]:.1f} to {ends[-1]:.1f}) |" in read(runs, "markdown", capsys)


def test_seconds_per_picture_include_the_views_and_one_view_for_clip(runs, capsys) -> None:
    stored = [row for path in runs.glob("cells/*clip_pgd*/rows.jsonl") for row in read_lines(path)]
    views = statistics.median(row["seconds"]["views"] for row in stored)
    method = statistics.median(row["seconds"]["method"] for row in stored)
    assert views > 0
    text = read(runs, "markdown", capsys)
    assert f"| ≥ {views / 6:.3f} + {method:.3f} |" in text  # six views are asked for
    assert text.count(f"| {views:.3f} + ") >= 3  # Ensemble and both of RITA on the same views


def test_an_unfinished_cell_has_a_star_and_the_number_of_its_answers(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = tmp_path / "part"
    shutil.copytree(runs, part)
    for path in part.glob("cells/*clip_none*/rows.jsonl"):
        path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:3]) + b'{"torn')
    overview, line = (x for x in read(part, "markdown", capsys).splitlines() if "* |" in x)
    assert overview.startswith("| CLIP (1 view) |")
    assert " (3 of 5)* |" in overview
    assert line.startswith("| CLIP (1 view) |")
    assert "| 3 |" in line
    table = list(csv.DictReader(io.StringIO(read(part, "csv", capsys))))
    assert {(row["method"], row["attack"]): row["missing"] for row in table if row["missing"] != "0"} == {
        ("clip", "none"): "2"
    }


#: How an attack is made, and what its column says of it.
MADE = (
    (("adaptive", "adaptive.restarts=1"), "adaptive 4/255, 2 steps, adaptive.restarts=1"),
    (("adaptive", "attack_views=2"), "adaptive 4/255, 2 steps, attack_views=2"),
    (("eot", "attack_views=2"), "eot 4/255, 2 steps, attack_views=2"),
    (("patch", "patch.area=0.3"), "patch, 2 steps, patch.area=0.3"),
    (("typographic", "typographic.word=shoe"), "typographic, typographic.word=shoe"),
    (("fgsm", "adversarial_roundtrip=truncate"), "fgsm 4/255, adversarial_roundtrip=truncate"),
    (("pgd", "attack_seed=3"), "pgd 4/255, 2 steps, attack_seed=3"),
)


def test_settings_that_act_in_an_attack_alone_are_part_of_its_column_and_tear_no_row_apart(
    run_evaluate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--limit", "1", "--methods", "clip,rita,rita_untuned", "--protocols", "off,stream"]
    runs = run_evaluate(tmp_path / "runs", *few, "--attack", "none,pgd")
    for (attack, *settings), _ in MADE:
        given = [word for setting in settings for word in ("--set", setting)]
        run_evaluate(runs, *few, "--attack", attack, "--steps", "2", *given)
    overview, *_ = measured_tables(result_rows(runs))
    assert set(overview.head[2:-1]) == {"clean", "pgd 4/255", *(column for _, column in MADE)}
    rows = [
        ("CLIP (1 view)", ""),
        ("RITA", "off"),
        ("RITA", "stream"),
        ("RITA, untuned", "off"),
        ("RITA, untuned", "stream"),
    ]
    assert [row[:2] for row in overview.rows] == rows
    assert all(re.fullmatch(r"\d+\.\d", cell) for row in overview.rows for cell in row[2:-1])
    assert {row[-1] for row in overview.rows} == {
        "recommended",
        "views=6, prompts=2",
        "views=6, prompts=2, max_entropy=9.0",
    }
    for form in ("markdown", "latex"):
        text = read(runs, form, capsys).replace("\\_", "_")
        assert "not measured" not in text.partition("beside")[0]
        assert all(column in text for _, column in MADE)
    table = list(csv.DictReader(io.StringIO(read(runs, "csv", capsys))))
    assert len({row["settings"] for row in table if (row["method"], row["attack"]) == ("clip", "adaptive")}) == 2


def test_a_setting_that_acts_in_one_methods_attack_alone_stands_beside_its_number(run_evaluate, tmp_path: Path) -> None:
    few = ["--limit", "1", "--methods", "clip,ensemble", "--attack", "none,eot", "--set", "attack_views=2"]
    runs = run_evaluate(tmp_path / "runs", *few, "--sweep", "view_scale=0.08,0.2")
    overview, *_ = measured_tables(result_rows(runs))
    assert overview.head[2:-1] == ("clean", "eot 4/255, attack_views=2")
    (clip, *ensemble) = overview.rows
    assert re.fullmatch(r"\d+\.\d \(view_scale=0\.2\) / \d+\.\d|\d+\.\d / \d+\.\d \(view_scale=0\.2\)", clip[3])
    assert sorted(row[-1] for row in ensemble) == ["views=6", "views=6, view_scale=0.2"]
    assert not overview.below


def test_what_is_not_measured_is_named_by_its_memory_and_settings_where_a_method_has_several_rows() -> None:
    kept, off = result_row("rita", "none", steps=0), result_row("rita", "pgd", protocol="off")
    overview, *_ = measured_tables([kept, off, result_row("clip", "pgd")])
    assert overview.below == (
        "–: not measured: RITA, memory stream, recommended under pgd 1/255, 7 steps; RITA, memory off, recommended under "
        "clean; CLIP (1 view) under clean.",
    )


def test_a_plugin_stands_beside_ensemble_and_a_missing_cell_is_named() -> None:
    about = ("About pgd.",)
    plugin = "Mine is a defence from the file mine.py; the attacker does not know it."
    rows = [result_row("ensemble", "none", steps=0), result_row("ensemble", "pgd", threat_model=about)]
    overview, clean, attacked = measured_tables([*rows, result_row("mine", "pgd", threat_model=(*about, plugin))])
    assert [row[0] for row in overview.rows] == [row[0] for row in attacked.rows] == ["Ensemble", "mine"]
    assert [row[2:4] for row in overview.rows] == [("50.0", "50.0"), ("–", "50.0")]
    assert overview.below == ("–: not measured: mine under clean.",)
    assert attacked.above[:2] == (*about, plugin)
    assert plugin not in clean.above


def test_a_folder_without_measurements_gives_an_error_message(tmp_path, capsys) -> None:
    assert cli.main(["tables", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("There are no measurements in the folder ")


def test_signs_of_masking_name_the_rows_settings_and_compare_the_same_pictures_only() -> None:
    def row(attack: str, accuracy: float, **more: object) -> ResultRow:
        n = more.setdefault("n", 2)
        low, high = (100 * end for end in wilson(accuracy * n / 100, n))
        more.setdefault("pictures", frozenset("ab"))
        return result_row("rita", attack, 4, accuracy=accuracy, low=low, high=high, **more)

    def said(*rows: ResultRow) -> list[str]:
        return [line for table in measured_tables(rows) for line in table.below if "masking" in line]

    knows = row("adaptive", 90.0, n=100, non_default="views=8, adaptive.steps=8", variant="views=8")
    assert said(knows) == ["RITA, 4/255, memory stream, views=8, adaptive.steps=8: Signs of masking: not checked."]
    same = row("pgd", 10.0, n=100, non_default="views=8", variant="views=8")
    assert "Signs of masking: is the attacker who knows it weaker" in said(knows, same)[0]
    for other in (replace(same, variant=""), replace(same, pictures=frozenset("ac")), replace(same, n=200)):
        assert said(knows, other) == said(knows)
    usual = row("adaptive", 10.0)
    assert said(usual)[0].startswith("RITA, 4/255, memory stream, recommended settings: ")


def test_tables_show_an_emptied_memory_only_where_it_is_asked_for(run_evaluate, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    few = ("--methods", "rita", "--attack", "none", "--limit", "2", "--protocols")
    out = run_evaluate(tmp_path / "runs", *few, "off,reset")
    capsys.readouterr()
    assert cli.main(["tables", str(out)]) == 0
    said = capsys.readouterr()
    assert "| reset |" not in said.out
    assert "1 of 2 measured cells are not shown: --protocols off,reset shows them." in said.err
    assert cli.main(["tables", str(out), "--protocols", "off,reset"]) == 0
    assert "| reset |" in capsys.readouterr().out
    assert ",reset," in read(out, "csv", capsys)
    assert cli.main(["tables", str(out), "--protocols", "sometimes"]) == 2
    alone = run_evaluate(tmp_path / "alone", *few, "reset")
    capsys.readouterr()
    assert cli.main(["tables", str(alone)]) == 0
    assert "| reset |" in capsys.readouterr().out, "there is nothing else"


def test_a_defence_that_is_not_loaded_stands_in_the_column_of_its_attack_and_its_steps() -> None:
    columns = {"dataset": "dtd", "split": "test", "backbone": "embedded", "method": "mine", "attack": "adaptive"}
    columns |= {"budget": 4, "steps": 2, "protocol": "off", "settings": "x"}
    header = stored_header(columns=columns, non_default={"views": 8, "adaptive.steps": 2, "attack_views": 3})
    header["threat_model"] = {"sentences": []}
    answer: dict[str, Any] = {"picture": "a", "right": True, "already_wrong": False, "version": "0.1.0"}
    answer["seconds"] = {"method": 0.1, "views": 0.2}
    row = results.result_row(SeedGroup((CellHeader(**header),), ([answer],)))
    assert (row.variant, row.attack_settings, row.also) == ("views=8", "attack_views=3", "")
