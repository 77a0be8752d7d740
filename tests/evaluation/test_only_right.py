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


Answers = list[tuple[str, str, str]]


def measured(folder: Path) -> tuple[list[Any], pandas.DataFrame]:
    """The measurements of a folder, and its rows."""
    return [cell for _, cell in pooled(measurements(folder)).iterrows()], read(folder)


def test_any_two_measurements_give_the_pictures_of_a_count_by_hand(runs: Path) -> None:
    cells, rows = measured(runs)
    answers: list[Answers] = [
        [(row.picture, row.answer, row.label) for row in rows.itertuples() if row.measurement in cell["measurements"]]
        for cell in cells
    ]
    different = 0
    assert len(cells) == 8
    for (first, mine), (second, theirs) in product(zip(cells, answers), zip(cells, answers)):
        found = compare_cells(first, rows, second, rows)
        won, lost, both = won_pictures(mine, theirs)
        assert sorted(found.won["picture"]) == won
        assert (found.paired.gained, found.paired.lost, found.paired.n) == (len(won), len(lost), both)
        assert (found.won["right_first"] > found.won["right_second"]).all()
        different += bool(won)
    assert different


def test_where_the_attacks_are_the_same_it_is_the_count_of_the_tables(runs: Path) -> None:
    cells, rows = measured(runs)
    compared = 0
    for first, second in product([cell for cell in cells if cell["attack"] == "pgd"], repeat=2):
        mine, theirs = answers_of(first, rows), answers_of(second, rows)
        paired, found = compare(merged(mine, theirs)), compare_cells(first, rows, second, rows)
        if paired is None or set(mine["picture_seed"]) != set(theirs["picture_seed"]):
            continue
        compared += 1
        assert (found.paired.gained, found.paired.lost, found.paired.n) == (paired.gained, paired.lost, paired.n)
        assert found.won["same_attack"].all()
    assert compared


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


def test_runs_without_a_common_picture_are_refused() -> None:
    with pytest.raises(DataError, match="no picture in common"):
        only_right(STORED / "dtd", STORED / "textures", method="clip")


def test_the_table_of_the_stored_streams_has_every_column_and_both_answers() -> None:
    frame = only_right(STORED / "dtd", method=("rita", "clip"), protocol=("stream", "off"))
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame)
    assert (frame["first"] == frame.label).all()
    assert (frame.second != frame.label).all()
    assert f"has {len(frame)} of 40 pictures right" in frame.attrs["sentence"]


def test_the_command_prints_the_pictures_and_the_sentence(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(runs, tmp_path / "other"))
    for words in ([str(STORED / "dtd")], [str(STORED / "dtd"), str(STORED / "dtd")]):
        assert cli.main(["compare", *words, "--method", "rita,clip", "--protocol", "stream,off"]) == 0
        out = capsys.readouterr().out
        frame = only_right(STORED / "dtd", method=("rita", "clip"), protocol=("stream", "off"))
        assert all(name in out for name in frame.picture)
        assert frame.attrs["sentence"] in out
    assert cli.main(["compare", str(runs), str(copy), "--method", "rita", "--attack", "pgd", "--protocol", "off"]) == 0
    assert "has 0 of" in capsys.readouterr().out, "a run against itself"
    assert cli.main(["compare", str(runs)]) == 1
    assert "Choose by" in capsys.readouterr().err


def test_several_attacks_on_the_command_line_are_the_pair_of_both_runs(runs: Path, capsys) -> None:
    said = []
    for attacks in (["none,pgd"], ["none", "pgd"], ["none", "pgd", "none"]):
        words = [word for attack in attacks for word in ("--attack", attack)]
        assert cli.main(["compare", str(runs), "--method", "clip", *words]) == 0
        said.append(capsys.readouterr().out)
    assert "clean" in said[0]
    assert said[0] == said[1] == said[2]


def test_copying_the_pictures_is_gone_and_says_what_to_do(runs: Path, tmp_path: Path, capsys) -> None:
    assert cli.main(["compare", str(runs), "--method", "rita,clip", "--out", str(tmp_path)]) == 1
    assert "write their names (--csv) and measure them with evaluate --pictures" in capsys.readouterr().err
