"""Result rows as markdown, CSV or LaTeX."""

import csv
import io
from collections.abc import Sequence

from rita_demo.evaluation.report import latex
from rita_demo.evaluation.report.paper_tables import paper_tables
from rita_demo.evaluation.report.results import COLUMNS, ResultRow
from rita_demo.evaluation.report.tables import NOTES, Table, measured_tables


def as_csv(rows: Sequence[ResultRow]) -> str:
    """One line per measured cell; ``n`` is the number of different pictures that the interval is of."""
    text = io.StringIO()
    values = [[getattr(row, name) for name in COLUMNS] for row in rows]
    lines = [[f"{v:.2f}" if isinstance(v, float) else v for v in line] for line in values]
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *lines])
    return text.getvalue()


def as_markdown(rows: Sequence[ResultRow]) -> str:
    """One table per dataset, one per threat model, all datasets together, and the paper's tables with measured numbers."""
    parts = [f"### {table.title}\n\n{table_body(table)}" for table in measured_tables(rows)]
    if from_paper := paper_tables(rows):
        parts.append("## In the shape of the paper's tables")
        parts += [f"**{table.title}**\n\n{table_body(table)}" for table in from_paper]
        parts.append("## How to read these numbers")
    return "\n\n".join([*parts, *NOTES]) + "\n"


def as_latex(rows: Sequence[ResultRow]) -> str:
    """The same tables as LaTeX, the threat model as a note under each; plain ``pdflatex`` compiles it."""
    return latex.latex_body([*measured_tables(rows), *paper_tables(rows)], NOTES)


FORMATS = {"markdown": as_markdown, "csv": as_csv, "latex": as_latex}


def table_body(table: Table) -> str:
    """One table as markdown, without its title."""
    rows = [table.head, ("---",) * len(table.head), *table.rows]
    lines = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return "\n\n".join(part for part in ("\n".join(table.above), lines, *table.below) if part)
