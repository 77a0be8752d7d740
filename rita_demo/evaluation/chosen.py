"""Pictures that were chosen by their names: inside a lasso, rows of a table, right in one run and wrong in another."""

import csv
from dataclasses import dataclass
from pathlib import Path

from rita_demo.process.text_file import read_text
from rita_demo.records.errors import DataError
from rita_demo.records.spreadsheet import text_of

PICTURE_COLUMNS = ("file", "picture")  # of a CSV file: the first of them that it has


@dataclass(frozen=True)
class ChosenPictures:
    """``ids``: names of pictures of one dataset, without a double; ``names``: the class names that they are asked among,
    () for the dataset's own; ``place``: the dataset, or its folder below the data folder.

    Raises:
        DataError: no picture is chosen.
    """

    ids: tuple[str, ...]
    names: tuple[str, ...] = ()
    place: str = ""

    def __post_init__(self) -> None:
        if not self.ids:
            raise DataError("No pictures are chosen.", "Choose at least one.")


def read_pictures(path: Path) -> tuple[str, ...]:
    """The names of pictures in a file: the column ``file`` or ``picture`` of a CSV file, as the page and ``compare`` write
    it, or a name per line.

    Raises:
        DataError: the file cannot be read, or has no names.
    """
    try:
        lines = [line for line in read_text(path).splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(f"The list of pictures {path.name!r} cannot be read.", "Name a text or CSV file.") from error
    head = next(csv.reader(lines[:1]), [])
    column = next((name for name in PICTURE_COLUMNS if name in head), None)
    names = (
        [text_of(row.get(column) or "") for row in csv.DictReader(lines)]
        if column
        else [line.strip() for line in lines]
    )
    if not any(names):
        raise DataError(f"The list of pictures {path.name!r} is empty.", "Write one name per line.")
    return tuple(dict.fromkeys(name for name in names if name))
