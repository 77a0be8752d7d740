"""Stored rows of run folders as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rita_demo.evaluation.report.results import pooled_cells

if TYPE_CHECKING:
    import pandas

ADDED = ("dataset", "split", "backbone")  # rows before version 0.1.0 have them in the header of their cell alone


def load_runs(*folders: str | Path) -> pandas.DataFrame:
    """One row per picture, method and cell of the folders that ``evaluate`` wrote to.

    The columns are those of ``rows.jsonl`` (docs/result-files.md has units), with ``seconds`` as three columns, and of
    the cell ``weights`` and ``non_default``. ``attack`` is what the tables call it, such as ``adaptive:rita``; in mixed
    traffic a clean picture has ``none``. What a row of an older version does not have is missing (NaN).

    Raises:
        DataError: a folder is not a run folder, or one of its files is damaged.
    """
    import pandas

    rows = []
    for folder in folders:
        for header, found in (cell for cells in pooled_cells(Path(folder)) for cell in cells):
            columns = header["columns"]
            special = ", ".join(f"{name}={value}" for name, value in header["special"].items())
            before = {name: columns[name] for name in ADDED} | {"version": None}
            after = {"weights": header["weights"], "non_default": special}
            for row in found:
                attack = "none" if row["attack"] == "none" else columns["attack"]
                rows.append(before | row | after | {"attack": attack})
    return pandas.json_normalize(rows, sep="_")
