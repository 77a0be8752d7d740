"""Tables of text as LaTeX that plain ``pdflatex`` takes: pure ASCII, no packages."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rita_demo.evaluation.sheets import Sheet

PRINTED = " (printed "  # between what was measured and what the paper prints, in one cell
IN_BRACKETS = "In brackets below each number: what the paper prints in that table and cell."
FLOATS = 12  # tables LaTeX is asked to keep in mind at once; it gives up at some fifty
#: One character -> LaTeX. One pass over the text, so that no replacement is replaced again.
SIGNS = {
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
    "[": "{[}", "*": "{*}",  # after \\ they would be its options
    "“": "``", "”": "''", "„": ",,", "‘": "`", "’": "'", "–": "--", "—": "---", "…": r"\dots{}",
    "×": r"$\times$", "−": "$-$", "±": r"$\pm$", "∞": r"$\infty$", "≤": r"$\leq$", "≥": r"$\geq$",
    "≈": r"$\approx$", "·": r"$\cdot$", "→": r"$\to$", "²": "$^2$", "°": r"$^\circ$",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "ε": r"$\varepsilon$", "λ": r"$\lambda$",
    "μ": r"$\mu$", "π": r"$\pi$", "ρ": r"$\rho$", "σ": r"$\sigma$", "τ": r"$\tau$", "ω": r"$\omega$",
    "ß": r"\ss{}", "æ": r"\ae{}", "ø": r"\o{}", "ł": r"\l{}", "ı": r"\i{}",
    "\u00a0": "~", "\u202f": r"\,", "\u2009": r"\,",
}  # fmt: skip
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip


def document_part(sheets: Sequence[Sheet], about: Sequence[str]) -> str:
    """The tables in a row and the sentences about all of them: what goes between ``\\begin{document}`` and
    ``\\end{document}``."""
    parts = []
    for number, sheet in enumerate(sheets, start=1):
        parts.append(table(sheet))
        if number % FLOATS == 0:
            parts.append(r"\clearpage")
    return "\n\n".join([*parts, *(tex(sentence) for sentence in about)]) + "\n"


def table(sheet: Sheet) -> str:
    """One ``table``; what stands above is its caption, what stands below is small."""
    printed = any(PRINTED in cell for row in sheet.rows for cell in row)
    caption = " ".join((f"{sheet.title}.", *sheet.above, *((IN_BRACKETS,) if printed else ())))
    rows = [" & ".join(_cell(cell) for cell in row) + r" \\" for row in sheet.rows]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{tex(caption)}}}",
            r"\scriptsize\setlength{\tabcolsep}{3pt}",
            r"\centerline{%",  # wider than the text is, it leans out on both sides alike
            rf"\begin{{tabular}}{{{'l' * (len(sheet.head) - 1)}p{{18mm}}}}",  # settings may be many
            " & ".join(tex(name) for name in sheet.head) + r" \\ \hline",
            *rows,
            r"\end{tabular}}",
            *(rf"\par {tex(sentence)}" for sentence in sheet.below),
            r"\end{table}",
        ]
    )


def _cell(text: str) -> str:
    """What is printed goes below what was measured: beside it nine datasets would not fit on a page."""
    value, beside, printed = text.partition(PRINTED)
    if not beside:
        return tex(text)
    return rf"\shortstack[l]{{{tex(value)}\\({tex(printed)}}}"


def tex(text: str) -> str:
    """Any text as LaTeX in ASCII; a letter that LaTeX cannot write without packages by its number."""
    return "".join(_sign(sign) for sign in text)


def _sign(sign: str) -> str:
    if sign in SIGNS:
        return SIGNS[sign]
    if " " <= sign <= "~":
        return sign
    letter, *marks = list(unicodedata.normalize("NFKD", sign))
    if "!" <= letter <= "~" and len(marks) == 1 and marks[0] in ACCENTS:
        return rf"\{ACCENTS[marks[0]]}{{{letter}}}"
    return " " if sign.isspace() or not sign.isprintable() else f"U+{ord(sign):04X}"
