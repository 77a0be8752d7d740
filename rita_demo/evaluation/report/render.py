"""Tables of plain text as markdown or LaTeX."""

import csv
import io
import unicodedata
from collections.abc import Mapping, Sequence

from rita_demo.evaluation.report.tables import NOTES, Table

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


def as_markdown(tables: Sequence[Table], threats: Mapping[str, Sequence[str]], notes: Sequence[str] = NOTES) -> str:
    """The tables, the threat model of every attack once, and how to read the numbers."""
    parts = [f"### {table.title}\n\n{table_body(table)}" for table in tables]
    parts += ["### Threat models"] if threats else []
    parts += [f"**{attack}**\n\n" + "\n".join(f"- {one}" for one in said) for attack, said in threats.items()]
    return "\n\n".join([*parts, *(["### How to read these numbers"] if notes else []), *notes]) + "\n"


def table_body(table: Table) -> str:
    """One table as markdown, without its title."""
    return "\n\n".join(
        part for part in ("\n".join(table.above), markdown_rows(table.head, table.rows), *table.below) if part
    )


def markdown_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Head and rows as a markdown table."""
    every = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in every)


def as_latex(tables: Sequence[Table], threats: Mapping[str, Sequence[str]], notes: Sequence[str] = NOTES) -> str:
    r"""The same between ``\begin{document}`` and ``\end{document}``; plain ``pdflatex`` compiles it."""
    parts = []
    for number, table in enumerate(tables, start=1):
        parts.append(_latex_table(table))
        if number % TABLES_PER_PAGE_BREAK == 0:
            parts.append(r"\clearpage")
    parts += [rf"\textbf{{{escape(attack)}.}} {escape(' '.join(said))}" for attack, said in threats.items()]
    return "\n\n".join([*parts, *map(escape, notes)]) + "\n"


def as_files(table: Table) -> dict[str, str]:
    """One table as markdown, CSV and LaTeX, by the ending of a file."""
    cells = io.StringIO()
    csv.writer(cells, lineterminator="\n").writerows([table.head, *table.rows])
    return {"md": f"{table_body(table)}\n", "csv": cells.getvalue(), "tex": as_latex([table], {}, ())}


def _latex_table(table: Table) -> str:
    """One ``table`` environment; its sentences are notes under it."""
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{escape(table.title)}.}}",
            r"\scriptsize\setlength{\tabcolsep}{3pt}",
            r"\centerline{%",  # a table wider than the text stays centred
            rf"\begin{{tabular}}{{{'l' * (len(table.head) - 1)}p{{18mm}}}}",  # the settings may be long
            " & ".join(map(escape, table.head)) + r" \\ \hline",
            *(" & ".join(map(escape, row)) + r" \\" for row in table.rows),
            r"\end{tabular}}",
            rf"\par\footnotesize {escape(' '.join((*table.above, *table.below)))}",
            r"\end{table}",
        ]
    )


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
