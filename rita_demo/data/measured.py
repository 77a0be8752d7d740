"""Measured tables: files in the columns of ``tables --format csv``, read back as records."""

from __future__ import annotations

import csv
from dataclasses import fields
from pathlib import Path

from rita_demo.errors import DataError
from rita_demo.records import MeasuredCell

_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "measured"
#: Accuracy against the attack's strength on the embedded model, by the square that is attacked.
#: The commands that made the files stand in docs/results.md.
STRENGTH: dict[str, Path] = {
    square: _FOLDER / f"strength_{square}.csv" for square in ("picture", "model")
}
_NUMBERS = {"budget": int, "steps": int, "n": int, "accuracy": float, "low": float, "high": float}


def read(path: Path) -> tuple[MeasuredCell, ...]:
    """The cells of a CSV file, in its order.

    Raises:
        DataError: the file is missing, or is not in the columns of ``tables --format csv``.
    """
    wanted = [field.name for field in fields(MeasuredCell)]
    try:
        with path.open(encoding="utf-8", newline="") as file:
            table = csv.DictReader(file)
            if table.fieldnames != wanted:
                raise ValueError
            return tuple(
                MeasuredCell(**{k: _NUMBERS.get(k, str)(v) for k, v in row.items()})
                for row in table
            )
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"{path.name} is not a table of measurements.",
            f"Expected the columns of tables --format csv: {', '.join(wanted)}.",
        ) from error
