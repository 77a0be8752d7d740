"""The measurement itself: picture by picture, all cells that share its views, one row each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rita_demo.engine import Engine
from rita_demo.errors import DataError, DemoError
from rita_demo.evaluation import files, plan
from rita_demo.evaluation.cells import CellFile, Row
from rita_demo.evaluation.collection import Collection, Entry, collect, picture_seed
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


def evaluate(request: Request, say: Say = lambda _: None, how: str = "local") -> Done:
    """Measure what was asked for; what is already in the run folder is not measured again.

    Raises:
        DemoError: a dataset, model or setting that cannot be used, a folder that is in use, a full disk.
    """
    begin = time.perf_counter()
    datasets = {name: _collected(request, name) for name in request.datasets}
    try:
        with files.writing_alone(request.out):
            work = _Worker(Engine(request.backbone), datasets, say)
            tasks = [Task(request, name, seed) for name in datasets for seed in request.seeds]
            done = executor(how)(work, tasks)
    except OSError as error:
        raise DataError(
            f"The results cannot be written: {error.strerror}.",
            "Make room or name another folder with --out; the same command goes on.",
        ) from error
    rows, new = (sum(getattr(part, name) for part in done) for name in ("rows", "new"))
    return Done(sum(part.cells for part in done), rows, new, time.perf_counter() - begin)


def _collected(request: Request, name: str) -> Collection:
    return collect(
        name, request.data_root, request.split, limit=request.limit,
        allow_partial=request.allow_partial,
    )  # fmt: skip


class _Worker:
    """Does tasks with one loaded model."""

    def __init__(self, engine: Engine, datasets: dict[str, Collection], say: Say) -> None:
        self._engine, self._datasets, self._say = engine, datasets, say
        self._model = Model(engine.info.name, engine.weights_key())

    def __call__(self, task: Task) -> Done:
        begin = time.perf_counter()
        collection = self._datasets[task.dataset]
        cells = plan.different(plan.cells_of(task.request, task.seed), collection, self._model)
        groups = plan.groups_of(cells, collection, self._model)
        counts = [
            self._group(task, collection, group, f"part {number} of {len(groups)}")
            for number, group in enumerate(groups, start=1)
        ]
        rows = len(cells) * len(collection.entries)
        return Done(len(cells), rows, sum(counts), time.perf_counter() - begin)

    def _group(self, task: Task, collection: Collection, cells: list[Cell], part: str) -> int:
        """All cells that look at the same views; returns how many rows are new."""
        stream = collection.stream(task.seed)
        opened = [(cell, self._cell_file(task, collection, cell)) for cell in cells]
        start = min(file.count for _, file in opened)
        if start >= len(stream):
            return 0
        looks, attacks = self._stores(task, collection, cells[0])
        tunings = self._tunings(task, collection, cells)
        bank, new = self._bank(collection, cells[0]), 0
        for index in range(start, len(stream)):
            due = [(cell, file) for cell, file in opened if file.count == index]
            self._say(
                f"{collection.dataset}, seed {task.seed}, {cells[0].asked.attack}, {part}: "
                f"picture {index + 1} of {len(stream)}"
            )
            entry = stream[index]
            seed = picture_seed(task.seed, entry)
            # a cell whose attacker knows its memory shares its views with no other cell
            memory = opened[0][1].memory if cells[0].knows_memory else None
            look = self._look(entry, bank, cells[0], seed, looks, attacks, memory)
            self._picture(collection, entry, seed, look, due, tunings)
            new += len(due)
        return new

    def _cell_file(self, task: Task, collection: Collection, cell: Cell) -> CellFile:
        header = header_of(cell, collection, self._model, self._engine)
        memory = None
        if cell.settings.protocol == "stream":
            memory = self._engine.empty_cache(self._bank(collection, cell), cell.settings)
        key = plan.cell_key(cell, collection, self._model)
        name = f"{collection.dataset.replace(':', '-')}_{cell.method}_{cell.asked.attack}_{key}"
        return CellFile(task.request.out / "cells" / name, header, memory)

    def _stores(
        self, task: Task, collection: Collection, cell: Cell
    ) -> tuple[LookStore, AttackStore | None]:
        out, shape = task.request.out, (cell.asked.views, self._engine.info.width)
        looks = LookStore(out / "looks" / plan.look_key(cell, collection, self._model), shape)
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
                row = _row(cell, file, collection, entry, seed, look, verdict, seconds)
                file.append(row, trace.change, after)
            else:
                named = self._engine.compare(look.glance, bank, cell.settings, (method.name,))
                verdict, seconds = named[method.name], time.perf_counter() - begin
                row = _row(cell, file, collection, entry, seed, look, verdict, seconds)
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
) -> Row:
    columns = file.header["columns"]
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
