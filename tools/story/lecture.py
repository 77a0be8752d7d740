"""Print the lecture's plan and notes as docs/teaching.md has them: ``python -m tools.story.lecture``."""

from itertools import accumulate
from textwrap import wrap

from rita_demo.ui.story.notes import LECTURE, clock, deeds

WIDTH = 156  # letters of a line


def lecture() -> str:
    """Markdown: a row for each slide, then what is said on it."""
    ends = [*accumulate(note.seconds for note in LECTURE.values())]
    rows = [
        f"| {note.title} | {clock(note.seconds)} | {clock(end)} | {deeds(note)} |"
        for note, end in zip(LECTURE.values(), ends, strict=True)
    ]
    table = "\n".join(["| slide | time | ends at | do |", "|---|---|---|---|", *rows])
    ended = {name: note.title if note.title.endswith("?") else f"{note.title}." for name, note in LECTURE.items()}
    said = ["\n".join(wrap(f"**{ended[name]}** {note.says}", WIDTH)) for name, note in LECTURE.items()]
    return "\n\n".join([table, *said])


if __name__ == "__main__":
    print(lecture())
