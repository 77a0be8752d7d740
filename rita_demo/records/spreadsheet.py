"""Tables as text: those that a person opens in a spreadsheet, or saved from one, and those of the terminal."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

SEPARATORS = ",;\t|"  # between cells; a spreadsheet takes the one of its language, and tabs in "Unicode text"
_SEPARATOR_LINE = re.compile(r'\A\s*"?sep=(.)"?[^\S\n]*(?:\n|\Z)', re.IGNORECASE)  # Excel's, above the table
FORMULA = ("=", "+", "-", "@")  # how a text begins that a spreadsheet would run


def csv_bytes(rows: Iterable[Sequence[object]]) -> bytes:
    """Rows as CSV; None is an empty field, and a text that a spreadsheet would run gets an apostrophe in front."""
    text = io.StringIO()
    for row in rows:
        cells = [f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in row]
        csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def read_columns(text: str, *columns: str) -> list[tuple[str, ...]] | None:
    """The cells of these columns in every row that is not blank; None where the first row does not name them all.

    ``text``: lines that end with line feeds, cells between one of ``SEPARATORS`` or what a first line ``sep=`` says. In
    a column's name, capitals, spaces around it and byte order marks do not count. A cell that is missing is "". Raises
    ValueError: no table, such as one with a quote that never ends."""
    text, separators = without_separator_line(text)
    first = next((line for line in text.split("\n") if line.strip(SEPARATORS + " ")), "")
    try:
        for separator in sorted(separators, key=first.count, reverse=True):
            # a space behind a separator is of the cell, unless the first row is written that way
            form: dict[str, Any] = {"delimiter": separator, "skipinitialspace": f"{separator} " in first}
            cells = next(csv.reader([first.replace("\ufeff", "")], **form), [])
            head = [cell.strip().casefold() for cell in cells]
            if all(name in head for name in columns):
                places = [head.index(name) for name in columns]
                rows = [row for row in csv.reader(io.StringIO(text, ""), **form) if "".join(row).strip()][1:]
                return [tuple("".join(row[at : at + 1]) for at in places) for row in rows]
    except csv.Error as error:
        raise ValueError(str(error)) from error
    return None


def without_separator_line(text: str) -> tuple[str, str]:
    """The text without a first line such as ``sep=;``, and the separator that it says, else all ``SEPARATORS``."""
    text = text.lstrip("\ufeff")
    line = _SEPARATOR_LINE.match(text)
    return (text[line.end() :], line[1]) if line else (text, SEPARATORS)


def text_of(cell: str) -> str:
    """The text that :func:`csv_bytes` wrote into a cell."""
    return cell[1:] if cell.startswith(tuple(f"'{sign}" for sign in FORMULA)) else cell


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of equal length as aligned text for the terminal; numbers (cells that start with a digit) to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = ((c.rjust(w) if c[:1].isdigit() else c.ljust(w) for c, w in zip(row, widths)) for row in rows)
    return ["  ".join(cells).rstrip() for cells in aligned]
