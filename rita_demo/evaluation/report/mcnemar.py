"""McNemar's exact test (1947): does one method answer better than another on the same pictures?

Overlapping confidence intervals say little, because the same pictures are hard for both methods. The test uses the
pictures on which exactly one of the two is right.

With several seeds a picture still counts once, because its answers under two seeds are not independent. It is gained
when the first method is right under more seeds than the other, lost when under fewer. If the methods were equally
good, exchanging them on a picture under all seeds would change nothing, so each such picture goes either way with
probability 1/2 and the exact test holds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rita_demo.evaluation.grouping import group_by

Rows = Iterable[dict[str, Any]]


@dataclass(frozen=True)
class PairedComparison:
    """Two methods on the same ``n`` pictures: ``gained`` by the first one, ``lost`` to the other.

    ``seed_weighted_gain``: sum over the pictures of (share of seeds under which the first is right - that of the
    other); None with one seed, where it is gained - lost. ``reference``: how the other method differs from the
    requested reference, "" if it does not.
    """

    n: int
    gained: int
    lost: int
    seed_weighted_gain: float | None = None
    reference: str = ""

    @property
    def net_gain(self) -> float:
        """Pictures gained minus pictures lost, weighted by seeds where there are several."""
        return self.gained - self.lost if self.seed_weighted_gain is None else self.seed_weighted_gain

    @property
    def difference(self) -> float:
        """Accuracy of the first method minus that of the other, in percentage points."""
        return 100 * self.net_gain / self.n

    @property
    def p_value(self) -> float:
        """Two-sided exact p-value; 1 when no picture is gained or lost."""
        from scipy.stats import binomtest  # late: the page opens without it

        discordant = self.gained + self.lost
        return float(binomtest(self.gained, discordant).pvalue) if discordant else 1.0


def compare_paired(first: Rows, other: Rows) -> PairedComparison | None:
    """Compare the rows of two cells on the attacked pictures that both have; None if there are none.

    Two rows are of the same attacked picture when file, seed and the norms of the attack are equal.
    """
    other_right = {picture_key(row): bool(row["right"]) for row in other}
    shared = (row for row in first if picture_key(row) in other_right)
    by_picture = group_by(shared, lambda row: row["picture"])
    if not by_picture:
        return None
    leads = [[row["right"] - other_right[picture_key(row)] for row in rows] for rows in by_picture.values()]
    gained, lost = sum(sum(lead) > 0 for lead in leads), sum(sum(lead) < 0 for lead in leads)
    several_seeds = any(len(lead) > 1 for lead in leads)
    weighted = sum(sum(lead) / len(lead) for lead in leads) if several_seeds else None
    return PairedComparison(len(leads), gained, lost, weighted)


def picture_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Equal for two rows of the same attacked picture."""
    return row["picture"], row["picture_seed"], row["linf"], row["l2"]
