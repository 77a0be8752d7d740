"""Class names and sentences as Plotly may draw them.

Plotly reads a subset of HTML in every label and hover text (also links), so a name that
a stranger typed is escaped; control characters and direction overrides would disturb the
rest of a line and go.  Nothing typed ever enters a template: names travel as ``customdata``.
"""

from __future__ import annotations

import html
import unicodedata

from rita_demo.records import Story

_DIRECTIONS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
MOST_LETTERS = 120  # of a name in a hover text


def clean(name: str) -> str:
    """One line of printable text: white space joined, control and direction characters gone."""
    joined = " ".join(str(name).split())
    kept = (c for c in joined if unicodedata.category(c) not in ("Cc", "Cs"))
    return "".join(c for c in kept if ord(c) not in _DIRECTIONS)


def cut(name: str, letters: int) -> str:
    """At most ``letters`` characters; an ellipsis stands for what is missing. Not escaped."""
    line = clean(name)
    if len(line) <= letters:
        return line
    return line[: max(letters - 1, 1)].rstrip(" \u200d\ufe0f") + "…"


def safe(name: str, letters: int = MOST_LETTERS) -> str:
    """A name for a label or hover text: escaped, at most ``letters`` characters before escaping."""
    return html.escape(cut(name, letters), quote=False)


def short(name: str, letters: int = 18) -> str:
    """A name for an axis: cut and escaped. The full one belongs in the hover text."""
    return safe(name, letters)


def percent(share: float, digits: int = 0) -> str:
    """A share in [0, 1] as ``"91 %"``; never "100 %" or "0 %" for what only rounds to it."""
    value = 100 * float(share)
    shown = f"{value:.{digits}f}"
    if float(shown) >= 100 > value:
        return f"> {100 - 10.0**-digits:.{digits}f} %"
    if float(shown) == 0 < value:
        return f"< {10.0**-digits:.{digits}f} %"
    return f"{shown} %"


def right_tag(story: Story) -> str:
    """The word beside the class that counts as right: nobody may have said what the picture shows."""
    return "true" if story.label_given else "assumed"


def right_class(story: Story) -> str:
    """What counts as right, in words."""
    return "the true class" if story.label_given else "CLIP’s first answer"


def sides_of(story: Story) -> list[str]:
    """Clean and attacked, or clean alone when nothing was attacked."""
    return ["clean", "attacked"] if story.attack is not None else ["clean"]
