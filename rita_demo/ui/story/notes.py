"""The lecture (``?lecture``): what a presenter does and says on each slide, read from docs/teaching.md, and how long it
takes."""

import re
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from rita_demo.process.assets import HOME

FILE = HOME / "docs" / "teaching.md"
CHAPTER = "## A lecture of fifteen minutes\n"
WORDS_PER_MINUTE = 100  # to a room
PAUSE = 25  # seconds of pauses on each slide


@dataclass(frozen=True)
class Note:
    """One slide. ``title``: its heading (the first slide has another one); ``does``: what is pressed or asked, with the
    seconds that it takes; ``shows``: sentences that stand on the slide itself; ``says``: the spoken words."""

    title: str
    does: str
    shows: tuple[str, ...]
    says: str

    @property
    def seconds(self) -> float:
        deeds = sum(map(int, re.findall(r"\((\d+) s\)", self.does)))
        return PAUSE + deeds + 60 * len(self.says.split()) / WORDS_PER_MINUTE


@cache
def lecture() -> tuple[Note, ...]:
    """The slides in order: a ``###`` heading each, a line in italics, numbered sentences, and what is said."""
    chapter = FILE.read_text("utf-8").partition(CHAPTER)[2].partition("\n## ")[0]
    return tuple(map(_note, chapter.split("\n### ")[1:]))


def _note(text: str) -> Note:
    title, does, *rest = (re.sub(r"\s+", " ", part).strip() for part in re.split(r"\n+(?=\d\. )|\n\n+|\n(?=\*)", text))
    shows = [part[3:] for part in rest if re.match(r"\d\. ", part)]
    return Note(title, does.strip("*"), tuple(shows), " ".join(part for part in rest if part and part[3:] not in shows))


def notes_by_slide() -> list[dict[str, Any]]:
    """The same for the browser, with the time when each slide ends if all of them are shown."""
    ends = accumulate(note.seconds for note in lecture())
    return [
        {"title": note.title, "does": note.does, "shows": note.shows, "says": note.says, "ends": clock(end)}
        for note, end in zip(lecture(), ends, strict=True)
    ]


def clock(seconds: float) -> str:
    """Minutes and seconds: 95 -> "1:35"."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"
