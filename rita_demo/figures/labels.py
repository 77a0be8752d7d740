"""Class names, sentences and legends as text for Plotly.

Plotly renders a subset of HTML, including links, in every label and hover text, so user input is escaped. Control
characters and direction overrides are removed. No user input enters a template: names are passed as ``customdata``.
"""

import html
import unicodedata
from collections.abc import Iterable

from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.theme import CLASS_STYLES, COLOURS
from rita_demo.records import Run

_DIRECTIONS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}


def printable(name: str) -> str:
    """The name on one line, without control and direction characters."""
    joined = " ".join(str(name).split())
    kept = (c for c in joined if unicodedata.category(c) not in ("Cc", "Cs"))
    return "".join(c for c in kept if ord(c) not in _DIRECTIONS)


def truncated(name: str, letters: int) -> str:
    """At most ``letters`` characters, the last an ellipsis if some are missing. Not escaped."""
    line = printable(name)
    if len(line) <= letters:
        return line
    return line[: max(letters - 1, 1)].rstrip(" \u200d\ufe0f") + "…"


def escaped(name: str, letters: int = 120) -> str:
    """A name for a label or hover text: escaped, at most ``letters`` characters before escaping."""
    return html.escape(truncated(name, letters), quote=False)


def percent(share: float, digits: int = 0) -> str:
    """A share in [0, 1] as ``"91 %"``; "100 %" and "0 %" only for exactly 1 and 0."""
    value = 100 * float(share)
    shown = f"{value:.{digits}f}"
    if float(shown) >= 100 > value:
        return f"> {100 - 10.0**-digits:.{digits}f} %"
    if float(shown) == 0 < value:
        return f"< {10.0**-digits:.{digits}f} %"
    return f"{shown} %"


def reference_tag(run: Run) -> str:
    """The tag of the reference class: ``true`` if a label was given, else ``assumed``."""
    return "true" if run.label_given else "assumed"


def reference_class(run: Run) -> str:
    """The name of the reference class in sentences."""
    return "the true class" if run.label_given else "CLIP’s first answer"


def sides_of(run: Run) -> list[str]:
    """Clean and attacked, or clean alone without an attack."""
    return ["clean", "attacked"] if run.attack is not None else ["clean"]


def legend_entry(colour: str, mark: str, words: str) -> str:
    """An entry of a figure's legend: the mark in its colour and its meaning."""
    return f'<span style="color:{colour}">{mark}</span>\u00a0{words}'


def legend(entries: Iterable[tuple[str, str, str]]) -> str:
    """A legend of entries (role in the palette or colour, mark, meaning)."""
    return "   ".join(legend_entry(COLOURS.get(colour, colour), mark, words) for colour, mark, words in entries)


def method_colour(name: str) -> str:
    """The colour of a defence; one without a role in the palette (a user's own) gets the next of the class colours, and one
    that is not loaded the one after them."""
    if name in DEFENCES and (role := DEFENCES[name].role):
        return COLOURS[role]
    plugins = [*(other.name for other in DEFENCES.values() if not other.role), name]
    return CLASS_STYLES[plugins.index(name) % len(CLASS_STYLES)][0]
