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
