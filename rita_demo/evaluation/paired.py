"""Whether one method really answers better than another on the very same pictures (McNemar 1947).

Two intervals that overlap say little: the same pictures are hard for both. What counts is the pictures on
which exactly one of the two is right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scipy.stats import binomtest

Rows = Iterable[dict[str, Any]]


@dataclass(frozen=True)
class Paired:
    """``n`` pictures seen by both; ``gained`` only the first method has right, ``lost`` only the other.

    ``p``: two-sided exact probability of a split at least as uneven when each such picture could have
    gone either way; 1 when there is none.
    """

    n: int
    gained: int
    lost: int

    @property
    def difference(self) -> float:
        """Accuracy of the first minus that of the other, in points of 100."""
        return 100 * (self.gained - self.lost) / self.n

    @property
    def p(self) -> float:
        """See the class."""
        uneven = self.gained + self.lost
        return float(binomtest(self.gained, uneven).pvalue) if uneven else 1.0


def compare(mine: Rows, other: Rows) -> Paired | None:
    """Rows of two cells, matched by the attacked picture: file, seed and what the attack did to it.

    None: no picture in common.
    """
    theirs = {_key(row): bool(row["right"]) for row in other}
    both = [(bool(row["right"]), theirs[_key(row)]) for row in mine if _key(row) in theirs]
    if not both:
        return None
    gained = sum(one and not two for one, two in both)
    lost = sum(two and not one for one, two in both)
    return Paired(len(both), gained, lost)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["picture"], row["picture_seed"], row["linf"], row["l2"]
