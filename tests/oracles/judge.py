"""The rule of ``judge``, sentence by sentence: loops over rows, and the test by counting every way the pictures can fall."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any


def verdict(
    rows: Iterable[Mapping[str, Any]], mine: str, level: float, masked: bool
) -> tuple[str, dict[str, dict[str, Fraction]]]:
    """The outcome, and picture -> method -> what is kept of it, of the pictures that all methods answer under all attacks."""
    rows = list(rows)
    methods = {row["method"] for row in rows} | {mine}
    attacks = {row["attack"] for row in rows}
    kept: dict[str, dict[str, Fraction]] = {}
    for picture in sorted({row["picture"] for row in rows}):
        shares: dict[str, Fraction] = {}
        for method in methods:
            least = Fraction(1)
            for attack in attacks:
                answers = [
                    row["right"]
                    for row in rows
                    if (row["picture"], row["method"], row["attack"]) == (picture, method, attack)
                ]
                if not answers:
                    break
                least = min(least, Fraction(sum(answers), len(answers)))
            else:
                shares[method] = least
        if shares.keys() == methods:
            kept[picture] = shares
    if not kept:
        return "cannot be judged", kept
    more, fewer = [], []
    for other in ("clip", "ensemble"):
        gained = sum(one[mine] > one[other] for one in kept.values())
        lost = sum(one[mine] < one[other] for one in kept.values())
        sure = chance(gained, lost) < level
        more.append(sure and gained > lost)
        fewer.append(sure and gained < lost)
    if any(fewer):
        return "a loss shows", kept
    if all(more):
        return "a gain is not counted" if masked else "a gain shows", kept
    return "no gain shows", kept


def chance(gained: int, lost: int) -> float:
    """How often as many or more of fair coins fall on one side, whichever: all throws are listed."""
    n = gained + lost
    far = sum(max(sum(throw), n - sum(throw)) >= max(gained, lost) for throw in product((0, 1), repeat=n))
    return far / 2**n
