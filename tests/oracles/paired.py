"""A permutation test of two methods on the same pictures: they are exchanged on every subset of the pictures. Rows are
(picture, seed, right by one, right by the other). A picture is exchanged with all of its seeds."""

from itertools import product

Rows = list[tuple[str, int, bool, bool]]


def wins_and_losses(rows: Rows) -> tuple[int, int]:
    """Pictures that the first has right under more seeds than the other, and under fewer."""
    gained = lost = 0
    for picture in {row[0] for row in rows}:
        one = len([row for row in rows if row[0] == picture and row[2]])
        two = len([row for row in rows if row[0] == picture and row[3]])
        gained, lost = gained + (one > two), lost + (one < two)
    return gained, lost


def p_by_exchanging(rows: Rows) -> float:
    """The share of all exchanges with at least the observed difference."""
    gained, lost = wins_and_losses(rows)
    pictures = sorted({row[0] for row in rows})
    far = []
    for exchanged in product((False, True), repeat=len(pictures)):
        swap = dict(zip(pictures, exchanged))
        there = [(p, s, b, a) if swap[p] else (p, s, a, b) for p, s, a, b in rows]
        one, two = wins_and_losses(there)
        far.append(abs(one - two) >= abs(gained - lost))
    return sum(far) / len(far)
