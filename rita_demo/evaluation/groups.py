"""A run folder opened for going on: per group of cells that share their views, what is there and where more goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from rita_demo.engine import empty_memory
from rita_demo.evaluation import plan
from rita_demo.evaluation.answering import Asked, Facts
from rita_demo.evaluation.by_dataset import on
from rita_demo.evaluation.cells import CellFile
from rita_demo.evaluation.collection import Collection, is_attacked, picture_seed
from rita_demo.evaluation.kept import OneFile, Pngs
from rita_demo.evaluation.looks import AttackStore, LookStore
from rita_demo.evaluation.plan import Cell
from rita_demo.evaluation.request import Request
from rita_demo.evaluation.threat import header_of
from rita_demo.evaluation.tuned import TuningStore, kept_shape
from rita_demo.methods import METHODS

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """A piece of work that depends on no other: one dataset, one seed."""

    dataset: str
    seed: int


@dataclass(frozen=True)
class Step:
    """A picture was measured: ``done`` of ``wanted`` pictures of one part of the work, ``new`` rows, and a
    sentence."""

    done: int
    wanted: int
    new: int
    sentence: str


def tasks_of(request: Request) -> list[Task]:
    """Datasets and seeds multiplied out."""
    return [Task(name, seed) for name in request.datasets for seed in request.seeds]


class RunFolder:
    """The request's run folder, for a process that holds its lock and is the only one to write."""

    def __init__(
        self, request: Request, collections: Mapping[str, Collection], facts: Facts
    ) -> None:
        self.request, self.collections, self.facts = request, collections, facts
        # groups that are open at the same time and share a folder share what knows its content
        self._opened: WeakValueDictionary[Path, Any] = WeakValueDictionary()

    def groups(self, task: Task) -> Iterator[Group]:
        """The groups of a task, in order, each opened when it is asked for."""
        collection = self.collections[task.dataset]
        cells = plan.cells_of(on(self.request, task.dataset, collection.names), task.seed)
        cells = plan.different(cells, collection, self.facts.model)
        found = plan.groups_of(cells, collection, self.facts.model)
        for number, group in enumerate(found, start=1):
            yield Group(self, task, group, f"part {number} of {len(found)}")

    def opened(self, folder: Path, make: Callable[[], T]) -> T:
        """What ``make`` gives for a folder, or what it gave while that is still in use."""
        one = self._opened.get(folder)
        if one is None:
            self._opened[folder] = one = make()
        return one


class Group:
    """The cells of one task that look at the same views.

    Stores are by ``hit``, whether the picture arrives attacked: the clean part of mixed traffic shares the
    views of clean runs.
    """

    def __init__(self, run: RunFolder, task: Task, cells: list[Cell], part: str) -> None:
        self._run, self._task, self._part = run, task, part
        self._collection = run.collections[task.dataset]
        self.cells = cells
        self.stream = self._collection.stream(task.seed, cells[0].traffic.order)
        self.files = [self._file(cell) for cell in cells]
        self._arrivals = {True: cells, False: [cell.clean for cell in cells]}

    @property
    def start(self) -> int:
        """The first picture that some cell lacks."""
        return min(file.count for file in self.files)

    def asked(self, index: int) -> Asked:
        """Picture number ``index`` of the stream."""
        seed, entry = self._task.seed, self.stream[index]
        hit = is_attacked(seed, entry, self.cells[0].traffic.share)
        own = picture_seed(seed, entry)
        return Asked(self._collection.names, entry, own, hit, self._arrivals[hit][0])

    def step(self, index: int, new: int) -> Step:
        """Picture number ``index`` was measured."""
        about = f"{self._collection.dataset}, seed {self._task.seed}, {self.cells[0].asked.attack}"
        count = f"picture {index + 1} of {len(self.stream)}"
        return Step(index + 1, len(self.stream), new, f"{about}, {self._part}: {count}")

    @cached_property
    def looks(self) -> dict[bool, LookStore]:
        """The views."""
        return {hit: self._looks(of[0]) for hit, of in self._arrivals.items()}

    @cached_property
    def attacks(self) -> dict[bool, AttackStore | None]:
        """The attacked squares; None where nothing is attacked."""
        return {hit: self._attacks(of[0]) for hit, of in self._arrivals.items()}

    @cached_property
    def tunings(self) -> dict[bool, dict[Any, TuningStore | None]]:
        """Where tuned prompts are kept, by tuning key; None where they are not."""
        found: dict[bool, dict[Any, TuningStore | None]] = {True: {}, False: {}}
        for hit, cells in self._arrivals.items():
            for cell in cells:
                key = plan.tuning_key(cell)
                if key not in found[hit] and not METHODS[cell.method].baseline:
                    found[hit][key] = self._tuning(cell)
        return found

    def _file(self, cell: Cell) -> CellFile:
        collection, facts = self._collection, self._run.facts
        key = plan.cell_key(cell, collection, facts.model)
        column = re.sub(r"[^\w@.-]+", "-", cell.column)[:60]  # a target's name may hold anything
        name = f"{collection.dataset}_{cell.method}_{column}_{key}".replace(":", "-")

        def make(folder: Path) -> CellFile:
            memory = None
            if cell.settings.protocol == "stream":
                memory = empty_memory(facts.info, collection.names, cell.settings)
            header = header_of(cell, collection, facts.model, facts.info)
            return CellFile(folder, header, memory)

        return self._open(f"cells/{name}", make)

    def _looks(self, cell: Cell) -> LookStore:
        shape = (cell.asked.views, self._run.facts.info.width)

        def make(folder: Path) -> LookStore:
            file = OneFile(folder, "looks.jsonl", 2 * shape[0] * shape[1])
            return LookStore(file, shape, cell.asked.view_scale)

        key = plan.look_key(cell, self._collection, self._run.facts.model)
        return self._open(f"looks/{key}", make)

    def _attacks(self, cell: Cell) -> AttackStore | None:
        if cell.asked.attack == "none":
            return None
        key = plan.attack_key(cell, self._collection, self._run.facts.model)
        return self._open(
            f"attacked/{key}", lambda folder: AttackStore(Pngs(folder, "attacked.jsonl"))
        )

    def _tuning(self, cell: Cell) -> TuningStore | None:
        names, width = self._collection.names, self._run.facts.info.width
        if (shape := kept_shape(len(names), width, cell.settings)) is None:
            return None
        length = 2 * shape[0] * shape[1] * shape[2]
        key = plan.tuned_key(cell, self._collection, self._run.facts.model)
        return self._open(
            f"tuned/{key}",
            lambda folder: TuningStore(OneFile(folder, "tuned.jsonl", length), shape),
        )

    def _open(self, name: str, make: Callable[[Path], T]) -> T:
        folder = self._run.request.out / name
        return self._run.opened(folder, lambda: make(folder))
