"""The measurements that the page can compare: every cell of the server's run folders and of the stored streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.evaluation import frames
from rita_demo.evaluation.measurement import Measurement
from rita_demo.evaluation.page.examples import PREFIX, STREAMS
from rita_demo.evaluation.page.stored_runs import run_names
from rita_demo.evaluation.page.streams import DataFolders
from rita_demo.evaluation.report.cells import CELL, answers_of, pooled
from rita_demo.evaluation.report.only_right import OnlyRight, cell_title, compare_cells
from rita_demo.evaluation.rows import Row, read_stream, stored_measurements
from rita_demo.records.errors import DataError

if TYPE_CHECKING:
    from pandas import Series

MAX_FOLDERS = 40  # the newest run folders


@dataclass(frozen=True)
class Measured:
    """A measurement that can be chosen. ``name`` identifies it on the page; ``place``: its folder, named in the menu unless it
    is ``stored`` with this project; ``cell``: its line of :func:`~rita_demo.evaluation.report.cells.pooled`."""

    name: str
    place: Path
    stored: bool
    cell: Series[Any]

    @property
    def title(self) -> str:
        return cell_title(self.cell)

    @property
    def dataset(self) -> str:
        return str(self.cell["dataset"])

    @property
    def text(self) -> str:
        """The line of this measurement in the menu."""
        where = "stored example" if self.stored else self.place.name
        return f"{self.dataset} {self.cell['split']}: {self.title}; {where}"


def known_measurements(folders: DataFolders) -> tuple[Measured, ...]:
    """The measurements of the run folders, newest folder first, then those of the stored streams; damaged ones are left
    out."""
    runs = (folders.runs / name for name in run_names(folders)[:MAX_FOLDERS])
    return (*_measured_in(runs, False), *_measured_in(sorted(STREAMS.iterdir()), True))


def _measured_in(places: Iterable[Path], is_stored: bool) -> Iterator[Measured]:
    for place in places:
        with suppress(DataError, OSError):
            for _, cell in pooled(frames.measurements(place)).iterrows():
                name = "/".join([PREFIX * is_stored + place.name, *(str(cell[column]) for column in CELL)])
                yield Measured(name, place, is_stored, cell)


def compare_measured(folders: DataFolders, first: str, second: str) -> OnlyRight:
    """Two of :func:`known_measurements` by their names (user input), on the pictures that both have.

    Raises:
        DataError: there is no such measurement, or no picture that both have.
    """
    one, other = (_find(folders, name) for name in (first, second))
    return compare_cells(one.cell, frames.read(one.place), other.cell, frames.read(other.place))


def _find(folders: DataFolders, name: str) -> Measured:
    for one in known_measurements(folders):
        if one.name == name:
            return one
    raise DataError("There is no such measurement here.", "Choose one from the list.")


def find_right(folders: DataFolders, name: str, picture: str) -> tuple[Measurement, Row]:
    """The first measurement of a cell (user input) that has a picture right, and the row.

    Raises:
        DataError: there is no such measurement, or it does not have the picture right.
    """
    one = _find(folders, name)
    answers = answers_of(one.cell, frames.read(one.place))
    right = answers[(answers["picture"] == picture) & answers["right"].astype(bool)]
    for number in frames.measurements(one.place)["id"].reindex(right["measurement"].head(1)):
        about = next(Measurement.of(found) for found in stored_measurements(one.place) if found["id"] == number)
        return about, next(row for row in read_stream(one.place, about.id) if row["picture"] == picture)
    raise DataError(f"The picture {picture[:80]!r} is not right in this run.", "Choose the runs again.")
