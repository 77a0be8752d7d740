"""Who may go next, and where results go: the one place that reads and writes the run folder for many workers.

Pictures are looked at, attacked and tuned for in any order, and cells without a stream answer on the
way. Each cell with a stream then takes its pictures in order, a few at a time, its memory going out and
coming back as a value. Rows are written in the order of the stream, as every executor does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rita_demo.errors import DemoError
from rita_demo.evaluation import plan
from rita_demo.evaluation.answering import about
from rita_demo.evaluation.groups import Group, Step
from rita_demo.evaluation.pieces import Line, Piece, Result, Stop, Things
from rita_demo.methods import METHODS

TOGETHER = 16  # pictures of a stream in one piece, where all that is costly is there already
LOOSE = -1  # in a piece's home: of no stream


@dataclass
class Chain:
    """Cells that take the stream in order, together; ``away``: a piece of theirs is being done."""

    cells: list[int]
    away: bool = False


@dataclass
class Course:
    """How far a group is: ``next`` picture that nobody looks at yet; ``waiting`` rows by cell and picture that
    came before their turn."""

    group: Group
    number: int
    next: int = field(init=False)
    waiting: list[dict[int, Line]] = field(init=False)
    chains: list[Chain] = field(init=False)

    def __post_init__(self) -> None:
        group = self.group
        self.next = group.start
        self.waiting = [{} for _ in group.cells]
        self._alone = group.cells[0].knows_memory  # then there is nothing to look at ahead
        self._chains()

    @property
    def finished(self) -> bool:
        """Whether every row is written."""
        return self.group.start >= len(self.group.stream)

    def piece(self) -> Piece | None:
        """The next piece, if one may be done now: streams first, they are the longest way."""
        if self.finished:
            return None
        for number, chain in enumerate(self.chains):
            if not chain.away and (piece := self._linked(number, chain)) is not None:
                chain.away = True
                return piece
        while not self._alone and self.next < len(self.group.stream):
            self.next += 1
            if (piece := self._ahead(self.next - 1)) is not None:
                return piece
        return None

    def done(self, piece: Piece, result: Result) -> Step:
        """Write what came back."""
        group = self.group
        for stop, made in zip(piece.stops, result.made):
            self._keep(stop, made)
        numbers, new = self._numbers(piece), 0
        for n, lines in zip(numbers, result.lines):
            self.waiting[n] |= {line[0]: line for line in lines}
            new += self._written(n)
        if piece.home[1] != LOOSE:
            self.chains[piece.home[1]].away = False
            for n, lines, memory in zip(numbers, result.lines, result.memories):
                if lines and lines[-1][0] == group.files[n].count - 1:  # nobody was faster
                    group.files[n].memory = memory
        return group.step(piece.stops[-1].index, new)

    def _chains(self) -> None:
        """Streams go apart where their prompts are kept, else those that tune alike go together."""
        found: dict[Any, list[int]] = {}
        for n, cell in enumerate(self.group.cells):
            if self._streams(n):
                key = plan.tuning_key(cell)
                found.setdefault(n if self._kept(True, key) else key, []).append(n)
        self.chains = [Chain(cells) for cells in found.values()]

    def _streams(self, n: int) -> bool:
        return self.group.cells[n].settings.protocol == "stream"

    def _kept(self, hit: bool, key: Any) -> bool:
        return self.group.tunings[hit].get(key) is not None

    def _numbers(self, piece: Piece) -> list[int]:
        """Which of the group's cells a piece's are."""
        if piece.home[1] != LOOSE:
            return self.chains[piece.home[1]].cells
        return [n for n in range(len(self.group.cells)) if not self._streams(n)]

    def _ahead(self, index: int) -> Piece | None:
        """What can be done about a picture without a memory; None when all of it is there."""
        group, asked = self.group, self.group.asked(index)
        lacking = [n for n, file in enumerate(group.files) if file.count <= index]
        loose = [n for n in range(len(group.cells)) if not self._streams(n)]
        due = tuple(place for place, n in enumerate(loose) if n in lacking)
        tuners = self._tuners(lacking)
        ready = asked.entry in group.looks[asked.hit].place and all(
            asked.entry in store.place
            for key in tuners
            if (store := group.tunings[asked.hit][key]) is not None
        )
        if not lacking or (ready and not due):
            return None
        return self._made(LOOSE, loose, tuners, [self._stop(index, due, tuners)])

    def _linked(self, number: int, chain: Chain) -> Piece | None:
        """The next pictures of a stream whose looks and prompts are there."""
        group, counts = self.group, [self.group.files[n].count for n in chain.cells]
        tuners, stops = self._tuners(chain.cells), list[Stop]()
        costly = self._alone or not all(self._kept(True, key) for key in tuners)
        for index in range(min(counts), len(group.stream)):
            if len(stops) == (1 if costly else TOGETHER) or not self._ready(index, tuners):
                break
            due = tuple(place for place, count in enumerate(counts) if count <= index)
            stops.append(self._stop(index, due, tuners))
        return self._made(number, chain.cells, tuners, stops) if stops else None

    def _ready(self, index: int, tuners: dict[Any, Any]) -> bool:
        asked, group = self.group.asked(index), self.group
        stores = [group.looks[asked.hit], *(group.tunings[asked.hit][key] for key in tuners)]
        return self._alone or all(
            asked.entry in store.place for store in stores if store is not None
        )

    def _tuners(self, numbers: list[int]) -> dict[Any, plan.Cell]:
        cells = [self.group.cells[n] for n in numbers]
        return {plan.tuning_key(c): c for c in cells if not METHODS[c.method].baseline}

    def _stop(self, index: int, due: tuple[int, ...], tuners: dict[Any, plan.Cell]) -> Stop:
        asked, group = self.group.asked(index), self.group
        entry, hit = asked.entry, asked.hit
        attacks, stores = group.attacks[hit], group.tunings[hit]
        look = group.looks[hit].place.find(entry)
        attack = attacks.place.find(entry) if attacks is not None and look is None else None
        tuned = {key: one.place.find(entry) for key in tuners if (one := stores[key]) is not None}
        try:
            packed = entry.packed() if look is None else replace(entry, path=None)
        except DemoError as error:
            raise about(entry, error) from error
        return Stop(index, replace(asked, entry=packed), Things(look, attack, tuned), due)

    def _made(
        self, chain: int, numbers: list[int], tuners: dict[Any, plan.Cell], stops: list[Stop]
    ) -> Piece:
        files = [self.group.files[n] for n in numbers]
        return Piece(
            home=(self.number, chain),
            cells=tuple(self.group.cells[n] for n in numbers),
            columns=tuple(file.columns for file in files),
            memories=tuple(file.memory if chain != LOOSE else None for file in files),
            tuners=tuners,
            stops=tuple(stops),
            knows_memory=self._alone,
        )

    def _keep(self, stop: Stop, made: Things) -> None:
        group, entry, hit = self.group, self.group.stream[stop.index], stop.asked.hit
        attacks = group.attacks[hit]
        if made.attack is not None and attacks is not None:
            attacks.place.keep(entry, made.attack)
        if made.look is not None:
            group.looks[hit].place.keep(entry, made.look)
        for key, kept in made.tuned.items():
            if kept is not None and (store := group.tunings[hit][key]) is not None:
                store.place.keep(entry, kept)

    def _written(self, n: int) -> int:
        """Write a cell's rows whose turn it is; how many they were."""
        file, waiting, new = self.group.files[n], self.waiting[n], 0
        while (line := waiting.pop(file.count, None)) is not None:
            file.add(*line[1:])
            new += 1
        return new


class Schedule:
    """All groups of a run. ``new`` counts the rows written."""

    def __init__(self, groups: Iterator[Group]) -> None:
        self._coming = enumerate(groups)
        self._open: dict[int, Course] = {}
        self._again: deque[Piece] = deque()
        self.new = 0

    def next(self) -> Piece | None:
        """A piece that may be done now; None: nothing before another one is back, or nothing at all."""
        if self._again:
            return self._again.popleft()
        for course in self._open.values():
            if (piece := course.piece()) is not None:
                return piece
        for number, group in self._coming:
            course = self._open[number] = Course(group, number)
            if (piece := course.piece()) is not None:
                return piece
            del self._open[number]  # it is finished
        return None

    def done(self, piece: Piece, result: Result) -> Step:
        """A piece is back: what it brought is on disk when this returns, but for rows before their turn."""
        course = self._open[piece.home[0]]
        step = course.done(piece, result)
        self.new += step.new
        if course.finished:
            del self._open[piece.home[0]]
        return step

    def again(self, piece: Piece) -> None:
        """A piece was lost: it is the next one."""
        self._again.append(piece)
