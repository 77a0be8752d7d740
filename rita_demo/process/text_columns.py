"""Aligned columns of text for the terminal."""

from collections.abc import Sequence


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of equal length as aligned text; numbers (cells that start with a digit) to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width) for cell, width in zip(row, widths)
        ).rstrip()
        for row in rows
    ]
