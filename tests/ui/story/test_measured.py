"""The Story's numbers of many pictures, counted again from the shipped tables."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from rita_demo.data import shipped_results
from rita_demo.process.assets import ASSETS
from rita_demo.records.intervals import wilson
from rita_demo.ui.story import measured as story_measured
from rita_demo.ui.story.measured import ATTACKERS, METHODS, TOWERS, measured
from rita_demo.ui.story.view import TEMPLATE

Cells = list[dict[str, str]]
STRENGTH = ASSETS / "measured" / "strength_picture.csv"  # one of before the attacks' versions


def rows(path: Path, **wanted: str) -> Cells:
    """The lines of a shipped table with these values."""
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[name] == value for name, value in wanted.items())]


def columns(path: Path) -> list[str]:
    """The head of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def counted(cells: Cells) -> tuple[int, int]:
    """Right answers and answers."""
    right = sum(round(float(row["accuracy"]) * int(row["n"]) / 100) for row in cells)
    return right, sum(int(row["n"]) for row in cells)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the browser gets."""
    return json.loads(json.dumps(measured()))


def test_the_one_table_has_every_method_on_every_tower_with_n_and_interval(found: dict[str, Any]) -> None:
    table = found["table"]
    lines = iter(table["rows"])
    for tower in TOWERS:
        for method in METHODS:
            line = next(lines)
            assert line["tower"] == TOWERS[tower]
            for attack, cell in zip(ATTACKERS, line["cells"], strict=True):
                cells = rows(shipped_results.ARENA, backbone=tower, method=method, attack=attack, protocol="off")
                if not cells:
                    assert cell is None
                    continue
                right, n = counted(cells)
                low, high = wilson(right, n)
                assert cell["share"].startswith(f"{100 * right / n:.0f} %")
                assert cell["interval"] == f"n = {n}, {100 * low:.0f} to {100 * high:.0f}"
    assert next(lines, None) is None
    assert len(table["columns"]) == 1 + len(ATTACKERS)
    assert "at most 4 of 255" in table["lead"]
    budgets = {row["budget"] for row in rows(shipped_results.ARENA) if row["attack"] in ATTACKERS[1:]}
    assert budgets == {"4"}, "the sentence above the table names one strength"


def test_the_attacker_who_knows_is_told_with_the_numbers_of_the_table(found: dict[str, Any]) -> None:
    kept = {}
    for tower in TOWERS:
        kept[tower] = counted(
            rows(shipped_results.ARENA, backbone=tower, method="rita", attack="adaptive", protocol="off")
        )
    (right, n), (robust, of) = kept["embedded"], kept["embedded-robust"]
    assert found["knows_sentence"].startswith(
        f"With the embedded model RITA keeps {100 * right / n:.0f} % of {n} test pictures, its twin that was trained on attacks "
        f"{100 * robust / of:.0f} % of {of} ("
    )
    (told,) = found["knows"]
    assert told["kept"] == pytest.approx(100 * right / n)
    bars = {row["title"]: row for row in found["knows_rows"]}
    assert set(bars) == {f"{method}, {tower}" for method in ("CLIP", "RITA") for tower in TOWERS.values()}
    for row in bars.values():
        assert row["low"] <= row["share"] < row["high"]
    assert bars[f"RITA, {TOWERS['embedded']}"]["share"] == pytest.approx(right / n)


def test_the_memory_is_told_as_the_difference_of_two_counts_over_the_same_answers(found: dict[str, Any]) -> None:
    with_it = rows(shipped_results.ATTACKERS, method="rita", protocol="stream")
    same = {
        (row["dataset"], row["backbone"], row["attack"], row["budget"], row["steps"], row["split"]) for row in with_it
    }
    without = [
        row
        for row in rows(shipped_results.ATTACKERS, method="rita", protocol="off")
        if (row["dataset"], row["backbone"], row["attack"], row["budget"], row["steps"], row["split"]) in same
    ]
    (right, n), (plain, of) = counted(with_it), counted(without)
    assert n == of
    more = right - plain
    change = f"{abs(more)} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
    assert found["memory"].endswith(f"{right} of {n} answers are right with the memory, {change} without it.")
    assert "embedded model" in found["memory"]


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the shipped tables, with no table in it."""
    for name in ("ARENA", "ATTACKERS"):
        monkeypatch.setattr(story_measured.shipped_results, name, tmp_path / f"{name}.csv")
    return tmp_path


