"""Measured tables: files in the columns of ``tables --format csv``, read back as records."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import TypeVar

from rita_demo.errors import DataError
from rita_demo.records import MeasuredCell, SampleOutcome

R = TypeVar("R", MeasuredCell, SampleOutcome)
_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "measured"
#: Accuracy against the attack's strength on the embedded model, by the square that is attacked.
#: The commands that made the files stand in assets/model/README.md.
STRENGTH: dict[str, Path] = {
    square: _FOLDER / f"strength_{square}.csv" for square in ("picture", "model")
}
#: Every method against every attacker on ``test``; docs/results.md has the commands.
ATTACKERS = _FOLDER / "attackers.csv"
#: What happened to every sample, written by ``python -m rita_demo.examples``.
EXAMPLES = _FOLDER / "examples.csv"
#: Ablations on drawn textures, written by ``tables RUNS --format points``; docs/results.md has the commands.
ABLATIONS = _FOLDER / "ablations.json"
_NUMBERS = {"budget": int, "steps": int, "n": int, "accuracy": float, "low": float, "high": float,
            "rita_margin": float}  # fmt: skip


def files() -> tuple[Path, ...]:
    """Every table of ``tables --format csv`` that came with this copy."""
    return tuple(sorted(path for path in _FOLDER.glob("*.csv") if path != EXAMPLES))


def read(path: Path) -> tuple[MeasuredCell, ...]:
    """The cells of a CSV file in the columns of ``tables --format csv``, in its order.

    Raises:
        DataError: the file is missing, or is not in the columns of ``tables --format csv``.
    """
    return _read(path, MeasuredCell, "tables --format csv")


def outcomes(path: Path = EXAMPLES) -> dict[str, SampleOutcome]:
    """Sample -> what was measured on it; DataError when the file is missing or damaged."""
    return {one.sample: one for one in _read(path, SampleOutcome, "rita_demo.examples")}


def write_outcomes(found: Sequence[SampleOutcome], path: Path = EXAMPLES) -> None:
    """Write the samples' outcomes as :func:`outcomes` reads them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([field.name for field in fields(SampleOutcome)])
        table.writerows(astuple(one) for one in found)


def _read(path: Path, record: type[R], source: str) -> tuple[R, ...]:
    wanted = [field.name for field in fields(record)]
    try:
        with path.open(encoding="utf-8", newline="") as file:
            table = csv.DictReader(file)
            if table.fieldnames != wanted:
                raise ValueError
            return tuple(
                record(**{k: _NUMBERS.get(k, str)(v) for k, v in row.items()}) for row in table
            )
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"{path.name} is not a table of measurements.",
            f"Expected the columns of {source}: {', '.join(wanted)}.",
        ) from error
