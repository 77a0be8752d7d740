"""Every dataset of a run together, against Ensemble: single datasets are small, the question is the same."""

from __future__ import annotations

from collections.abc import Iterable

from rita_demo.evaluation.lines import Line
from rita_demo.evaluation.paired import Paired

SAME = ("split", "backbone", "attack", "budget", "steps", "method", "protocol", "special")


def together(found: Iterable[Line], bar: str = "against") -> list[tuple[Line, int, Paired]]:
    """Finished cells that differ in their dataset alone: the first of them, how many datasets they are of, and the
    pictures on which exactly one of the method and Ensemble is right, counted over all. Nothing for one dataset.

    ``bar``: which Ensemble, ``against`` or ``against_alike``. A dataset asked twice (all names, and those
    present) is the same pictures twice, and counts once.
    """
    groups: dict[tuple[object, ...], dict[str, Line]] = {}
    for line in found:
        paired: Paired | None = getattr(line, bar)
        if paired is not None and line.finished:
            key = (*(getattr(line, name) for name in SAME), paired.other)
            groups.setdefault(key, {}).setdefault(line.dataset.partition(":")[0], line)
    summed = []
    for group in groups.values():
        pairs: list[Paired] = [getattr(line, bar) for line in group.values()]
        if len(group) > 1:
            one = Paired(
                sum(pair.n for pair in pairs),
                sum(pair.gained for pair in pairs),
                sum(pair.lost for pair in pairs),
                None if all(p.ahead is None for p in pairs) else sum(p.total for p in pairs),
                pairs[0].other,
            )
            summed.append((next(iter(group.values())), len(group), one))
    return summed