def test_what_was_not_measured_is_left_out(shipped: Path) -> None:
    found = measured()
    assert [found[name] for name in ("table", "memory", "knows")] == [None, "", None]
    assert "knows_rows" not in found
    (shipped / "ARENA.csv").write_text("not a table\n")
    assert measured()["table"] is None


def test_a_number_of_an_earlier_attack_is_marked_and_the_mark_is_explained(shipped: Path) -> None:
    head = ",".join(columns(STRENGTH))
    lines = [
        f"caltech101,embedded,{method},{attack},4,7,off,test,50.00,10,20.00,80.00,0,x,,{version},,0"
        for method in METHODS
        for attack, version in (("pgd", ""), ("adaptive", "earlier attack"))
    ]
    (shipped / "ARENA.csv").write_text("\n".join([head, *lines, ""]))
    found = measured()
    _, pgd, auto, knows = found["table"]["rows"][0]["cells"]
    assert (pgd["share"], auto, knows["share"]) == ("50 %", None, "50 %‡")
    assert "‡" in found["table"]["note"]
    assert found["knows"][0]["mark"] == "‡"
    assert [row["tower"] for row in found["table"]["rows"]] == [TOWERS["embedded"]] * 3, "no row without a number"
    assert "twin" not in found["knows_sentence"]


def test_the_count_over_many_pictures_has_the_numbers_of_the_results_and_the_points_of_the_table() -> None:
    sentence = re.search(r'<p class="counted">(.+)</p>', TEMPLATE)[1]
    written = (Path(__file__).parents[3] / "docs/results.md").read_text("utf-8")
    section = written.split("## A fair control", 1)[1].split("\n## ", 1)[0].replace("\n", " ")
    only, other, level, reverse = map(
        int, re.search(r"(\d+) are right .+ (\d+) with the .+ (\d+) to (\d+):", sentence).groups()
    )
    assert f"{only} pictures are right under more seeds with RITA, {other} with Ensemble" in section
    assert f"against the average with RITA's crop weights it is {level} to {reverse}." in section
    assert "On the 300 `test` pictures" in section
    assert sentence.startswith("Of 300 attacked test pictures")
    average, rita = (
        counted(rows(shipped_results.ARENA, backbone="embedded", method=m, attack="pgd", protocol="off"))
        for m in ("ensemble", "rita")
    )
    points = int(re.search(r"RITA gains (\d+) points", sentence)[1])
    assert 100 * rita[0] / rita[1] - 100 * average[0] / average[1] == pytest.approx(points, abs=1.0)


def test_the_table_in_short_has_the_tables_numbers_and_is_said_only_where_the_intervals_are_apart(
    found: dict[str, Any], shipped: Path
) -> None:
    shares = {
        (row["title"], row["tower"]): [cell and cell["share"].rstrip("‡") for cell in row["cells"]]
        for row in found["table"]["rows"]
    }
    usual, robust = TOWERS["embedded"], TOWERS["embedded-robust"]
    pgd, knows = ATTACKERS.index("pgd"), ATTACKERS.index("adaptive")
    told = found["table"]["short"]
    for title, tower, attacker in (
        ("average of crops", usual, pgd),
        ("CLIP", usual, pgd),
        ("RITA", usual, pgd),
        ("RITA", usual, knows),
        ("RITA", robust, knows),
        ("CLIP", robust, knows),
    ):
        assert shares[title, tower][attacker] in told
    head = ",".join(columns(STRENGTH))
    for clip, said in (("0", True), ("49", False)):
        lines = [
            f"caltech101,{tower},{method},{attack},4,7,off,test,{accuracy},100,20.00,80.00,0,x,,,,0"
            for tower, rita in (("embedded", "0"), ("embedded-robust", "60"))
            for method, attack, accuracy in (
                ("clip", "pgd", clip),
                ("ensemble", "pgd", "50"),
                ("rita", "pgd", "52"),
                ("rita", "adaptive", rita),
                ("clip", "adaptive", "0"),
            )
        ]
        (shipped / "ARENA.csv").write_text("\n".join([head, *lines, ""]))
        assert bool(measured()["table"]["short"]) is said
