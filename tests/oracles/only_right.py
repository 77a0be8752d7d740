"""The pictures that one measurement has right and another has not, counted row by row."""

from collections.abc import Iterable

Answers = Iterable[tuple[str, str, str]]  # picture, answer, true class


def won_pictures(first: Answers, second: Answers) -> tuple[list[str], list[str], int]:
    """The pictures that only the ``first`` answers (of all seeds) have right, those that only the ``second`` have, and how many
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


def _counts(answers: Answers) -> dict[str, tuple[int, int]]:
    """Picture -> (right answers, answers)."""
    found: dict[str, tuple[int, int]] = {}
    for picture, answer, label in answers:
        right, asked = found.get(picture, (0, 0))
        found[picture] = (right + (answer == label), asked + 1)
    return found
