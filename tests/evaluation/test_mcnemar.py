"""McNemar's exact test against a count of all exchanges, and which pictures are compared."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.frames import measurements, read
from rita_demo.evaluation.report import tables
from rita_demo.evaluation.report.cells import cells, summarise
from rita_demo.evaluation.report.paired import Paired, against_references, all_datasets, compare, merged
from tests.evaluation.frames import cell, table
from tests.oracles import paired as oracle

Run = Callable[..., Path]


def test_p_is_one_without_discordant_pictures() -> None:
    assert Paired(7, 0, 0, 0.0).p_value == 1.0
    assert Paired(7, 0, 0, 0.0).difference == 0.0


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


@pytest.mark.parametrize("seeds", [1, 2, 3])
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
        other = [row(name, two, seed=seed) for name, seed, _, two in asked]
        paired = compared(mine, other)
        assert paired is not None
        assert (paired.n, (paired.gained, paired.lost)) == (7, oracle.wins_and_losses(asked))
        assert paired.p_value == pytest.approx(oracle.p_by_exchanging(asked))
        points = 100 * sum(one - two for _, _, one, two in asked) / len(asked)
        assert paired.difference == pytest.approx(points)


def lines(runs: Path) -> list[Any]:
    rows = read(runs)
    return list(against_references(summarise(rows, measurements(runs)), rows).itertuples())


def rights(runs: Path, method: str, special: str, protocol: str = "off") -> dict[str, bool]:
    """Picture -> whether it is right, straight from the rows."""
    found = {
        one.picture: one.right
        for one in read(runs).itertuples()
        if (one.method, one.protocol) == (method, protocol) and special in one.non_default
    }
    assert found
    return found


def counted(one: dict[str, bool], two: dict[str, bool], reference: str = "") -> Paired:
    gained, lost = sum(one[p] > two[p] for p in one), sum(one[p] < two[p] for p in one)
    return Paired(len(one), gained, lost, gained - lost, reference)


def test_the_reference_ensemble_is_chosen_correctly(tmp_path: Path, run_evaluate: Run) -> None:
    few, area = ("--attack", "pgd", "--protocols", "off", "--limit", "6"), "ensemble_weight=area"
    runs = tmp_path / "runs"

    def line(method: str, special: str = "") -> Any:
        same = (x for x in lines(runs) if x.method == method and special in x.special)
        (found,) = (x for x in same if "=" in special or "_weight=" not in x.special)
        return found

    run_evaluate(runs, *few, "--methods", "ensemble,rita", "--set", area)
    assert line("rita").vs_plain.reference == area, "no plain Ensemble was measured"
    run_evaluate(runs, *few, "--methods", "ensemble")
    matching = rights(runs, "ensemble", area)
    rita = rights(runs, "rita", "")
    plain = {
        one.picture: one.right
        for one in read(runs).itertuples()
        if one.method == "ensemble" and area not in one.non_default
    }
    assert (line("rita").vs_plain, line("rita").vs_matching) == (counted(rita, plain), counted(rita, matching))
    weighted = line("ensemble", area)
    assert (weighted.vs_plain, weighted.vs_matching) == (counted(matching, plain), None)
    assert line("ensemble").vs_plain is None
    run_evaluate(runs, *few, "--methods", "rita", "--set", "view_weight=shown")
    assert line("rita", "view_weight=shown").vs_matching is None, "that Ensemble has other view weights"
    run_evaluate(runs, *few, "--methods", "rita", "--set", "views=5")
    assert line("rita", "views=5").vs_plain.reference == "views=6"


def test_the_row_ensemble_area_is_the_ensemble_that_weighs_views_as_rita(tmp_path: Path, run_evaluate: Run) -> None:
    few = ("--attack", "pgd", "--protocols", "off", "--limit", "6", "--methods")
    runs = run_evaluate(tmp_path / "runs", *few, "ensemble_area,rita")
    found = {line.method: line for line in lines(runs)}
    rita, area = rights(runs, "rita", ""), rights(runs, "ensemble_area", "")
    assert found["rita"].vs_matching == counted(rita, area)
    assert found["rita"].vs_plain == counted(rita, area, "ensemble_weight=area"), "no plain one was measured"
    assert (found["ensemble_area"].vs_plain, found["ensemble_area"].vs_matching) == (None, None)
    run_evaluate(runs, *few, "ensemble", "--set", "ensemble_weight=area")
    assert rights(runs, "ensemble", "ensemble_weight=area") == area
    run_evaluate(runs, *few, "ensemble")
    assert next(line for line in lines(runs) if line.method == "ensemble_area").vs_plain.reference == ""


def test_a_kept_memory_is_compared_with_none_on_the_same_pictures(tmp_path: Path, run_evaluate: Run) -> None:
    few = ("--attack", "pgd", "--limit", "8", "--methods", "rita", "--set", "cache_weight=5")
    runs = run_evaluate(tmp_path / "runs", *few, "--protocols", "off,stream")
    kept, off = (rights(runs, "rita", "", protocol) for protocol in ("stream", "off"))
    assert {line.protocol: line.vs_off for line in lines(runs)} == {"off": None, "stream": counted(kept, off)}


def test_a_run_with_formerly_recommended_settings_lists_them(
    tmp_path: Path, run_evaluate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("--attack", "none", "--protocols", "off", "--limit", "2", "--methods", "clip,rita")
    runs = run_evaluate(tmp_path / "runs", *few)
    before = cells(runs)["special"].iloc[1]
    assert "transported_mass" not in before
    monkeypatch.setattr(planned_cells, "RECOMMENDED", planned_cells.RECOMMENDED.replace(transported_mass=0.9))
    clip, rita = cells(runs)["special"]
    assert rita == f"{before}, transported_mass=0.35"
    assert "transported_mass" not in clip, "it does not depend on it"


def test_cells_that_differ_in_the_dataset_alone_are_summed() -> None:
    def pair(dataset: str, mine: str, plain: str, **more: Any) -> list[Any]:
        return [cell("rita", rights=mine, dataset=dataset, **more), cell("ensemble", rights=plain, dataset=dataset)]

    found = [
        *pair("dtd", "yyynn", "nnnyn"),
        *pair("textures", "yyyyn", "nnnnn"),
        *pair("cars", "yyy", "nnn", pictures=9),  # not finished
    ]
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
