"""The measurements that the page can compare: every cell of the server's run folders and of the stored streams."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rita_demo.evaluation.page.examples import PREFIX, STREAMS
from rita_demo.evaluation.page.stored_runs import run_names
from rita_demo.evaluation.page.streams import DataFolders
from rita_demo.evaluation.report.only_right import OnlyRight, compare, title_of
from rita_demo.evaluation.rows import stored_measurements
from rita_demo.evaluation.store.cell_file import CellHeader, Row, SeedGroup, rows_of
from rita_demo.records.errors import DataError
from rita_demo.records.grouping import group_by

MAX_FOLDERS = 40  # the newest run folders


@dataclass(frozen=True)
class Measured:
    """A measurement that can be chosen. ``name`` identifies it on the page; ``title``: what it is; ``dataset``, ``split``:
    of what; ``folder``: where it is, "" for a stored example; ``cells``: one per seed, in the run folder ``place``."""

    name: str
    title: str
    dataset: str
    split: str
    folder: str
    place: Path
    cells: tuple[CellHeader, ...]

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


def find_right(folders: DataFolders, name: str, picture: str) -> tuple[CellHeader, Row]:
    """The first cell of a measurement (user input) that has a picture right, and the row.

    Raises:
        DataError: there is no such measurement, or it does not have the picture right.
    """
    one = _find(folders, name)
    for cell in one.cells:
        for row in rows_of(one.place, cell):
            if row["picture"] == picture and row["right"]:
                return cell, row
    raise DataError(f"The picture {picture[:80]!r} is not right in this run.", "Choose the runs again.")


def _find(folders: DataFolders, name: str) -> Measured:
    for one in known_measurements(folders):
        if one.name == name:
            return one
    raise DataError("There is no such measurement here.", "Choose one from the list.")


def _measured_in(name: str, place: Path) -> Iterator[Measured]:
    measured = []
    with suppress(DataError):
        measured = [CellHeader.of(one) for one in stored_measurements(place) if one["answers"]]
    for pool, same in group_by(measured, lambda one: one.pool).items():
        columns, folder = same[0].columns, "" if name.startswith(PREFIX) else name
        about = (str(columns["dataset"]), str(columns["split"]))
        yield Measured(f"{name}/{pool}", title_of(same[0]), *about, folder, place, tuple(same))


def _read(one: Measured) -> SeedGroup:
    return SeedGroup(one.cells, tuple(rows_of(one.place, cell) for cell in one.cells))
