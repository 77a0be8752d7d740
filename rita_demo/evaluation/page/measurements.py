"""The measurements that the page can compare: every cell of the server's run folders and of the stored streams."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rita_demo.evaluation.page.examples import PREFIX, STREAMS
from rita_demo.evaluation.page.stored_runs import run_names
from rita_demo.evaluation.page.streams import DataFolders
from rita_demo.evaluation.report.only_right import OnlyRight, compare, title_of
from rita_demo.evaluation.store.cell_file import CellHeader, Row, SeedGroup
from rita_demo.evaluation.store.files import read_lines
from rita_demo.records.errors import DataError
from rita_demo.records.grouping import group_by

MAX_FOLDERS = 40  # the newest run folders


@dataclass(frozen=True)
class Measured:
    """A measurement that can be chosen. ``name`` identifies it on the page; ``title``: what it is; ``dataset``, ``split``:
    of what; ``folder``: where it is, "" for a stored example; ``cells``: its folders, one per seed."""

    name: str
    title: str
    dataset: str
    split: str
    folder: str
    cells: tuple[Path, ...]

    @property
    def text(self) -> str:
        """The line of this measurement in the menu."""
        return f"{self.dataset} {self.split}: {self.title}; {self.folder or 'stored example'}"


def known_measurements(folders: DataFolders) -> tuple[Measured, ...]:
    """The measurements of the run folders, newest folder first, then those of the stored streams; damaged ones are left
    out."""
    runs = ((name, folders.runs / name) for name in run_names(folders)[:MAX_FOLDERS])
    stored = ((PREFIX + place.name, place) for place in sorted(STREAMS.iterdir()))
    return tuple(one for name, place in (*runs, *stored) for one in _measured_in(name, place))


def compare_measured(folders: DataFolders, first: str, second: str) -> OnlyRight:
    """Two of :func:`known_measurements` by their names (user input), on the pictures that both have.

    Raises:
        DataError: there is no such measurement, or no picture that both have.
    """
    return compare(_read(_find(folders, first)), _read(_find(folders, second)))


def find_right(folders: DataFolders, name: str, picture: str) -> tuple[Path, CellHeader, Row]:
    """The first cell of a measurement (user input) that has a picture right, its header, and the row.

    Raises:
        DataError: there is no such measurement, or it does not have the picture right.
    """
    for cell in _find(folders, name).cells:
        for row in read_lines(cell / "rows.jsonl"):
            if row["picture"] == picture and row["right"]:
                return cell, CellHeader.read(cell), row
    raise DataError(f"The picture {picture[:80]!r} is not right in this run.", "Choose the runs again.")


def _find(folders: DataFolders, name: str) -> Measured:
    for one in known_measurements(folders):
        if one.name == name:
            return one
    raise DataError("There is no such measurement here.", "Choose one from the list.")


def _measured_in(name: str, place: Path) -> Iterator[Measured]:
    measured = []
    for cell in sorted((place / "cells").glob("*")):
        with suppress(DataError, OSError, KeyError):
            header = CellHeader.read(cell)
            if (cell / "rows.jsonl").stat().st_size:
                measured.append((cell, header, title_of(header)))
    for pool, same in group_by(measured, lambda one: one[1].pool).items():
        header, cells = same[0][1], tuple(cell for cell, _, _ in same)
        split = str(header.columns["split"])
        folder = "" if name.startswith(PREFIX) else name
        yield Measured(f"{name}/{pool}", same[0][2], str(header.columns["dataset"]), split, folder, cells)


def _read(one: Measured) -> SeedGroup:
    headers = tuple(CellHeader.read(cell) for cell in one.cells)
    return SeedGroup(headers, tuple(read_lines(cell / "rows.jsonl") for cell in one.cells))
