"""Right answers over the pictures of several datasets together."""

from collections.abc import Iterable
from dataclasses import dataclass

from rita_demo.records import MeasuredCell
from rita_demo.records.intervals import wilson


@dataclass(frozen=True)
class PooledShare:
    """``right`` of ``n`` pictures; ``earlier``: some of them under an attack that was replaced since."""

    right: int
    n: int
    earlier: bool

    @property
    def percent(self) -> float:
        return 100 * self.right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval, in percent."""
        low, high = wilson(self.right, self.n)
        return 100 * low, 100 * high


def pooled(cells: Iterable[MeasuredCell]) -> dict[tuple[str, str, str], PooledShare]:
    """(model, method, attack) -> its right answers, added up over the datasets. Of a dataset that was measured twice the cell
    under the present form of the attack counts, then that of more pictures."""
    import pandas as pd

    rows = pd.DataFrame([vars(cell) | {"earlier": cell.by_earlier_attack} for cell in cells if cell.protocol == "off"])
    if rows.empty:
        return {}
    rows["right"] = (rows["accuracy"] * rows["n"] / 100).round()
    keys = ["backbone", "method", "attack"]
    best = rows.sort_values(["earlier", "n"], ascending=[True, False]).drop_duplicates(["dataset", *keys])
    sums = best.groupby(keys).agg({"right": "sum", "n": "sum", "earlier": "any"})
    return {
        at: PooledShare(int(row.right), int(row.n), bool(row.earlier)) for at, row in zip(sums.index, sums.itertuples())
    }
