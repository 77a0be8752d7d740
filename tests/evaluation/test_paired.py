"""McNemar's exact test against a count of all outcomes, and what counts as the same picture."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo import cli
from rita_demo.evaluation import plan
from rita_demo.evaluation.paired import Paired, compare
from rita_demo.evaluation.tables import Line, as_markdown, lines
from rita_demo.evaluation.together import together
from tests.oracles import paired as oracle


def by_counting(gained: int, lost: int) -> float:
    """The share of all ways n coins can fall that are at most as likely as the one that came."""
    n = gained + lost
    far = abs(gained - n / 2)
    ways = list(itertools.product((0, 1), repeat=n))
    return sum(abs(sum(way) - n / 2) >= far for way in ways) / len(ways)


@pytest.mark.parametrize(("gained", "lost"), [(1, 0), (3, 1), (0, 6), (5, 5), (9, 2), (2, 10)])
def test_p_is_the_share_of_outcomes_at_least_as_uneven(gained: int, lost: int) -> None:
    assert Paired(20, gained, lost).p == pytest.approx(by_counting(gained, lost))


def test_nothing_uneven_proves_nothing() -> None:
    assert Paired(7, 0, 0).p == 1.0
    assert Paired(7, 0, 0).difference == 0.0


def row(name: str, right: bool, l2: float = 1.5, seed: int = 3) -> dict:
    return {"picture": name, "picture_seed": seed, "linf": 4.0, "l2": l2, "right": right}


def test_only_the_same_attacked_pictures_are_compared() -> None:
    mine = [row("a", True), row("b", True), row("c", False), row("d", True), row("e", True)]
    other = [row("a", False), row("b", True), row("c", True), row("d", False, l2=2.0), row("e", False, seed=4)]  # fmt: skip
    assert compare(mine, other) == Paired(3, 1, 1)
    assert compare(mine, [row("z", True)]) is None


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_a_picture_counts_once_however_many_seeds_it_was_asked_under(seeds: int) -> None:
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
        paired = compare(mine, other)
        assert paired is not None
        assert (paired.n, (paired.gained, paired.lost)) == (7, oracle.votes(asked))
        assert paired.p == pytest.approx(oracle.p_by_exchanging(asked))
        points = 100 * sum(one - two for _, _, one, two in asked) / len(asked)
        assert paired.difference == pytest.approx(points)


def test_two_seeds_of_four_pictures_are_four_pairs() -> None:
    mine = [row(name, False, seed=seed) for name in "abcd" for seed in (0, 1)]
    other = [row(name, True, seed=seed) for name in "abcd" for seed in (0, 1)]
    paired = compare(mine, other)
    assert paired == Paired(4, 0, 4, -4.0)
    assert paired.p == 0.125, "not 0.0078, as of eight"


def test_which_ensemble_it_is_held_against(tmp_path: Path, measure, rows_of) -> None:
    few = ("--attack", "pgd", "--protocols", "off", "--limit", "6")
    alike = ("--set", "ensemble_weight=shown", "--set", "ensemble_step_back=0.4")
    runs = tmp_path / "runs"

    def against(**more: str) -> dict[str, Any]:
        wanted = {"method": "rita", "special": ""} | more
        (line,) = (
            x for x in lines(runs)
            if x.method == wanted["method"] and wanted["special"] in x.special
            and ("=" in wanted["special"] or "step_back" not in x.special)
        )  # fmt: skip
        return {"plain": line.against, "area": line.against_alike}

    def counted(method: str, kind: str) -> Paired:
        """From the rows alone: folders of the two, by the header's settings."""

        def right(name: str, weight: str) -> dict[str, bool]:
            for folder, rows in rows_of(runs).items():
                header = json.loads((runs / "cells" / folder / "header.json").read_text())
                if header["columns"]["method"] == name and weight in (
                    "any", header["knobs"]["ensemble_weight"]
                ):  # fmt: skip
                    return {r["picture"]: r["right"] for r in rows}
            raise AssertionError

        one, two = right(*((method, "any") if method == "rita" else ("ensemble", "shown"))), right("ensemble", kind)  # fmt: skip
        return Paired(6, sum(one[p] > two[p] for p in one), sum(one[p] < two[p] for p in one))

    measure(runs, *few, "--methods", "ensemble,rita", *alike)
    only = against()
    assert only["plain"].other == "ensemble_weight=shown, ensemble_step_back=0.4", (
        "no plain one is there: it says so"
    )
    assert "than Ensemble with ensemble_weight=shown, ensemble_step_back=0.4" in as_markdown(
        lines(runs)
    )
    measure(runs, *few, "--methods", "ensemble")
    both = against()
    assert both == {"plain": counted("rita", "uniform"), "area": counted("rita", "shown")}
    weighted = against(method="ensemble", special="ensemble_weight=shown")
    assert weighted == {"plain": counted("ensemble", "uniform"), "area": None}
    plain = next(x for x in lines(runs) if x.method == "ensemble" and "weight" not in x.special)
    assert plain.against is None
    assert "| against Ensemble, views as RITA’s |" in as_markdown(lines(runs))
    measure(runs, *few, "--methods", "rita", "--set", "step_back=0")
    assert against(special="step_back=0")["area"] is None, "its views are not that one's"
    measure(runs, *few, "--methods", "rita", "--set", "views=5")
    assert against(special="views=5")["plain"].other == "views=6"


