"""The Story's numbers of many pictures, counted again from the shipped tables."""

import csv
import json
from math import comb
from pathlib import Path
from typing import Any

import pytest

from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.records.intervals import wilson
from rita_demo.ui.story import measured as story_measured
from rita_demo.ui.story.measured import ATTACKERS, METHODS, PARTS, TOWERS, measured, step_sentence

Cells = list[dict[str, str]]
HEAD = "dataset,backbone,method,attack,budget,steps,protocol,split,accuracy,n,low,high,seeds,settings,class_names,version,title,missing"


def rows(path: Path, **wanted: str) -> Cells:
    """The lines of a shipped table with these values."""
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[name] == value for name, value in wanted.items())]


def counted(cells: Cells) -> tuple[int, int]:
    """Right answers and answers."""
    right = sum(round(float(row["accuracy"]) * int(row["n"]) / 100) for row in cells)
    return right, sum(int(row["n"]) for row in cells)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the browser gets."""
    return json.loads(json.dumps(measured()))


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the shipped tables, with no table in it."""
    for name in ("ARENA", "CHOICE", "LADDER", "DETECTOR"):
        monkeypatch.setattr(story_measured.shipped_results, name, tmp_path / f"{name}.csv")
    return tmp_path


def write(folder: Path, name: str, *cells: tuple[str, str, str, float, str], split: str = "test") -> None:
    """A table of (tower, method, attack, accuracy of 100 pictures, version)."""
    lines = [
        f"caltech101,{tower},{method},{attack},4,7,off,{split},{accuracy},100,0,0,0,x,,{version},,0"
        for tower, method, attack, accuracy, version in cells
    ]
    (folder / f"{name}.csv").write_text("\n".join([HEAD, *lines, ""]))


def test_the_one_table_has_four_rows_and_the_fourth_is_the_best_on_val_with_its_number_from_test(
    found: dict[str, Any],
) -> None:
    table = found["table"]
    names = [row["name"] for row in table["rows"]]
    assert names[:3] == list(METHODS)
    on_val = {
        name: counted(rows(shipped_results.CHOICE, method=name, split="val", attack="pgd", backbone="embedded"))
        for name in DEFENCES
    }
    assert {n for _, n in on_val.values()} == {0, 100}, "all on the same number of pictures"
    others = {name: right for name, (right, n) in on_val.items() if n and name not in METHODS}
    assert len(others) >= 12
    assert others[names[3]] == max(others.values())
    for tower in TOWERS:
        says = table["towers"][tower]["says"]  # names CLIP's own number beside RITA's
        for name, cells in zip(names, table["towers"][tower]["cells"], strict=True):
            for attack, cell in zip(ATTACKERS, cells, strict=True):
                of = rows(
                    shipped_results.ARENA, backbone=tower, method=name, attack=attack, protocol="off", split="test"
                )
                today = [row for row in of if row["version"] != "earlier attack"]
                if of and not counted(of)[0]:
                    today = of  # a stronger attacker than one that left none leaves none
                if not today:
                    bound = "; at most " if of else ""
                    assert cell["value"].startswith(f"not measured{bound}")
                    assert cell["share"] is None
                    assert ("earlier, weaker attacker" in cell["said"]) == bool(of)
                    continue
                right, n = counted(today)
                low, high = wilson(right, n)
                assert cell["share"] == pytest.approx(right / n)
                assert (name, attack) not in (("clip", "pgd"), ("rita", "pgd")) or f"{100 * right / n:.0f} %" in says
                assert cell["said"] == f"{100 * low:.0f} to {100 * high:.0f} of 100 (95 %), n = {n}"
    assert "at most 4 of 255" in table["note"]
    budgets = {row["budget"] for row in rows(shipped_results.ARENA) if row["attack"] in ("pgd", "adaptive")}
    assert budgets == {"4"}, "the small print names one strength"


def test_every_step_of_the_ladder_is_counted_on_the_same_pictures_with_its_exact_test(found: dict[str, Any]) -> None:
    pictures = rows(shipped_results.LADDER)
    ladder, n = found["ladder"], len(pictures)
    assert ladder["n"] == n == 200
    assert len({(row["dataset"], row["picture"]) for row in pictures}) == n
    before = None
    for part, step in zip(PARTS, ladder["steps"], strict=True):
        right = sum(int(row[part]) for row in pictures)
        assert step["share"] == pytest.approx(right / n)
        assert step["value"] == f"{100 * right / n:.0f} %"
        if before:
            gained = sum(row[part] > row[before] for row in pictures)
            lost = sum(row[part] < row[before] for row in pictures)
            assert step["said"] == step_sentence(gained, lost)
        before = part
    assert ladder["says"].startswith("What helps here: the average of crops.")


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (7, 1), (8, 1), (1, 8)])
def test_a_gain_is_said_only_where_the_exact_test_rejects(gained: int, lost: int) -> None:
    n = gained + lost
    p = min(1, 2 * sum(comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n)
    said = step_sentence(gained, lost)
    assert said.startswith("no gain shows" if p >= 0.05 else "gain" if gained > lost else "loss")
    assert f"{gained} gained, {lost} lost" in said
    assert "no gain:" not in said


def test_what_was_not_measured_is_left_out(shipped: Path) -> None:
    assert measured() == {"table": None, "ladder": None, "knows": None, "detector": {}}
    (shipped / "ARENA.csv").write_text("not a table\n")
    assert measured()["table"] is None


def test_a_number_of_an_earlier_attack_is_a_bound_and_no_cell_of_the_table(shipped: Path) -> None:
    old = "earlier attack"
    write(
        shipped,
        "ARENA",
        ("embedded", "rita", "pgd", 50, ""),
        ("embedded", "rita", "adaptive", 6, old),
        ("embedded", "clip", "pgd", 0, ""),
        ("embedded", "clip", "adaptive", 0, ""),
    )
    found = measured()
    cells = dict(
        zip((r["name"] for r in found["table"]["rows"]), found["table"]["towers"]["embedded"]["cells"], strict=True)
    )
    assert cells["rita"][2]["value"] == "not measured; at most 6"
    assert "left 6 of 100, n = 100: at most that" in cells["rita"][2]["said"]
    assert cells["clip"][2]["value"] == "0"
    assert cells["ensemble"][1]["value"] == "not measured"
    assert found["knows"]["said"] == "at most 6 %"
    assert found["knows"]["note"]
    write(shipped, "ARENA", ("embedded", "rita", "pgd", 50, ""), ("embedded", "rita", "adaptive", 6, ""))
    found = measured()
    assert (found["knows"]["said"], found["knows"]["note"]) == ("6 %", "")
    assert found["table"]["towers"]["embedded"]["cells"][2][2]["value"] == "6"


@pytest.mark.parametrize(
    ("average", "rita", "dbd", "said"),
    [(66, 69, 90, "DBD (90 % on the standard model)."), (40, 69, 70, "RITA (69 % on the standard model).")],
)
def test_what_one_would_use_is_the_simplest_row_that_is_not_clearly_below_the_best(
    shipped: Path, average: int, rita: int, dbd: int, said: str
) -> None:
    shares = {"clip": 0, "ensemble": average, "rita": rita, "dbd": dbd}
    write(shipped, "ARENA", *(("embedded", name, "pgd", share, "") for name, share in shares.items()))
    write(shipped, "CHOICE", ("embedded", "dbd", "pgd", 1, ""), ("embedded", "mta", "pgd", 0, ""), split="val")
    assert measured()["table"]["use"] == f"Against an attacker who knows only CLIP: {said}"
