"""McNemar's exact test against a count of all exchanges, and which pictures are compared."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.report.comparisons import PairedComparison, compare_paired
from rita_demo.evaluation.report.render import as_markdown
from rita_demo.evaluation.report.results import ResultRow, result_rows
from rita_demo.evaluation.report.tables import all_datasets
from tests.evaluation.conftest import headers, result_row
from tests.oracles import paired as oracle


def test_p_is_one_without_discordant_pictures() -> None:
    assert PairedComparison(7, 0, 0).p_value == 1.0
    assert PairedComparison(7, 0, 0).difference == 0.0


def row(name: str, right: bool, l2: float = 1.5, seed: int = 3) -> dict:
    return {"picture": name, "picture_seed": seed, "linf": 4.0, "l2": l2, "right": right}


def test_only_the_same_attacked_pictures_are_compared() -> None:
    mine = [row("a", True), row("b", True), row("c", False), row("d", True), row("e", True)]
    other = [row("a", False), row("b", True), row("c", True), row("d", False, l2=2.0), row("e", False, seed=4)]
    assert compare_paired(mine, other) == PairedComparison(3, 1, 1)
    assert compare_paired(mine, [row("z", True)]) is None
    twice = [[row(name, right, seed=seed) for name in "abcd" for seed in (0, 1)] for right in (False, True)]
    assert compare_paired(*twice) == PairedComparison(4, 0, 4, -4.0), "four pairs, not eight"


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
        paired = compare_paired(mine, other)
        assert paired is not None
        assert (paired.n, (paired.gained, paired.lost)) == (7, oracle.wins_and_losses(asked))
        assert paired.p_value == pytest.approx(oracle.p_by_exchanging(asked))
        points = 100 * sum(one - two for _, _, one, two in asked) / len(asked)
        assert paired.difference == pytest.approx(points)


def test_the_reference_ensemble_is_chosen_correctly(tmp_path: Path, run_evaluate, rows_of) -> None:
    few = ("--attack", "pgd", "--protocols", "off", "--limit", "6")
    alike = ("--set", "ensemble_weight=area")
    runs = tmp_path / "runs"

    def line(method: str, special: str = "") -> ResultRow:
        lines = (x for x in result_rows(runs) if x.method == method and special in x.non_default)
        (found,) = (x for x in lines if "=" in special or "_weight=" not in x.non_default)
        return found

    run_evaluate(runs, *few, "--methods", "ensemble,rita", *alike)
    named = "ensemble_weight=area"
    assert line("rita").vs_plain.reference == named, "no plain Ensemble was measured"
    assert f"than Ensemble with {named}" in as_markdown(result_rows(runs))
    run_evaluate(runs, *few, "--methods", "ensemble")
    right = {
        (header["columns"]["method"], header["settings"]["ensemble_weight"]): {r["picture"]: r["right"] for r in rows}
        for header, rows in zip(headers(runs), rows_of(runs).values(), strict=True)
    }
    plain, matching, rita = (right[key] for key in (("ensemble", "uniform"), ("ensemble", "area"), ("rita", "area")))

    def counted(one: dict[str, bool], two: dict[str, bool]) -> PairedComparison:
        return PairedComparison(6, sum(one[p] > two[p] for p in one), sum(one[p] < two[p] for p in one))

    assert (line("rita").vs_plain, line("rita").vs_matching) == (counted(rita, plain), counted(rita, matching))
    weighted = line("ensemble", "ensemble_weight=area")
    assert (weighted.vs_plain, weighted.vs_matching) == (counted(matching, plain), None)
    assert line("ensemble").vs_plain is None
    assert "| against Ensemble, views as RITA’s |" in as_markdown(result_rows(runs))
    run_evaluate(runs, *few, "--methods", "rita", "--set", "view_weight=shown")
    assert line("rita", "view_weight=shown").vs_matching is None, "that Ensemble has other view weights"
    run_evaluate(runs, *few, "--methods", "rita", "--set", "views=5")
    assert line("rita", "views=5").vs_plain.reference == "views=6"


def test_the_row_ensemble_area_is_the_ensemble_that_weighs_views_as_rita(tmp_path: Path, run_evaluate, rows_of) -> None:
    few = ("--attack", "pgd", "--protocols", "off", "--limit", "6", "--methods")
    runs = run_evaluate(tmp_path / "runs", *few, "ensemble_area,rita")
    found = {row.method: row for row in result_rows(runs)}
    area, rita = ({r["picture"]: r["right"] for r in rows} for rows in rows_of(runs).values())
    counted = PairedComparison(6, sum(rita[p] > area[p] for p in area), sum(rita[p] < area[p] for p in area))
    assert found["rita"].vs_matching == counted
    assert found["rita"].vs_plain == replace(counted, reference="ensemble_weight=area"), "no plain one was measured"
    assert (found["ensemble_area"].vs_plain, found["ensemble_area"].vs_matching) == (None, None)
    run_evaluate(runs, *few, "ensemble", "--set", "ensemble_weight=area")
    answers = {
        method: [(row["right"], round(row["probability"], 5)) for row in rows]
        for name, rows in rows_of(runs).items()
        for method in ("ensemble", "ensemble_area")
        if f"_{method}_pgd" in name
    }
    assert answers["ensemble"] == answers["ensemble_area"]
    run_evaluate(runs, *few, "ensemble")
    assert next(r for r in result_rows(runs) if r.method == "ensemble_area").vs_plain.reference == ""


def test_a_kept_memory_is_compared_with_none_on_the_same_pictures(tmp_path: Path, run_evaluate, rows_of) -> None:
    few = ("--attack", "pgd", "--limit", "8", "--methods", "rita", "--set", "cache_weight=5")
    runs = run_evaluate(tmp_path / "runs", *few, "--protocols", "off,stream")
    right = {
        header["columns"]["protocol"]: {r["picture"]: r["right"] for r in rows}
        for header, rows in zip(headers(runs), rows_of(runs).values(), strict=True)
    }
    found = {row.protocol: row.vs_off for row in result_rows(runs)}
    gained, lost = (
        sum(right[a][p] and not right[b][p] for p in right[a]) for a, b in (("stream", "off"), ("off", "stream"))
    )
    assert found == {"off": None, "stream": PairedComparison(8, gained, lost)}
    assert "| against no memory |" in as_markdown(result_rows(runs))


def test_a_run_with_formerly_recommended_settings_lists_them(tmp_path, run_evaluate, monkeypatch) -> None:
    few = ("--attack", "none", "--protocols", "off", "--limit", "2", "--methods", "clip,rita")
    runs = run_evaluate(tmp_path / "runs", *few)
    before = result_rows(runs)[1].non_default
    assert "transported_mass" not in before
    monkeypatch.setattr(planned_cells, "RECOMMENDED", planned_cells.RECOMMENDED.replace(transported_mass=0.9))
    clip, rita = result_rows(runs)
    assert rita.non_default == f"{before}, transported_mass=0.35"
    assert "transported_mass" not in clip.non_default, "it does not depend on it"


def test_cells_that_differ_in_the_dataset_alone_are_summed() -> None:
    def line(dataset: str, n: int, gained: int, lost: int, **more: Any) -> ResultRow:
        return result_row(budget=4, dataset=dataset, n=n, **({"vs_plain": PairedComparison(n, gained, lost)} | more))

    found = [
        line("dtd", 10, 3, 1),
        line("textures", 20, 4, 0),
        line("caltech101", 30, 9, 9, expected_answers=40),  # not finished
        line("dtd", 10, 5, 5, non_default="slots=1"),  # other settings, of one dataset only
    ]
    ((first, datasets, paired),) = all_datasets(found)
    assert (first.dataset, datasets, paired) == ("dtd", 2, PairedComparison(30, 7, 1))
    (row,) = [one for one in as_markdown(found).splitlines() if one.startswith("| pgd 4/255 |")]
    assert "| 2 | 30 | +20.0 (7 / 1, p 0.07) | recommended |" in row
    (first, datasets, paired), *rest = all_datasets([*found, line("dtd:present", 10, 3, 1)])
    assert (datasets, paired, rest) == (2, PairedComparison(30, 7, 1), []), "the same pictures, once"
    area = [replace(one, vs_plain=None, vs_matching=one.vs_plain) for one in found[:2]]
    assert all_datasets(area) == []
    text = as_markdown(area)
    assert "### All datasets together, against Ensemble, views as RITA’s" in text
    named = [line("dtd", 10, 3, 1, vs_plain=PairedComparison(10, 3, 1, reference="views=6")), found[1]]
    assert all_datasets(named) == [], "two different Ensembles are not summed"
