"""One table over several datasets: how many pictures every method still has right under every attacker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rita_demo.records import MeasuredCell


@dataclass(frozen=True)
class Tally:
    """``right`` of ``n`` pictures, all datasets together; ``datasets`` in the order in which they came."""

    right: int
    n: int
    datasets: tuple[str, ...]

    @property
    def percent(self) -> float:
        """The share that is right, in percent."""
        return 100 * self.right / self.n


def attackers(cells: Iterable[MeasuredCell]) -> dict[str, dict[str, Tally]]:
    """Attack -> method -> its tally, in the order in which they came; only answers given without a memory."""
    found: dict[str, dict[str, Tally]] = {}
    for cell in cells:
        if cell.protocol != "off":
            continue
        row = found.setdefault(cell.attack, {})
        so_far = row.get(cell.method, Tally(0, 0, ()))
        right = round(cell.accuracy * cell.n / 100)
        row[cell.method] = Tally(
            so_far.right + right, so_far.n + cell.n, (*so_far.datasets, cell.dataset)
        )
    return found


def compared(table: dict[str, dict[str, Tally]], one: str, other: str) -> dict[str, int]:
    """Attack -> by how many pictures ``one`` is ahead of ``other``, where both saw the same datasets."""
    found = {}
    for attack, row in table.items():
        if one in row and other in row and row[one].datasets == row[other].datasets:
            found[attack] = row[one].right - row[other].right
    return found
