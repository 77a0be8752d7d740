"""The pictures that one measurement has right and another has not, straight from the lines of the rows."""

import json
from pathlib import Path


def won_pictures(first: list[Path], second: list[Path]) -> tuple[list[str], list[str], int]:
    """The pictures that only the ``first`` cells (one per seed) have right, those that only the ``second`` have, and how many
    both have; with several seeds, right under a larger share of them."""
    mine, theirs = _counts(first), _counts(second)
    won, lost, both = [], [], 0
    for picture in sorted(mine.keys() & theirs.keys()):
        both += 1
        # a / b > c / d without rounding
        ahead = mine[picture][0] * theirs[picture][1] - theirs[picture][0] * mine[picture][1]
        if ahead > 0:
            won.append(picture)
        if ahead < 0:
            lost.append(picture)
    return won, lost, both


def _counts(cells: list[Path]) -> dict[str, tuple[int, int]]:
    """Picture -> (right answers, answers)."""
    found: dict[str, tuple[int, int]] = {}
    for cell in cells:
        for line in (cell / "rows.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            right, asked = found.get(row["picture"], (0, 0))
            found[row["picture"]] = (right + (row["answer"] == row["label"]), asked + 1)
    return found
