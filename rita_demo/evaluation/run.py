"""The measurement itself: picture by picture, all cells that share its views, one row each."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from rita_demo.engine import Engine
from rita_demo.errors import DataError, DemoError
from rita_demo.evaluation import files, plan
from rita_demo.evaluation.cells import CellFile, Row
from rita_demo.evaluation.collection import (
    Collection,
    Entry,
    collect,
    is_attacked,
    picture_seed,
)
from rita_demo.evaluation.executor import executor
from rita_demo.evaluation.looks import AttackStore, Look, LookStore, look_at
from rita_demo.evaluation.plan import Cell, Model
from rita_demo.evaluation.request import SEEDS, Request
from rita_demo.evaluation.threat import header_of
from rita_demo.evaluation.tuned import TuningStore
from rita_demo.methods import METHODS
from rita_demo.records import CacheState, TextBank, Trace, Tuning, Verdict

Say = Callable[[str], None]


@dataclass(frozen=True)
class Done:
    """What a run did: cells asked for, rows they hold, rows that are new, seconds it took."""

    cells: int
    rows: int
    new: int
    seconds: float


@dataclass(frozen=True)
class Task:
    """A piece of work that depends on no other: one dataset, one seed."""

    request: Request
    dataset: str
    seed: int


@dataclass(frozen=True)
class Step:
    """A picture was measured: ``done`` of ``wanted`` pictures of one part of the work, and a sentence."""

    done: int
    wanted: int
    new: int
    sentence: str


def evaluate(request: Request, say: Say = lambda _: None, how: str = "local") -> Done:
    """Measure what was asked for; what is already in the run folder is not measured again.

    Raises:
        DemoError: a dataset, model or setting that cannot be used, a folder that is in use, a full disk.
    """
    begin = time.perf_counter()
    datasets = {name: _collected(request, name) for name in request.datasets}
    with _writing(request.out):
        work = _Worker(Engine(request.backbone), datasets, say)
        done = executor(how)(work, _tasks(request))
    rows, new = (sum(getattr(part, name) for part in done) for name in ("rows", "new"))
    return Done(sum(part.cells for part in done), rows, new, time.perf_counter() - begin)


def evaluating(request: Request, engine: Engine) -> Generator[Step, None, None]:
    """The same one picture at a time, with an engine that is there already.

    Leaving it between two pictures loses nothing: asked for again, it goes on where it was. The
    run folder is held until the generator ends or is closed.

    Raises:
        DemoError: as :func:`evaluate`.
    """
    datasets = {name: _collected(request, name) for name in request.datasets}
    with _writing(request.out):
        work = _Worker(engine, datasets)
        for task in _tasks(request):
            yield from _together(work.groups(task))


def _together(groups: Iterable[Iterator[Step]]) -> Iterator[Step]:
    """One step is one picture of every group: cells that look at other views keep pace with each other."""
    for steps in zip_longest(*groups):
        there = [step for step in steps if step is not None]
        yield replace(min(there, key=lambda s: s.done), new=sum(step.new for step in there))


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        with files.writing_alone(out):
            yield
    except OSError as error:
        raise DataError(
            f"The results cannot be written: {error.strerror}.",
            "Make room or name another folder with --out; the same command goes on.",
        ) from error


def _tasks(request: Request) -> list[Task]:
    return [Task(request, name, seed) for name in request.datasets for seed in request.seeds]


def _collected(request: Request, name: str) -> Collection:
    return collect(
        name, request.data_root, request.split, limit=request.limit,
        allow_partial=request.allow_partial,
    )  # fmt: skip


class _Worker:
    """Does tasks with one loaded model."""

    def __init__(
        self, engine: Engine, datasets: dict[str, Collection], say: Say = lambda _: None
    ) -> None:
        self._engine, self._datasets, self._say = engine, datasets, say
        self._model = Model(engine.info.name, engine.weights_key())

    def __call__(self, task: Task) -> Done:
        begin, new = time.perf_counter(), 0
        for step in chain.from_iterable(self.groups(task)):
            self._say(step.sentence)
            new += step.new
        cells = len(plan.cells_of(task.request, task.seed))
        rows = cells * len(self._datasets[task.dataset].entries)
        return Done(cells, rows, new, time.perf_counter() - begin)

    def groups(self, task: Task) -> Iterator[Iterator[Step]]:
        """The cells that share their views, picture by picture."""
        collection = self._datasets[task.dataset]
        cells = plan.different(plan.cells_of(task.request, task.seed), collection, self._model)
        groups = plan.groups_of(cells, collection, self._model)
        for number, group in enumerate(groups, start=1):
            yield self._group(task, collection, group, f"part {number} of {len(groups)}")

    def _group(
        self, task: Task, collection: Collection, cells: list[Cell], part: str
    ) -> Iterator[Step]:
        """All cells that look at the same views."""
        stream = collection.stream(task.seed, cells[0].traffic.order)
        opened = [(cell, self._cell_file(task, collection, cell)) for cell in cells]
        start = min(file.count for _, file in opened)
        if start >= len(stream):
            return
        arrivals = {True: cells, False: [cell.clean for cell in cells]}
        stores = {hit: self._stores(task, collection, of[0]) for hit, of in arrivals.items()}
        tunings = {hit: self._tunings(task, collection, of) for hit, of in arrivals.items()}
        bank = self._bank(collection, cells[0])
        for index in range(start, len(stream)):
            due = [(cell, file) for cell, file in opened if file.count == index]
            entry = stream[index]
            seed = picture_seed(task.seed, entry)
            hit = is_attacked(task.seed, entry, cells[0].traffic.share)
            # a cell whose attacker knows its memory shares its views with no other cell
            memory = opened[0][1].memory if hit and cells[0].knows_memory else None
            look = self._look(entry, bank, arrivals[hit][0], seed, *stores[hit], memory)
            self._picture(collection, entry, seed, look, due, tunings[hit], hit)
            sentence = (
                f"{collection.dataset}, seed {task.seed}, {cells[0].asked.attack}, {part}: "
                f"picture {index + 1} of {len(stream)}"
            )
            yield Step(index + 1, len(stream), len(due), sentence)

    def _cell_file(self, task: Task, collection: Collection, cell: Cell) -> CellFile:
        header = header_of(cell, collection, self._model, self._engine)
        memory = None
        if cell.settings.protocol == "stream":
            memory = self._engine.empty_cache(self._bank(collection, cell), cell.settings)
        key = plan.cell_key(cell, collection, self._model)
        name = f"{collection.dataset}_{cell.method}_{cell.column}_{key}".replace(":", "-")
        return CellFile(task.request.out / "cells" / name, header, memory)

    def _stores(
        self, task: Task, collection: Collection, cell: Cell
    ) -> tuple[LookStore, AttackStore | None]:
        out, shape = task.request.out, (cell.asked.views, self._engine.info.width)
        folder = out / "looks" / plan.look_key(cell, collection, self._model)
        looks = LookStore(folder, shape, smallest=cell.asked.view_scale)
        if cell.asked.attack == "none":
            return looks, None
        key = plan.attack_key(cell, collection, self._model)
        return looks, AttackStore(out / "attacked" / key)

    def _tunings(
        self, task: Task, collection: Collection, cells: list[Cell]
    ) -> dict[Any, TuningStore | None]:
        """Where tuned prompts are kept, by tuning key; None where they are not."""
        found: dict[Any, TuningStore | None] = {}
        for cell in cells:
            key = plan.tuning_key(cell)
            if key not in found and not METHODS[cell.method].baseline:
                place = plan.tuned_key(cell, collection, self._model)
                bank, folder = self._bank(collection, cell), task.request.out / "tuned" / place
                found[key] = TuningStore.open(folder, bank, cell.settings)
        return found

    def _bank(self, collection: Collection, cell: Cell) -> TextBank:
        return self._engine.classes(collection.names, cell.asked)

    def _look(
        self,
        entry: Entry,
        bank: TextBank,
        cell: Cell,
        seed: int,
        looks: LookStore,
        attacks: AttackStore | None,
        memory: CacheState | None,
    ) -> Look:
        own = cell.attacked.but(**{name: seed for name in SEEDS if name not in cell.fixed})
        try:
            return look_at(self._engine, entry, bank, own, looks, attacks, memory)
        except DemoError as error:
            raise DataError(
                f"The picture {entry.id[:120]!r}: {error.message}", error.hint
            ) from error

    def _picture(
        self,
        collection: Collection,
        entry: Entry,
        seed: int,
        look: Look,
        due: Sequence[tuple[Cell, CellFile]],
        tunings: dict[Any, TuningStore | None],
        hit: bool,
    ) -> None:
        """Every due cell's answer on one picture; prompts tuned alike are tuned once."""
        tuned: dict[Any, tuple[Tuning, float]] = {}
        for cell, file in due:
            bank = self._bank(collection, cell)
            begin = time.perf_counter()
            method = METHODS[cell.method]
            if not method.baseline:
                key = plan.tuning_key(cell)
                if key not in tuned and (store := tunings[key]) is not None:
                    tuned[key] = store.tuned(self._engine, entry, look, bank, cell.settings)
                trace, after = self._decide(look, bank, file.memory, cell, tuned)
                seconds = sum(trace.seconds.values())
                verdict = trace.memory_verdict if method.memory_alone else trace.verdict
                assert verdict is not None  # a memory that is off is never measured alone
                row = _row(cell, file, collection, entry, seed, look, verdict, seconds, hit)
                file.append(row, trace.change, after)
            else:
                named = self._engine.compare(look.glance, bank, cell.settings, (method.name,))
                verdict, seconds = named[method.name], time.perf_counter() - begin
                row = _row(cell, file, collection, entry, seed, look, verdict, seconds, hit)
                file.append(row, None, None)

    def _decide(
        self,
        look: Look,
        bank: TextBank,
        memory: CacheState | None,
        cell: Cell,
        tuned: dict[Any, tuple[Tuning, float]],
    ) -> tuple[Trace, CacheState]:
        """RITA's trace; its time counts the tuning also where another cell has already done it."""
        key = plan.tuning_key(cell)
        tuning, seconds = tuned.get(key, (None, 0.0))
        trace, after = self._engine.decide(look.glance, bank, memory, cell.settings, tuning)
        if tuning is None:
            tuned[key] = (trace.tuning, trace.seconds["tuning"])
        else:
            trace = replace(trace, seconds=trace.seconds | {"tuning": seconds})
        return trace, after


def _row(
    cell: Cell,
    file: CellFile,
    collection: Collection,
    entry: Entry,
    seed: int,
    look: Look,
    verdict: Verdict,
    seconds: float,
    hit: bool,
) -> Row:
    columns = file.header["columns"] | {"attack": cell.settings.attack}
    if not hit:  # the clean part of mixed traffic
        columns |= {"attack": "none", "budget": 0, "steps": 0}
    names = collection.names
    return Row(
        picture=entry.id,
        method=cell.method,
        attack=columns["attack"],
        budget=columns["budget"],
        steps=columns["steps"],
        protocol=columns["protocol"],
        seed=cell.seed,
        settings=columns["settings"],
        label=names[entry.label],
        answer=names[verdict.label],
        right=verdict.label == entry.label,
        probability=float(verdict.probability[verdict.label]),
        margin=float(verdict.margin),
        linf=float(look.attacked.linf),
        l2=float(look.attacked.l2),
        already_wrong=look.attacked.already_wrong,
        picture_seed=seed,
        seconds={
            "attack": look.attacked.seconds,
            "views": round(look.seconds, 4),
            "method": round(seconds, 4),
        },
    )
