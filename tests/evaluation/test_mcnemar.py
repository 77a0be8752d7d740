"""McNemar's exact test against a count of all exchanges, and which pictures are compared."""

from typing import Any

import numpy as np
import pandas
import pytest

from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.report import tables
from rita_demo.evaluation.report.cells import cells
from rita_demo.evaluation.report.paired import Paired, all_datasets, compare, merged
from tests.evaluation.frames import cell, table
from tests.oracles import paired as oracle

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


def test_the_row_ensemble_area_is_the_ensemble_that_weighs_views_as_rita() -> None:
    area = ensemble("yynnnn", method="ensemble_area")
    found = references(rita("yyyynn"), area)
    assert found["rita", ""].vs_matching == Paired(6, 2, 0, 2.0)
    assert found["rita", ""].vs_plain == Paired(6, 2, 0, 2.0, AREA), "no plain one was measured"
    line = found["ensemble_area", "uniform"]
    assert (line.vs_plain, line.vs_matching) == (None, None)
    beside = references(area, ensemble("nyynnn"))["ensemble_area", "uniform"]
    assert beside.vs_plain == Paired(6, 1, 1, 0.0)


def test_a_kept_memory_is_compared_with_none_on_the_same_pictures() -> None:
    found = references(rita("yynnnn"), rita("ynyynn", "kept", "stream", slots=1), rita("nnnnnn", "other", views=5))
    assert {name: line.vs_off for (_, name), line in found.items()} == {
        "": None,
        "kept": Paired(6, 2, 1, 1.0),
        "other": None,
    }


def test_a_run_with_formerly_recommended_settings_lists_them(runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def special(method: str) -> set[str]:
        table = cells(runs)
        return set(table[(table["method"] == method) & (table["protocol"] == "off")]["special"])

    (before,) = special("rita")
    assert "transported_mass" not in before
    monkeypatch.setattr(planned_cells, "RECOMMENDED", planned_cells.RECOMMENDED.replace(transported_mass=0.9))
    assert special("rita") == {f"{before}, transported_mass=0.35"}
    assert "transported_mass" not in special("clip").pop(), "it does not depend on it"


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
