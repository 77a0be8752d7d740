"""Two runs on the same pictures: which ones only one has right, and McNemar's exact test against a count of all exchanges."""

import shutil
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from rita_demo import only_right
from rita_demo.cli import main as cli
from rita_demo.evaluation.frames import measurements, read
from rita_demo.evaluation.report import tables
from rita_demo.evaluation.report.cells import answers_of, pooled
from rita_demo.evaluation.report.only_right import COLUMNS, compare_cells
from rita_demo.evaluation.report.paired import Paired, all_datasets, compare, merged
from rita_demo.process.assets import ASSETS
from rita_demo.records.errors import DataError, SettingError
from tests.evaluation.frames import cell, table
from tests.oracles import paired as oracle
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


AREA, PLAIN = "ensemble_weight=area", {"ensemble_weight": "uniform", "ensemble_step_back": 0.0}
RITA = {"view_weight": "area", "step_back": 0.0, "views": 64}


def row(name: str, right: bool, l2: float = 1.5, seed: int = 3, content: str = "") -> dict[str, Any]:
    return {"picture": name, "content": content, "picture_seed": seed, "linf": 4.0, "l2": l2, "right": right}


def compared(mine: list[dict[str, Any]], other: list[dict[str, Any]]) -> Paired | None:
    return compare(merged(pandas.DataFrame(mine), pandas.DataFrame(other)))


def test_only_the_same_attacked_pictures_are_compared() -> None:
    mine = [row("a", True), row("b", True), row("c", False), row("d", True), row("e", True)]
    other = [row("a", False), row("b", True), row("c", True), row("d", False, l2=2.0), row("e", False, seed=4)]
    assert compared(mine, other) == Paired(3, 1, 1, 0.0)
    assert compared(mine, [row("z", True)]) is None
    assert compared(mine, [row("a", False, content="swapped")]) is None
    twice = [[row(name, right, seed=seed) for name in "abcd" for seed in (0, 1)] for right in (False, True)]
    assert compared(*twice) == Paired(4, 0, 4, -4.0), "four pairs, not eight"
    assert Paired(7, 0, 0, 0.0).p_value == 1.0


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_picture_counts_once_for_any_number_of_seeds(seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    for _ in range(12):
        asked = [
            (f"{number}.png", seed, bool(one), bool(two))
            for number in range(7)
            for seed in range(seeds)
            for one, two in [rng.random(2) < (0.7, 0.4)]
        ]
        mine = [row(name, one, seed=seed) for name, seed, one, _ in asked]
        paired = compared(mine, [row(name, two, seed=seed) for name, seed, _, two in asked])
        assert paired is not None
        assert (paired.n, (paired.gained, paired.lost)) == (7, oracle.wins_and_losses(asked))
        assert paired.p_value == pytest.approx(oracle.p_by_exchanging(asked))
        points = 100 * sum(one - two for _, _, one, two in asked) / len(asked)
        assert paired.difference == pytest.approx(points)


def ensemble(rights: str, weight: str = "uniform", method: str = "ensemble") -> tuple:
    changed = {"ensemble_weight": weight} if (weight, method) == ("area", "ensemble") else {}
    return cell(method, rights=rights, settings=weight, method_settings=PLAIN | changed, non_default=changed)


def rita(rights: str, settings: str = "", protocol: str = "off", **changed: Any) -> tuple:
    more = {"method_settings": RITA | changed, "non_default": changed, "requested": {"views": 64} | changed}
    return cell("rita", rights=rights, settings=settings, protocol=protocol, **more)


def references(*found: tuple) -> dict[tuple[str, str], Any]:
    return {(line.method, line.settings): line for line in table(*found).itertuples()}


def test_the_reference_ensemble_is_the_plain_one_the_one_that_weighs_as_rita_or_the_nearest() -> None:
    mine, weighted = rita("yyyynn"), ensemble("yynnnn", "area")
    alone = references(mine, weighted)["rita", ""]
    assert alone.vs_plain == Paired(6, 2, 0, 2.0, AREA), "no plain Ensemble was measured"
    found = references(mine, weighted, ensemble("nyynnn"), rita("yyyyyn", "x", view_weight="shown"))
    assert found["rita", ""].vs_plain == Paired(6, 2, 0, 2.0)
    assert found["rita", ""].vs_matching == Paired(6, 2, 0, 2.0)
    assert found["ensemble", "area"].vs_plain == Paired(6, 1, 1, 0.0)
    assert found["ensemble", "area"].vs_matching is found["ensemble", "uniform"].vs_plain is None
    assert found["rita", "x"].vs_matching is None, "that Ensemble has other view weights"
    other = references(rita("yyyynn", "v", views=5), ensemble("nyynnn"))["rita", "v"]
    assert other.vs_plain.reference == "views=64"


def test_a_kept_memory_is_compared_with_none_on_the_same_pictures() -> None:
    found = references(rita("yynnnn"), rita("ynyynn", "kept", "stream", slots=1), rita("nnnnnn", "other", views=5))
    assert {name: line.vs_off for (_, name), line in found.items()} == {
        "": None,
        "kept": Paired(6, 2, 1, 1.0),
        "other": None,
    }


def test_cells_that_differ_in_the_dataset_alone_are_summed() -> None:
    def pair(dataset: str, mine: str, plain: str, **more: Any) -> list[Any]:
        return [cell("rita", rights=mine, dataset=dataset, **more), cell("ensemble", rights=plain, dataset=dataset)]

    found = [*pair("dtd", "yyynn", "nnnyn"), *pair("textures", "yyyyn", "nnnnn")]
    found += pair("cars", "yyy", "nnn", pictures=9)  # not finished
    made = table(*found)
    ((first, datasets, paired),) = all_datasets(made, "vs_plain")
    assert (first.method, datasets, paired) == ("rita", 2, Paired(10, 7, 1, 6.0))
    text = tables.as_markdown(made)
    assert "### All datasets together, against Ensemble\n" in text
    assert "| pgd 1/255 | RITA | stream | 2 | 10 | +60.0 (7 / 1, p 0.07) | recommended |" in text
    assert "+40.0 (3 / 1, p 0.62)" in text, "of one dataset"
    again = table(*found, *pair("dtd:present", "yyynn", "nnnyn"))
    assert [one[1:] for one in all_datasets(again, "vs_plain")] == [(2, paired)], "the same pictures, once"
    assert all_datasets(made, "vs_matching") == []
    other = table(*pair("dtd", "yyynn", "nnnyn", non_default={"slots": 1}), *pair("textures", "yyyyn", "nnnnn"))
    assert all_datasets(other, "vs_plain") == [], "other settings"
