"""Tables that a person opens in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Sequence

FORMULA = ("=", "+", "-", "@")  # how a text begins that a spreadsheet would run


def csv_bytes(rows: Iterable[Sequence[object]]) -> bytes:
    """Rows as CSV; None is an empty field, and a text that a spreadsheet would run gets an apostrophe in front."""
    text = io.StringIO()
    for row in rows:
        cells = [f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in row]
        csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def text_of(cell: str) -> str:
    """The text that :func:`csv_bytes` wrote into a cell."""
    return cell[1:] if cell.startswith(tuple(f"'{sign}" for sign in FORMULA)) else cell
