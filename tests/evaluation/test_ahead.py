"""Pictures attacked and looked at in batches: the rows of one by one, in the same order, with the same memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo.engine import Engine
from rita_demo.evaluation import ahead

BATCH = 3


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From now on pictures are taken three at a time; the sizes of the batches of views."""
    sizes: list[int] = []
    whole = Engine.look_together

    def counted(self: Engine, pictures: Any, *rest: Any) -> Any:
        sizes.append(len(pictures))
        return whole(self, pictures, *rest)

    monkeypatch.setitem(ahead.TOGETHER, "cpu", BATCH)
    monkeypatch.setattr(Engine, "look_together", counted)
    return sizes


def expect_same(found: dict, wanted: dict) -> None:
    assert list(found) == list(wanted)
    for name, rows in wanted.items():
        for row, alone in zip(found[name], rows, strict=True):
            for column in ("picture", "answer", "right", "already_wrong", "picture_seed", "target"):
                assert row[column] == alone[column], (name, column)
            assert row["linf"] == pytest.approx(alone["linf"], abs=1)
            assert np.isclose(row["probability"], alone["probability"], atol=5e-3)


@pytest.mark.parametrize(
    "more",
    [
        ["--attack", "none,pgd,di"],
        ["--attack", "pgd", "--target", "next"],
        ["--attack", "eot", "--set", "attack_views=2"],  # attacked one by one, looked at together
    ],
    ids=["attacks", "towards a class", "through crops"],
)
def test_batches_give_the_rows_of_one_by_one(
    measure, rows_of, tmp_path: Path, batches: list[int], monkeypatch, more: list[str]
) -> None:
    found = rows_of(measure(tmp_path / "batches", *more))
    assert max(batches) == BATCH
    counted = len(batches)
    monkeypatch.setitem(ahead.TOGETHER, "cpu", 1)
    expect_same(found, rows_of(measure(tmp_path / "single", *more)))
    assert len(batches) == counted


def test_what_is_there_already_is_not_made_again(
    measure, rows_of, tmp_path: Path, batches: list[int], monkeypatch
) -> None:
    monkeypatch.setitem(ahead.TOGETHER, "cpu", 1)
    measure(tmp_path / "runs", "--limit", "6")
    monkeypatch.setitem(ahead.TOGETHER, "cpu", BATCH)
    measure(tmp_path / "runs", "--limit", "6")
    assert batches == []


def test_an_attacker_who_knows_the_memory_waits_for_it(
    measure, tmp_path: Path, batches: list[int]
) -> None:
    measure(
        tmp_path / "runs", "--attack", "defence", "--methods", "rita", "--set", "attack_views=2"
    )
    assert batches == []


def test_a_picture_that_cannot_be_opened_fails_in_its_own_turn(
    words, rows_of, data_root: Path, tmp_path: Path, batches: list[int], capsys
) -> None:
    from rita_demo import cli

    whole = words(tmp_path / "runs")
    copy = tmp_path / "data"
    for path in data_root.rglob("*"):
        place = copy / path.relative_to(data_root)
        if path.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    (copy / "caltech-101" / "101_ObjectCategories" / "cup" / "2.png").write_bytes(b"no picture")
    whole[whole.index("--data-root") + 1] = str(copy)
    assert cli.main(whole) == 1
    assert "cup/2.png" in capsys.readouterr().err
    done = [len(rows) for rows in rows_of(tmp_path / "runs").values()]
    assert batches
    assert max(done) < 12
