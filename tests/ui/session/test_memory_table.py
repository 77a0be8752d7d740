"""A visitor's memory as a table: where every view came from, and what became of it."""

import csv
import io
from typing import Any

import numpy as np
import pytest

from rita_demo.data.memory import MemoryTable
from rita_demo.evaluation.stored_views import COLUMNS, stored_views_csv
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.views.boxes import view_boxes

NAMES, PICTURES = ("cup", "crab", "cat"), 6
SETTINGS = RECOMMENDED.replace(views=6, tuning_steps=0, slots=2, max_entropy=9.0, views_per_image=0)


def rows_of(history: MemoryTable, moment: int = -1) -> list[dict[str, str]]:
    memory = history.until(moment)
    views = memory.views()
    boxes = {view.id: memory.box[row] for row, view in views.items()}
    data = stored_views_csv("mine", NAMES, tuple(views.values()), boxes).decode()
    assert data.splitlines()[0] == ",".join(COLUMNS)
    return list(csv.DictReader(io.StringIO(data)))


def held(rows: list[dict[str, str]]) -> set[tuple[str, str, str]]:
    return {(row["stored_as"], row["picture"], row["view"]) for row in rows if not row["left_at"]}


def held_at(history: MemoryTable, moment: int = -1) -> set[tuple[str, str, str]]:
    return {(NAMES[k], str(history.born[row]), str(history.view[row])) for k, _, row in history.held(moment)}


def add(engine: Any, history: MemoryTable, n: int, **changes: Any) -> MemoryTable:
    """Picture ``n``; every other one is attacked."""
    picture = Picture(np.random.default_rng(n).integers(0, 256, (112, 112, 3)).astype(np.uint8), f"key {n}")
    settings = SETTINGS.replace(attack="noise" if n % 2 else "none", view_seed=n, **changes)
    run = run_picture(engine, picture, NAMES, settings, label=n % 3, cache=history.cache_before(picture.key))
    return history.with_picture(f"photo {n}.png", picture.key, run, None)


@pytest.fixture
def history(engine: Any) -> MemoryTable:
    found = MemoryTable()
    for n in range(PICTURES):
        found = add(engine, found, n)
    return found


def test_the_rows_hold_at_every_moment_what_the_memory_holds(history: MemoryTable) -> None:
    for moment in range(len(history.moments)):
        assert held(rows_of(history, moment)) == held_at(history, moment)


def test_a_row_names_picture_box_and_the_view_that_left(history: MemoryTable) -> None:
    rows = rows_of(history)
    assert [int(row["id"]) for row in rows] == list(range(sum(len(entry.events) for entry in history.moments)))
    for row in rows:
        n = int(row["picture"])
        assert (row["stream"], row["file"], row["true_class"]) == ("mine", f"photo {n}.png", NAMES[n % 3])
        assert (row["entered_at"], row["attacked"]) == (str(n), str(n % 2 == 1))
        box = [float(row[edge]) for edge in ("left", "top", "right", "bottom")]
        assert np.allclose(box, view_boxes(SETTINGS.replace(view_seed=n))[0][int(row["view"])])
    replacing = [row for row in rows if row["replaced"]]
    assert replacing, "something was evicted"
    for row in replacing:
        gone = rows[int(row["replaced"])]
        assert (gone["file"], gone["stored_as"]) == (row["replaced_file"], row["stored_as"])
        assert (gone["left_at"], gone["replaced_by"]) == (row["picture"], row["id"])
        assert 0 < float(row["gain"]) == pytest.approx(float(gone["entropy"]) - float(row["entropy"]))
    assert {row["replaced_by"] for row in rows} - {""} == {row["id"] for row in replacing}


def test_a_view_that_is_taken_out_by_hand_left_for_no_other(history: MemoryTable, engine: Any) -> None:
    k, slot, _ = history.held()[0]
    after = history.with_state("Removed", engine.remove_cache_item(history.state_at(), k, slot), NAMES)
    (changed,) = [new for old, new in zip(rows_of(history), rows_of(after), strict=True) if old != new]
    assert (changed["stored_as"], changed["left_at"], changed["replaced_by"]) == (NAMES[k], str(PICTURES - 1), "")
    emptied = after.emptied()
    assert held(rows_of(emptied)) == set()
    assert held(rows_of(emptied.undo().undo())) == held_at(history)
