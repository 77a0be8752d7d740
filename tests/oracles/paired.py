"""Whether two methods differ on the same pictures, by exchanging them on every subset of the pictures.

Rows are (picture, seed, right by one, right by the other). Were the methods alike, nobody could tell after
exchanging them on a picture, under all of its seeds at once.
"""

from __future__ import annotations

from itertools import product

Rows = list[tuple[str, int, bool, bool]]


def votes(rows: Rows) -> tuple[int, int]:
    """Pictures that the first has right under more seeds than the other, and under fewer."""
    gained = lost = 0
    for picture in {row[0] for row in rows}:
        one = len([row for row in rows if row[0] == picture and row[2]])
        two = len([row for row in rows if row[0] == picture and row[3]])
        gained, lost = gained + (one > two), lost + (one < two)
    return gained, lost


def p_by_exchanging(rows: Rows) -> float:
    """The share of all exchanges after which the votes are at least as uneven as they are."""
    gained, lost = votes(rows)
    pictures = sorted({row[0] for row in rows})
    far = []
    for exchanged in product((False, True), repeat=len(pictures)):
        swap = dict(zip(pictures, exchanged))
        there = [(p, s, b, a) if swap[p] else (p, s, a, b) for p, s, a, b in rows]
        one, two = votes(there)
        far.append(abs(one - two) >= abs(gained - lost))
    return sum(far) / len(far)
