"""Measured tables of this project: CSV files with the columns of ``tables --format csv``, read as records."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import MISSING, astuple, fields
from pathlib import Path
from typing import Any, TypeVar

from rita_demo.process.assets import ASSETS
from rita_demo.process.text_file import read_text
from rita_demo.records import MeasuredCell, SampleOutcome
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import LADDER as PARTS
from rita_demo.records.measurement import DetectorRow, LadderRow, PaperResult

R = TypeVar("R", MeasuredCell, SampleOutcome, PaperResult, DetectorRow, LadderRow)
_FOLDER = ASSETS / "measured"
#: Every method against every attacker on the split ``test``; docs/results.md has the commands.
ATTACKERS = _FOLDER / "attackers.csv"
#: The arena over two datasets, on both embedded towers, with the cache off; docs/results.md has the commands.
ARENA = _FOLDER / "arena.csv"
#: The outcome on every sample, written by ``python -m tools.story.samples``.
EXAMPLES = _FOLDER / "examples.csv"
#: Does a picture look attacked? Written by ``python -m tools.story.detector``.
DETECTOR = _FOLDER / "detector.csv"
#: Which part of RITA has which attacked picture right, written by ``python -m tools.story.ladder``.
LADDER = _FOLDER / "ladder.csv"
#: Every defence on the split ``val``, by which the Story chooses one; docs/results.md has the commands.
CHOICE = _FOLDER / "choice.csv"
#: Ablations on DTD and Caltech101, written by ``tables RUNS --format points``; docs/results.md has the commands.
ABLATIONS = _FOLDER / "ablations.json"
_NUMBERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("steps", "n", "missing", "clean", "false_alarms", "attacked", "hits", *PARTS), int),
    **dict.fromkeys(("accuracy", "low", "high", "rita_margin", "threshold"), float),
    **dict.fromkeys(("budget", "class_names"), lambda text: int(text) if text else None),
}


def files() -> tuple[Path, ...]:
    """Every table of ``tables --format csv`` in ``assets/measured``."""
    return tuple(sorted(path for path in _FOLDER.glob("*.csv") if path not in (EXAMPLES, DETECTOR, LADDER, CHOICE)))


def read(path: Path) -> tuple[MeasuredCell, ...]:
    """The cells of a CSV file with the columns of ``tables --format csv``; DataError for any other file."""
    return read_records(path, MeasuredCell, "tables --format csv")


def sample_outcomes() -> dict[str, SampleOutcome]:
    """Sample -> its measured outcome; DataError when the file is missing or damaged."""
    return {outcome.sample: outcome for outcome in read_records(EXAMPLES, SampleOutcome, "tools.story.samples")}


def detector_rows() -> tuple[DetectorRow, ...]:
    """The row of :data:`DETECTOR`; DataError when the file is missing or damaged."""
    return read_records(DETECTOR, DetectorRow, "tools.story.detector")


def ladder_rows() -> tuple[LadderRow, ...]:
    """The rows of :data:`LADDER`; DataError when the file is missing or damaged."""
    return read_records(LADDER, LadderRow, "tools.story.ladder")


def write_records(path: Path, records: Sequence[R]) -> None:
    """Write records of one type, at least one, as :func:`read_records` reads them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([field.name for field in fields(records[0])])
        table.writerows(astuple(record) for record in records)


def read_records(path: Path, record: type[R], source: str) -> tuple[R, ...]:
    """The rows of a CSV file with a record's fields as columns. DataError for any other file. ``source``: what writes such
    files."""
    wanted = [field.name for field in fields(record) if field.default is MISSING or field.kw_only]  # no remarks of ours
    try:
        table = csv.DictReader(io.StringIO(read_text(path)))
        if table.fieldnames != wanted:
            raise ValueError
        return tuple(record(**{k: _NUMBERS.get(k, str)(v) for k, v in row.items()}) for row in table)
    except (OSError, ValueError, TypeError) as error:
        hint = f"Expected the columns of {source}: {', '.join(wanted)}."
        raise DataError(f"{path.name} is not a table of measurements.", hint) from error
