"""Tables of measurements read back as they were written."""

from pathlib import Path

import pytest

from rita_demo.data import shipped_results
from rita_demo.evaluation.report.render import as_csv
from rita_demo.evaluation.report.results import COLUMNS
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from tests.evaluation.conftest import result_row

ROW = result_row(accuracy=61.25)


def test_tables_output_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(as_csv([ROW]))
    assert shipped_results.read(path) == (MeasuredCell(**{name: getattr(ROW, name) for name in COLUMNS}),)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", as_csv([ROW]).replace("61.25", "many"), "\x00"])
def test_another_file_gives_an_error_message(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=r"cells.csv is not a table of measurements"):
        shipped_results.read(path)
    with pytest.raises(DataError):
        shipped_results.read(tmp_path / "missing.csv")
