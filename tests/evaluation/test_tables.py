"""Tables: the contract's columns, Wilson's interval, pooled seeds, threat models once."""

import csv
import io
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rita_demo import load_runs, only_right
from rita_demo.cli import main as cli
from rita_demo.evaluation.frames import read as read_rows
from rita_demo.evaluation.report import cells, tables
from rita_demo.evaluation.report.cells import as_csv
from rita_demo.evaluation.report.paper_table import PaperTable
from rita_demo.records.intervals import wilson
from tests.evaluation.conftest import draw_dataset
from tests.evaluation.frames import cell, column, frames, markdown_tables, table

COLUMNS = "dataset,backbone,method,attack,budget,steps,protocol,split,accuracy,n,low,high,seeds,settings,class_names,version,title,missing"
Run = Callable[..., Path]


def read(runs: Path, form: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert cli.main(["tables", str(runs), "--format", form]) == 0
    return capsys.readouterr().out


def test_a_picture_that_was_swapped_under_its_name_tears_its_cells_apart(tiny_model_dir, tmp_path, capsys) -> None:
    data, out = tmp_path / "data", tmp_path / "runs"
    draw_dataset(data / "toys", ".", ".", "list.json", ["cat", "dog"], 2)
    (data / "toys" / "list.json").unlink()
    words = (
        f"evaluate --dataset toys --split all --data-root {data} --methods clip,rita --attack pgd --steps 1 --budget 4"
    )
    words += f" --set views=6 --set prompts=2 --backbone local-dir:{tiny_model_dir} --out {out} --protocols "
    assert cli.main([*words.split(), "off,stream"]) == 0
    shutil.copytree(out, tmp_path / "all" / "1")
    shutil.copy(data / "toys" / "dog" / "1.png", data / "toys" / "cat" / "0.png")
    assert cli.main([*words.split(), "stream"]) == 0
    shutil.copytree(out, tmp_path / "all" / "2")
    for folder, clip in ((out, 1), (tmp_path / "all", 2)):
        overview, _ = markdown_tables(read(folder, "markdown", capsys))
        swapped = "another picture under the name cat/0.png ("
        rows = [(row[0].partition(" ")[0], row[1], swapped in row[-1]) for row in overview[1:]]
        new = [("CLIP", "", False), ("RITA", "stream", False)]
        old = [("RITA", "off", True), ("RITA", "stream", True)]
        assert sorted(rows) == sorted([*new, *old, *[("CLIP", "", True)] * (clip - 1)])
        assert not any("/ " in row[2] for row in overview[1:])
        assert read(folder, "csv", capsys).count("clip") == clip
        ((_, *paper),) = markdown_tables(PaperTable(cells.cells(folder)).markdown())
        assert len(paper) == len(rows)
    with pytest.warns(UserWarning, match="another picture under the name cat/0.png"):
        found = load_runs(tmp_path / "all")
    assert len(found[found["method"] == "clip"]) == 8
    found = only_right(tmp_path / "all" / "1", tmp_path / "all" / "2", method=("rita", "clip"), protocol=("off", None))
    assert "of 3 pictures right" in found.attrs["sentence"]


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
    assert text.splitlines()[0] == COLUMNS
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
    (("patch", "patch.area=0.3"), "patch, 2 steps, patch.area=0.3"),
    (("typographic", "typographic.word=shoe"), "typographic, typographic.word=shoe"),
    (("fgsm", "adversarial_roundtrip=truncate"), "fgsm 4/255, adversarial_roundtrip=truncate"),
    (("pgd", "attack_seed=3"), "pgd 4/255, 2 steps, attack_seed=3"),
)


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


def test_a_setting_that_acts_in_one_methods_attack_alone_stands_beside_its_number(
    run_evaluate, tmp_path, capsys
) -> None:
    few = ["--limit", "1", "--methods", "clip,ensemble", "--attack", "none,eot", "--set", "attack_views=2"]
    runs = run_evaluate(tmp_path / "runs", *few, "--sweep", "view_scale=0.08,0.2")
    overview, *_ = markdown_tables(read(runs, "markdown", capsys))
    assert overview[0][2:-1] == ["clean", "eot 4/255, attack_views=2"]
    _, clip, *ensemble = overview
    assert re.fullmatch(r"\d+\.\d( \(view_scale=0\.2\))? / \d+\.\d( \(view_scale=0\.2\))?", clip[3])
    assert clip[3].count("view_scale=0.2") == 1
    assert sorted(row[-1] for row in ensemble) == ["views=6", "views=6, view_scale=0.2"]


