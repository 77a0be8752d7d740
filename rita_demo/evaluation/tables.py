"""Measured cells as markdown, csv or LaTeX. Lines come from ``lines``, what is shown from ``sheets``."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from rita_demo.errors import SettingError
from rita_demo.evaluation import latex
from rita_demo.evaluation.lines import COLUMNS, Line, lines
from rita_demo.evaluation.shaped import shaped_sheets
from rita_demo.evaluation.sheets import ABOUT, Sheet, measured_sheets

__all__ = ["COLUMNS", "Line", "as_csv", "as_latex", "as_markdown", "lines", "render"]


def render(found: Sequence[Line], form: str) -> str:
    """The lines as ``markdown``, ``csv`` or ``latex``."""
    if form not in FORMATS:
        raise SettingError(f"The format is one of {', '.join(FORMATS)}; got {form[:40]!r}.")
    return FORMATS[form](found)


def as_csv(found: Sequence[Line]) -> str:
    """Exactly the contract's columns; ``n`` is the number of different pictures that the interval is of."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([COLUMNS, *(line.columns() for line in found)])
    return text.getvalue()


def as_markdown(found: Sequence[Line]) -> str:
    """One table per dataset and threat model, which stands above it; all datasets together; and what was measured in
    the shape of the paper's tables, beside what is printed there."""
    parts = [f"### {sheet.title}\n\n{_body(sheet)}" for sheet in measured_sheets(found)]
    if shaped := shaped_sheets(found):
        parts.append("## In the shape of the paper's tables")
        parts += [f"**{sheet.title}**\n\n{_body(sheet)}" for sheet in shaped]
        parts.append("## How to read these numbers")
    return "\n\n".join([*parts, *ABOUT]) + "\n"


def as_latex(found: Sequence[Line]) -> str:
    """The same tables as LaTeX ``tabular``, the threat model in the caption; plain ``pdflatex`` takes it."""
    return latex.document_part([*measured_sheets(found), *shaped_sheets(found)], ABOUT)


FORMATS = {"markdown": as_markdown, "csv": as_csv, "latex": as_latex}


def _body(sheet: Sheet) -> str:
    rows = [sheet.head, ("---",) * len(sheet.head), *sheet.rows]
    table = "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows
    )
    return "\n\n".join(part for part in ("\n".join(sheet.above), table, *sheet.below) if part)
