"""What the page reads of the server's run folders: points for figures, cells for the arena, and the measurements that it can
compare, those of the stored streams too. Nothing here writes, because another process may be writing to the run folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.data import shipped_results
from rita_demo.data.folders import read_folder
from rita_demo.evaluation import frames
from rita_demo.evaluation.measurement import Measurement
from rita_demo.evaluation.page.streams import PREFIX, STREAMS, DataFolders
from rita_demo.evaluation.report.cells import (
    CELL,
    answers_of,
    cells,
    points_of,
    pooled,
    read_points,
    records_of,
    run_times,
)
from rita_demo.evaluation.report.only_right import OnlyRight, cell_title, compare_cells
from rita_demo.evaluation.rows import FILE, Row, read_stream, stored_measurements
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import AblationPoint, RunTime

if TYPE_CHECKING:
    from pandas import Series

SHIPPED = ""  # the name that stands for the measurements shipped with this copy
MAX_FOLDERS = 40  # the newest run folders


def run_names(folders: DataFolders) -> tuple[str, ...]:
    """Names of the run folders, newest first."""
    try:
        places = [folders.runs / name for name in read_folder(folders.runs).folders]
        places = [place for place in places if (place / FILE).is_file()]
        places.sort(key=lambda place: -(place / FILE).stat().st_mtime)
    except OSError:  # missing, or not readable
        return ()
    return tuple(place.name for place in places)


def measured_points(folders: DataFolders, run: str) -> tuple[tuple[AblationPoint, ...], tuple[RunTime, ...]]:
    """The measured points of a run folder and the times of its methods, or with ``run`` = ``SHIPPED`` the points
    shipped with this copy, which have no times. Raises DataError: ``run`` is not one of :func:`run_names` (it is user
    input), or is damaged."""
    if run == SHIPPED:
        try:
            return read_points(shipped_results.ABLATIONS), ()
        except DataError:  # the tab opens in spite of a damaged file
            return (), ()
    table = cells(_run_folder(folders, run))
    return points_of(table), run_times(table)


def arena_cells(folders: DataFolders, run: str) -> tuple[MeasuredCell, ...]:
    """The finished cells of a run folder under the recommended settings and without memory, or with ``run`` =
    ``SHIPPED`` those shipped with this copy. Raises DataError: as :func:`measured_points`."""
    if run == SHIPPED:
        try:
            return shipped_results.read(shipped_results.ARENA)
        except DataError:
            return ()
    table = cells(_run_folder(folders, run))
    return records_of(table[table["finished"] & (table["special"] == "") & (table["protocol"] == "off")])


def _run_folder(folders: DataFolders, run: str) -> Path:
    if run not in run_names(folders):
        raise DataError(f"There is no run {str(run)[:60]!r}.", "Choose one from the list.")
    return folders.runs / run


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
    """Two of :func:`known_measurements` by their names (user input), on the pictures that both have. Raises DataError:
    there is no such measurement, or no picture that both have."""
    mine, other = (_find(folders, name) for name in (first, second))
    return compare_cells(mine.cell, frames.read(mine.place), other.cell, frames.read(other.place))


def _find(folders: DataFolders, name: str) -> Measured:
    for measured in known_measurements(folders):
        if measured.name == name:
            return measured
    raise DataError("There is no such measurement here.", "Choose one from the list.")


def find_right(folders: DataFolders, name: str, picture: str) -> tuple[Measurement, Row]:
    """The first measurement of a cell (user input) that has a picture right, and the row. Raises DataError: there is no
    such measurement, or it does not have the picture right."""
    measured = _find(folders, name)
    place, answers = measured.place, answers_of(measured.cell, frames.read(measured.place))
    right = answers[(answers["picture"] == picture) & answers["right"].astype(bool)]
    if right.empty:
        raise DataError(f"The picture {picture[:80]!r} is not right in this run.", "Choose the runs again.")
    number = frames.measurements(place)["id"][right["measurement"].iloc[0]]
    about = next(Measurement.of(line) for line in stored_measurements(place) if line["id"] == number)
    return about, next(row for row in read_stream(place, about.id) if row["picture"] == picture)
