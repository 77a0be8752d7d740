"""Print the lecture's plan, slide by slide: ``python -m tools.story.lecture``. What is said stands in docs/teaching.md."""

import argparse
from collections.abc import Sequence
from itertools import accumulate

from rita_demo.ui.story.notes import clock, lecture


def main(args: Sequence[str] | None = None) -> None:
    """A row for each slide: how long it takes, when it ends, what is done."""
    argparse.ArgumentParser(prog="python -m tools.story.lecture", description=__doc__).parse_args(args)
    ends = accumulate(note.seconds for note in lecture())
    rows = [(note.title, clock(note.seconds), clock(end), note.does) for note, end in zip(lecture(), ends, strict=True)]
    for title, time, end, does in [("slide", "time", "ends", "do"), *rows]:
        print(f"{title:40}{time:>6}{end:>8}  {does}")


if __name__ == "__main__":
    main()
