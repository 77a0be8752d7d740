"""Tables of measurements read back as they were written."""

from dataclasses import replace
from pathlib import Path

import pytest

from rita_demo.data import shipped_results
from rita_demo.evaluation.report.cells import as_csv, records_of
from rita_demo.records.errors import DataError
from tests.evaluation.frames import cell, table

CELLS = table(cell(rights="yyyyynnn"))


def test_tables_output_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(as_csv(CELLS))
    assert shipped_results.read(path) == tuple(
        replace(one, low=round(one.low, 2), high=round(one.high, 2)) for one in records_of(CELLS)
    )


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", as_csv(CELLS).replace("62.50", "many"), "\x00"])
def test_another_file_gives_an_error_message(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=r"cells.csv is not a table of measurements"):
        shipped_results.read(path)
    with pytest.raises(DataError):
        shipped_results.read(tmp_path / "missing.csv")
