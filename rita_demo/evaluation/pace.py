"""How far and how fast a measurement is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

from rita_demo.attacks import differentiated
from rita_demo.evaluation.planned_cells import Cell


class Kind(NamedTuple):
    """What decides how long a picture of a group of cells takes: its attack, its methods, and about how many ``passes`` of
    the model attack and views are, a forward pass as a third of one with a gradient."""

    attack: str
    methods: tuple[str, ...]
    passes: float

    @classmethod
    def of(cls, group: Sequence[Cell]) -> Kind:
        """The kind of a group of cells that share their views."""
        requested = group[0].requested
        fresh = requested.attack_views if differentiated(requested) != "model" else 1
        methods = tuple(dict.fromkeys(cell.method for cell in group))
        return cls(requested.attack, methods, group[0].steps * fresh + requested.views / 3)


class Pace:
    """How far and how fast a measurement is, in pictures, each counted once per group of cells. ``groups``: the kind of
    each, and its pictures. A kind's own speed says how long the rest of it takes; before a picture of it is measured, its
    passes of the model beside those of the others."""

    def __init__(self, groups: Iterable[tuple[Kind, int]]) -> None:
        self._totals, self._last = Counter[Kind](), time.perf_counter()
        for kind, pictures in groups:
            self._totals[kind] += pictures
        self._done, self._new, self._seconds = (dict.fromkeys(self._totals, 0.0) for _ in range(3))

    def add_stored(self, kind: Kind, pictures: float) -> None:
        """``pictures`` of a group that is opened are stored already."""
        self._done[kind] += pictures

    def add(self, kind: Kind, pictures: float) -> None:
        """``pictures`` were measured since the last call."""
        now = time.perf_counter()
        for counter, more in ((self._done, pictures), (self._new, pictures), (self._seconds, now - self._last)):
            counter[kind] += more
        self._last = now

    @property
    def sentence(self) -> str:
        """Pictures done of all, per second, and the time left."""
        counted = f"{sum(self._done.values()):.0f} of {sum(self._totals.values())} in all"
        if not (new := sum(self._new.values())):
            return counted
        spent = sum(self._seconds.values())
        per_pass = spent / sum(pictures * kind.passes for kind, pictures in self._new.items())
        left = sum(
            (total - self._done[kind])
            * (self._seconds[kind] / self._new[kind] if self._new[kind] else per_pass * kind.passes)
            for kind, total in self._totals.items()
        )
        rate = new / spent
        speed = f"{rate:.2g}" if rate < 10 else f"{rate:.0f}"
        return f"{counted}, {speed} pictures per second, {timedelta(seconds=round(left))} left"
