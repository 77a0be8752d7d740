"""The pictures that one run has right and another has not, against a count of the rows; in Python and in the terminal."""

import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pandas
import pytest

from rita_demo import only_right
from rita_demo.cli import main as cli
from rita_demo.evaluation.frames import measurements, read
from rita_demo.evaluation.report.cells import answers_of, pooled
from rita_demo.evaluation.report.only_right import COLUMNS, compare_cells, compare_folders
from rita_demo.evaluation.report.paired import compare, merged
from rita_demo.process.assets import ASSETS
from rita_demo.records.errors import DataError, SettingError
from tests.oracles.only_right import won_pictures

STORED = ASSETS / "lab" / "streams"


def measured(folder: Path) -> tuple[list[Any], pandas.DataFrame]:
    """The measurements of a folder, and its rows."""
    return [cell for _, cell in pooled(measurements(folder)).iterrows()], read(folder)


def test_any_two_measurements_give_the_pictures_of_a_count_by_hand_and_of_the_same_attacks_that_of_tables(runs) -> None:
    cells, rows = measured(runs)
    answers = [answers_of(cell, rows) for cell in cells]
    lists = [list(zip(frame["picture"], frame["answer"], frame["label"])) for frame in answers]
    assert len(cells) == 8
    different = same = 0
    for first, second in product(range(8), repeat=2):
        found = compare_cells(cells[first], rows, cells[second], rows)
        won, lost, both = won_pictures(lists[first], lists[second])
        assert sorted(found.won["picture"]) == won
        counts = (found.paired.gained, found.paired.lost, found.paired.n)
        assert counts == (len(won), len(lost), both)
        assert (found.won["right_first"] > found.won["right_second"]).all()
        different += bool(won)
        if cells[first]["attack"] == cells[second]["attack"] == "pgd":
            of_tables = compare(merged(answers[first], answers[second]))
            assert (of_tables.gained, of_tables.lost, of_tables.n) == counts
            assert found.won["same_attack"].all()
            same += 1
    assert (bool(different), same) == (True, 16)


def test_what_is_left_open_in_the_second_run_is_as_in_the_first(runs: Path) -> None:
    found = compare_folders(runs, None, {"method": ("rita", "clip"), "attack": "pgd", "protocol": ("stream", None)})
    assert found.titles[0].startswith("RITA (PGD 4/255, memory kept")
    assert found.titles[1].startswith("CLIP (PGD 4/255")
    clean = compare_folders(runs, None, {"method": "clip", "attack": ("none", "pgd")})
    assert clean.titles[0].startswith("CLIP (clean")
    assert not clean.won["same_attack"].any()


def test_several_measurements_that_fit_are_named_by_what_tells_them_apart(runs: Path) -> None:
    with pytest.raises(DataError, match="measurements of the first run fit") as error:
        only_right(runs, method="rita")
    for told in ("attack: none, pgd", "protocol: off, stream"):
        assert told in str(error.value)
    with pytest.raises(DataError, match="Nothing in the second run fits"):
        only_right(runs, method=("clip", "tpt"), attack="pgd")
    with pytest.raises(SettingError, match=r"no column 'methods'\. Did you mean method"):
        only_right(runs, methods="rita")
    with pytest.raises(SettingError, match="one value of both runs, or a pair; got 3"):
        only_right(runs, method=("a", "b", "c"))


def test_the_command_prints_the_pictures_and_the_sentence(runs, tmp_path, capsys) -> None:
    frame = only_right(STORED / "dtd", method=("rita", "clip"), protocol=("stream", "off"))
    assert (list(frame.columns), len(frame) > 0) == (list(COLUMNS), True)
    assert (frame["first"] == frame.label).all()
    assert (frame.second != frame.label).all()
    assert f"has {len(frame)} of 40 pictures right" in frame.attrs["sentence"]
    for folders in ([STORED / "dtd"], [STORED / "dtd"] * 2):
        assert cli.main(["compare", *map(str, folders), "--method", "rita,clip", "--protocol", "stream,off"]) == 0
        out = capsys.readouterr().out
        assert all(part in out for part in (*frame.picture, frame.attrs["sentence"]))
    copy = shutil.copytree(runs, tmp_path / "other")
    assert cli.main(["compare", str(runs), str(copy), "--method", "rita", "--attack", "pgd", "--protocol", "off"]) == 0
    assert "has 0 of" in capsys.readouterr().out, "a run against itself"
    for words, sentence in (
        ([runs], "Choose by"),
        ([STORED / "dtd", STORED / "textures", "--method", "clip"], "no picture in common"),
        ([runs, "--out", tmp_path], "write their names (--csv) and measure them with evaluate --pictures"),
    ):
        assert cli.main(["compare", *map(str, words)]) == 1
        assert sentence in capsys.readouterr().err


def test_several_attacks_on_the_command_line_are_the_pair_of_both_runs(runs: Path, capsys) -> None:
    printed = set()
    for attacks in (["none,pgd"], ["none", "pgd"], ["none", "pgd", "none"]):
        words = [word for attack in attacks for word in ("--attack", attack)]
        assert cli.main(["compare", str(runs), "--method", "clip", *words]) == 0
        printed.add(capsys.readouterr().out)
    assert [("clean" in text) for text in printed] == [True]