def test_the_tables_say_what_the_stored_rows_say(
    tmp_path: Path, measure, rows_of, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = measure(tmp_path / "runs", "--attack", "pgd", "--protocols", "off", "--limit", "6")
    found = {line.method: line.against for line in lines(runs)}
    assert found["ensemble"] is None
    right = {
        method: {r["picture"]: r["right"] for rows in rows_of(runs).values() for r in rows if r["method"] == method}
        for method in ("clip", "ensemble")
    }  # fmt: skip
    both = [(right["clip"][name], right["ensemble"][name]) for name in right["clip"]]
    against = found["clip"]
    assert against is not None
    assert (against.n, against.gained, against.lost) == (6, both.count((True, False)), both.count((False, True)))  # fmt: skip
    capsys.readouterr()
    assert cli.main(["tables", str(runs)]) == 0
    printed = capsys.readouterr().out
    assert f"({against.gained} / {against.lost}, p {against.p:.2g})" in printed
    assert "against Ensemble" in printed


def test_a_run_made_when_other_settings_were_recommended_says_so(
    tmp_path: Path, measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("--attack", "none", "--protocols", "off", "--limit", "2", "--methods", "clip,rita")
    runs = measure(tmp_path / "runs", *few)
    before = lines(runs)[1].special
    assert "transported_mass" not in before
    monkeypatch.setattr(plan, "RECOMMENDED", plan.RECOMMENDED.but(transported_mass=0.9))
    clip, rita = lines(runs)
    assert rita.special == f"{before}, transported_mass=0.5"
    assert "transported_mass" not in clip.special, "it does not depend on it"


def test_datasets_are_counted_together_where_they_differ_in_nothing_else() -> None:
    def line(dataset: str, n: int, gained: int, lost: int, **more: Any) -> Line:
        values: dict[str, Any] = {"against": Paired(n, gained, lost)}
        values |= {"wanted": n, "seconds": 0.1, "special": "", "threat": (), "scope": ""} | more
        return Line(
            dataset, "embedded", "rita", "pgd", 4, 7, "off", "val", 50.0, n, 40.0, 60.0, "0", dataset,
            **values,
        )  # fmt: skip

    found = [
        line("dtd", 10, 3, 1),
        line("textures", 20, 4, 0),
        line("caltech101", 30, 9, 9, wanted=40),  # not finished
        line("dtd", 10, 5, 5, special="slots=1"),  # other settings, of one dataset only
    ]
    ((first, datasets, paired),) = together(found)
    assert (first.dataset, datasets, paired) == ("dtd", 2, Paired(30, 7, 1))
    (row,) = [one for one in as_markdown(found).splitlines() if one.startswith("| pgd 4/255 |")]
    assert "| 2 | 30 | +20.0 (7 / 1, p 0.07) | recommended |" in row
    (first, datasets, paired), *rest = together([*found, line("dtd:present", 10, 3, 1)])
    assert (datasets, paired, rest) == (2, Paired(30, 7, 1), []), "the same pictures, once"
    area = [replace(one, against=None, against_alike=one.against) for one in found[:2]]
    assert together(area) == []
    text = as_markdown(area)
    assert "### All datasets together, against Ensemble, views as RITA’s" in text
    named = [line("dtd", 10, 3, 1, against=Paired(10, 3, 1, other="views=6")), found[1]]
    assert together(named) == [], "two different Ensembles are not added up"
