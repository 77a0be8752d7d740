"""Pictures that were chosen by their names: inside a lasso, rows of a table, right in one run and wrong in another."""

from dataclasses import dataclass
from pathlib import Path

from rita_demo.process.text_file import read_text
from rita_demo.records.errors import DataError
from rita_demo.records.spreadsheet import read_columns, text_of, without_separator_line

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
    it, whatever separates its cells, or a name per line.

    Raises:
        DataError: the file cannot be read, or has no names.
    """
    try:
        text = read_text(path)
        tables = (read_columns(text, column) for column in PICTURE_COLUMNS)
        table = next((one for one in tables if one is not None), None)
    except OSError as error:
        raise DataError(f"The list of pictures {path.name!r} cannot be read.", "Name a text or CSV file.") from error
    except ValueError as error:
        raise DataError(
            f"The list of pictures {path.name!r} cannot be read: it is no text in UTF-8 or UTF-16, or a quote in it never "
            "ends.",
            "Save it as CSV in UTF-8.",
        ) from error
    if table is None:
        names = [line.strip() for line in without_separator_line(text)[0].splitlines()]
    else:
        names = [text_of(name) for (name,) in table]
    if not any(names):
        raise DataError(f"The list of pictures {path.name!r} is empty.", "Write one name per line.")
    return tuple(dict.fromkeys(name for name in names if name))