def test_what_is_not_measured_is_named_by_its_memory_and_settings_where_a_method_has_several_rows() -> None:
    text = tables.as_markdown(table(cell("rita", "none"), cell("rita", "pgd", protocol="off"), cell("clip", "pgd")))
    assert (
        "–: not measured: RITA, memory stream, recommended under pgd 1/255, 7 steps; CLIP (1 view) under clean; RITA, "
        "memory off, recommended under clean."
    ) in text


def test_methods_by_attackers_who_know_them_share_one_threat_model_and_own_methods_have_no_memory() -> None:
    shared = "The attacker knows everything."
    known = [cell(m, "adaptive", threat=[shared, f"It knows {m}."]) for m in ("clip", "ensemble")]
    text = tables.as_markdown(table(*known))
    assert text.count(shared) == 1
    assert "- CLIP (1 view): It knows clip.\n- Ensemble: It knows ensemble." in text
    titles = re.findall("^### (.*)", text, re.MULTILINE)
    assert len(titles) == len(set(titles))
    overview, _ = markdown_tables(tables.as_markdown(table(cell("mine", method_title="Mine"), cell("ensemble"))))
    assert [row[:2] for row in overview[1:]] == [["Ensemble", ""], ["Mine", ""]]
    kept, _ = markdown_tables(tables.as_markdown(table(cell("mine", protocol="stream"))))
    assert kept[1][:2] == ["mine", "stream"]
    # a defence that is not loaded stands in the column of its attack and its steps
    special = {"views": 8, "adaptive.steps": 2, "attack_views": 3}
    settings = {"views": 8, "attack_views": 3}
    (one,) = table(cell("mine", "adaptive", "y", non_default=special, method_settings=settings)).itertuples()
    assert (one.variant, one.of_attack, one.also) == ("views=8", "attack_views=3", "")


def test_signs_of_masking_name_the_rows_settings_and_compare_the_same_pictures_only() -> None:
    def said(*found: tuple) -> list[str]:
        return [line for line in tables.as_markdown(table(*found)).splitlines() if "masking" in line]

    special = {"views": 8}
    own = {"method_settings": special, "budget": 4}
    knows = cell("rita", "adaptive", 18 * "y" + 2 * "n", non_default=special | {"adaptive.steps": 8}, **own)
    assert said(knows) == ["RITA, 4/255, memory stream, views=8, adaptive.steps=8: Signs of masking: not checked."]
    few = 2 * "y" + 18 * "n"
    same = cell("rita", "pgd", few, non_default=special, **own)
    assert "Signs of masking: is the attacker who knows it weaker" in said(knows, same)[0]
    shifted = [chr(ord("b") + n) for n in range(20)]
    for other in (
        cell("rita", "pgd", few, non_default={}, **own),
        cell("rita", "pgd", few, non_default=special, names=shifted, **own),
        cell("rita", "pgd", few + "n", non_default=special, **own),
    ):
        assert said(knows, other) == said(knows)


def test_tables_show_an_emptied_memory_only_where_it_is_asked_for(run_evaluate, tmp_path, capsys) -> None:
    few = ("--methods", "rita", "--attack", "none", "--limit", "2", "--protocols")
    out, alone = run_evaluate(tmp_path / "runs", *few, "off,reset"), run_evaluate(tmp_path / "alone", *few, "reset")
    for words, shown, err in (
        ([out], False, "1 of 2 measured cells are not shown: --protocols off,reset shows them.\n"),
        ([out, "--protocols", "off,reset"], True, ""),
        ([alone], True, ""),  # there is nothing else
    ):
        capsys.readouterr()
        assert cli.main(["tables", *map(str, words)]) == 0
        printed = capsys.readouterr()
        assert ("| reset |" in printed.out, printed.err) == (shown, err)
    assert ",reset," in read(out, "csv", capsys)
    assert cli.main(["tables", str(out), "--protocols", "sometimes"]) == 2
