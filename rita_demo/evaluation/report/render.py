"""Result rows as markdown, CSV or LaTeX."""

import unicodedata
from collections.abc import Sequence

from rita_demo.evaluation.report.paper_tables import paper_tables
from rita_demo.evaluation.report.results import COLUMNS, ResultRow
from rita_demo.evaluation.report.tables import NOTES, Table, measured_tables

PRINTED_MARKER = " (printed "  # in a cell, between the measured number and the paper's
PRINTED_NOTE = "In brackets below each number: what the paper prints in that table and cell."
TABLES_PER_PAGE_BREAK = 12  # LaTeX stops with an error when some fifty tables wait for a page

_SIGNS, _SIGN_NAMES = "×−±∞≤≥≠≈·→²°", r"\times - \pm \infty \leq \geq \neq \approx \cdot \to ^2 ^\circ"
_GREEK, _GREEK_NAMES = "αβγελμπρστω", r"\alpha \beta \gamma \varepsilon \lambda \mu \pi \rho \sigma \tau \omega"
#: One character -> LaTeX, applied in one pass so that no replacement is replaced again.
ESCAPES = {
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    **{sign: f"${name}$" for sign, name in zip(_SIGNS + _GREEK, f"{_SIGN_NAMES} {_GREEK_NAMES}".split())},
    **dict(zip("“”„‘’–—", ("``", "''", ",,", "`", "'", "--", "---"))),
    **dict(zip("ßæøłı", (r"\ss{}", r"\ae{}", r"\o{}", r"\l{}", r"\i{}"))),
    **dict(zip("\u00a0\u202f\u2009", ("~", r"\,", r"\,"))),
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "…": r"\dots{}",
    '"': "''",
    "[": "{[}",  # after \\ these two would be its options
    "*": "{*}",
}
#: Combining character -> LaTeX accent: grave, acute, circumflex, tilde, macron, breve, dot, diaeresis, ring, ...
ACCENTS = dict(zip("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327", "`'^~=u.\"rHvc"))


def latex_body(tables: Sequence[Table], notes: Sequence[str]) -> str:
    r"""The tables and the notes on all of them, to be put between ``\begin{document}`` and ``\end{document}``."""
    parts = []
    for number, table in enumerate(tables, start=1):
        parts.append(latex_table(table))
        if number % TABLES_PER_PAGE_BREAK == 0:
            parts.append(r"\clearpage")
    return "\n\n".join([*parts, *map(escape, notes)]) + "\n"


def latex_table(table: Table) -> str:
    """One ``table`` environment: the title is its caption; ``above`` (the threat model) and ``below`` are notes under it."""
    printed = any(PRINTED_MARKER in cell for row in table.rows for cell in row)
    notes = (*table.above, *((PRINTED_NOTE,) if printed else ()), *table.below)
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{escape(table.title)}.}}",
            r"\scriptsize\setlength{\tabcolsep}{3pt}",
            r"\centerline{%",  # a table wider than the text stays centred
            rf"\begin{{tabular}}{{{'l' * (len(table.head) - 1)}p{{18mm}}}}",  # the settings may be long
            " & ".join(map(escape, table.head)) + r" \\ \hline",
            *(" & ".join(map(_cell, row)) + r" \\" for row in table.rows),
            r"\end{tabular}}",
            rf"\par\footnotesize {escape(' '.join(notes))}",
            r"\end{table}",
        ]
    )


def _cell(text: str) -> str:
    """The paper's number goes below the measured one: side by side, nine datasets are wider than a page."""
    measured, marker, printed = text.partition(PRINTED_MARKER)
    return rf"\shortstack[l]{{{escape(measured)}\\({escape(printed)}}}" if marker else escape(text)


def escape(text: str) -> str:
    """Any text as LaTeX in ASCII; a character that needs a package becomes its code point, such as U+732B."""
    return "".join(_escape_character(sign) for sign in text)


def _escape_character(sign: str) -> str:
    if sign in ESCAPES:
        return ESCAPES[sign]
    if " " <= sign <= "~":
        return sign
    letter, *marks = list(unicodedata.normalize("NFKD", sign))
    if "!" <= letter <= "~" and len(marks) == 1 and marks[0] in ACCENTS:
        return rf"\{ACCENTS[marks[0]]}{{{letter}}}"
    return " " if sign.isspace() or not sign.isprintable() else f"U+{ord(sign):04X}"


def as_csv(rows: Sequence[ResultRow]) -> str:
    """One line per measured cell; ``n`` is the number of different pictures that the interval is of."""
    import pandas

    table = pandas.DataFrame([[getattr(row, name) for name in COLUMNS] for row in rows], columns=list(COLUMNS))
    return table.to_csv(index=False, float_format="%.2f", lineterminator="\n")


def as_markdown(rows: Sequence[ResultRow]) -> str:
    """One table per dataset, one per threat model, all datasets together, and the paper's tables with measured numbers."""
    parts = [f"### {table.title}\n\n{table_body(table)}" for table in measured_tables(rows)]
    if from_paper := paper_tables(rows):
        parts.append("## In the shape of the paper's tables")
        parts += [f"**{table.title}**\n\n{table_body(table)}" for table in from_paper]
        parts.append("## How to read these numbers")
    return "\n\n".join([*parts, *NOTES]) + "\n"


def as_latex(rows: Sequence[ResultRow]) -> str:
    """The tables of :func:`as_markdown` as LaTeX, the threat model as a note under each; plain ``pdflatex`` compiles it."""
    return latex_body([*measured_tables(rows), *paper_tables(rows)], NOTES)


FORMATS = {"markdown": as_markdown, "csv": as_csv, "latex": as_latex}


def table_body(table: Table) -> str:
    """One table as markdown, without its title."""
    rows = [table.head, ("---",) * len(table.head), *table.rows]
    lines = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return "\n\n".join(part for part in ("\n".join(table.above), lines, *table.below) if part)
