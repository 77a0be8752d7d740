"""A table of text as markdown, CSV or LaTeX."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

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


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_markdown(frame: DataFrame) -> str:
    """The columns of a frame as a markdown table."""
    return markdown(list(frame), frame.to_numpy().tolist())


def as_latex(frame: DataFrame) -> str:
    """A ``tabular`` with booktabs' rules: the first column to the left, the others centred. Cells are LaTeX already; column
    names are escaped here, and of several levels the first spans its columns."""
    from pandas import MultiIndex

    heads = [tuple(map(escape, [name] if isinstance(name, str) else name)) for name in frame.columns]
    columns = MultiIndex.from_tuples(heads) if len(heads[0]) > 1 else [head[0] for head in heads]
    style = frame.set_axis(columns, axis=1).style.hide(axis="index")
    return style.to_latex(hrules=True, multicol_align="c", column_format="l" + "c" * (frame.shape[1] - 1)).rstrip()


def as_files(frame: DataFrame) -> dict[str, str]:
    """A frame of plain text by the ending of a file."""
    table = {"md": f"{as_markdown(frame)}\n", "csv": frame.to_csv(index=False, lineterminator="\n")}
    return table | {"tex": f"{as_latex(frame.map(escape))}\n"}


def escape(text: str) -> str:
    """Any text as LaTeX in ASCII; a character that needs a package becomes its code point, such as U+732B."""
    signs = []
    for sign in text:
        letter, *marks = list(unicodedata.normalize("NFKD", sign))
        if sign in ESCAPES:
            signs.append(ESCAPES[sign])
        elif " " <= sign <= "~":
            signs.append(sign)
        elif "!" <= letter <= "~" and len(marks) == 1 and marks[0] in ACCENTS:
            signs.append(rf"\{ACCENTS[marks[0]]}{{{letter}}}")
        else:
            signs.append(" " if sign.isspace() or not sign.isprintable() else f"U+{ord(sign):04X}")
    return "".join(signs)
