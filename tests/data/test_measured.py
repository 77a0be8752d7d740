"""Tables of measurements read back as they were written."""

from pathlib import Path

import pytest

from rita_demo.data import measured
from rita_demo.errors import DataError
from rita_demo.evaluation.tables import COLUMNS, Line, as_csv
from rita_demo.records import MeasuredCell

LINE = Line(
    "caltech101", "embedded", "rita", "pgd", 4, 7, "off", "val", 61.25, 80, 50.3, 71.2, "0", "abc",
    80, 0.5, "", (), "",
)  # fmt: skip


def test_what_tables_writes_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(as_csv([LINE]))
    assert measured.read(path) == (MeasuredCell(**{name: getattr(LINE, name) for name in COLUMNS}),)


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", as_csv([LINE]).replace("61.25", "many"), "\x00"]
)
def test_another_file_gets_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=r"cells.csv is not a table of measurements"):
        measured.read(path)
    with pytest.raises(DataError):
        measured.read(tmp_path / "missing.csv")


@pytest.mark.parametrize("steps", [7, 50])
@pytest.mark.parametrize("square", measured.STRENGTH)
def test_the_shipped_curve_holds_the_demonstration_budget(square: str, steps: int) -> None:
    """At 4/255 CLIP is below 10 %, and RITA keeps 60 % of its own clean accuracy, on both datasets."""
    cells = {
        (c.dataset, c.method, c.budget, c.steps): c
        for c in measured.read(measured.STRENGTH[square])
    }
    for dataset in ("caltech101", "dtd"):
        clean = cells[dataset, "rita", 0, 0].accuracy
        assert cells[dataset, "clip", 4, steps].accuracy < 10
        assert cells[dataset, "rita", 4, steps].accuracy >= 0.6 * clean
        for budget in (1, 2, 4, 8):
            assert (dataset, "rita", budget, steps) in cells
