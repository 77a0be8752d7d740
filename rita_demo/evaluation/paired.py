"""Whether one method really answers better than another on the very same pictures (McNemar 1947).

Two intervals that overlap say little: the same pictures are hard for both. What counts is the pictures on
which exactly one of the two is right.

A picture counts once, however many seeds it was asked under: its answers under two seeds are not two
independent ones. It is gained when the first method has it right under more seeds than the other, lost when
under fewer, and says nothing when under as many. Were the two methods alike, exchanging them on a picture
under all seeds at once would change nothing, so that each such picture could have gone either way and the
exact test of McNemar holds as it stands; with one seed it is McNemar's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scipy.stats import binomtest

Rows = Iterable[dict[str, Any]]


@dataclass(frozen=True)
class Paired:
    """``n`` different pictures seen by both; ``gained`` the first method has right under more seeds,
    ``lost`` the other (with one seed: which only the first, only the other has right).

    ``ahead``: summed over the pictures, the share of seeds under which the first is right minus that of the
    other (None: one seed, gained - lost). ``other``: what the other one is, where it is not what was asked for.
    ``p``: two-sided exact probability of a split at least as uneven when each such picture could have
    gone either way; 1 when there is none.
    """

    n: int
    gained: int
    lost: int
    ahead: float | None = None
    other: str = ""

    @property
    def total(self) -> float:
        """``ahead``, in numbers."""
        return self.gained - self.lost if self.ahead is None else self.ahead

    @property
    def difference(self) -> float:
        """Accuracy of the first minus that of the other, in points of 100."""
        return 100 * self.total / self.n

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
    seen: dict[str, list[int]] = {}  # picture -> one less the other, -1, 0 or 1 per seed
    for row in mine:
        if (key := _key(row)) in theirs:
            seen.setdefault(row["picture"], []).append(bool(row["right"]) - theirs[key])
    if not seen:
        return None
    leads = [sum(found) for found in seen.values()]
    gained, lost = sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads)
    if all(len(found) == 1 for found in seen.values()):
        return Paired(len(seen), gained, lost)
    return Paired(len(seen), gained, lost, sum(sum(one) / len(one) for one in seen.values()))


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["picture"], row["picture_seed"], row["linf"], row["l2"]
