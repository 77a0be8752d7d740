"""Right answers of every method under every attack, over several datasets."""

from collections.abc import Iterable
from dataclasses import dataclass

from rita_demo.records import MeasuredCell


@dataclass(frozen=True)
class CorrectCount:
    """``right`` of ``n`` pictures of all ``datasets``."""

    right: int
    n: int
    datasets: tuple[str, ...]

    @property
    def percent(self) -> float:
        return 100 * self.right / self.n


def attacker_table(cells: Iterable[MeasuredCell]) -> dict[str, dict[str, CorrectCount]]:
    """Attack -> method -> its count, in the order of the cells; only those with the cache off."""
    table: dict[str, dict[str, CorrectCount]] = {}
    for cell in cells:
        if cell.protocol == "off":
            row = table.setdefault(cell.attack, {})
            known = row.get(cell.method, CorrectCount(0, 0, ()))
            right = round(cell.accuracy * cell.n / 100)
            row[cell.method] = CorrectCount(known.right + right, known.n + cell.n, (*known.datasets, cell.dataset))
    return table


def difference_in_correct(table: dict[str, dict[str, CorrectCount]], one: str, other: str) -> dict[str, int]:
    """Attack -> right answers of ``one`` minus those of ``other``, where both have the same datasets."""
    found = {}
    for attack, row in table.items():
        if one in row and other in row and row[one].datasets == row[other].datasets:
            found[attack] = row[one].right - row[other].right
    return found
