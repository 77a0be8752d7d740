"""Every dataset of a run together, against Ensemble: single datasets are small, the question is the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rita_demo.evaluation.paired import Paired

if TYPE_CHECKING:
    from rita_demo.evaluation.tables import Line

SAME = ("split", "backbone", "attack", "budget", "steps", "method", "protocol", "special")


def together(found: Iterable[Line]) -> list[tuple[Line, int, Paired]]:
    """Finished cells that differ in their dataset alone: the first of them, how many datasets they are of, and the
    pictures on which exactly one of the method and Ensemble is right, counted over all. Nothing for one dataset."""
    groups: dict[tuple[object, ...], dict[str, Line]] = {}
    for line in found:
        if line.against is not None and line.n == line.wanted:
            key = tuple(getattr(line, name) for name in SAME)
            groups.setdefault(key, {}).setdefault(line.dataset, line)
    summed = []
    for group in groups.values():
        pairs = [line.against for line in group.values() if line.against is not None]
        n, gained, lost = (sum(getattr(p, name) for p in pairs) for name in ("n", "gained", "lost"))
        if len(group) > 1:
            summed.append((next(iter(group.values())), len(group), Paired(n, gained, lost)))
    return summed
