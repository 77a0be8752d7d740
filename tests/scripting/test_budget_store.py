"""What ``rita budget --out`` keeps of each attack."""

from pathlib import Path

import numpy as np
import pytest

from rita_demo.analysis.visible_change import VisibleChange
from rita_demo.pipeline.smallest_budget import BudgetProbe
from rita_demo.records.errors import DataError
from rita_demo.scripting.smallest_budget import _Store


def probe(budget: int) -> BudgetProbe:
    return BudgetProbe(
        budget, 1, True, np.zeros((32, 32, 3), np.uint8), 1.0, 1.0, VisibleChange(1.0, 0.0, 0.0), 1, 1, 1.0
    )


def test_a_line_that_a_full_disk_cut_off_does_not_damage_the_next(tmp_path: Path) -> None:
    store = _Store(tmp_path, "key")
    store.put("rita", probe(1))
    rows = tmp_path / "probes.jsonl"
    rows.write_bytes(rows.read_bytes() + b'{"budget": 2, "lin')
    store.put("rita", probe(3))
    assert [one is not None for one in map(store.find, (1, 2, 3))] == [True, False, True]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file cannot be made: File exists\."):
        _Store(tmp_path / "file", "key").put("rita", probe(1))
