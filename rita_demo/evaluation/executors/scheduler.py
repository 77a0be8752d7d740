"""Which work unit is next, and where results go: one process reads and writes the run folder for many workers.

Artifacts of pictures are made in any order, and cells without a stream answer on the way. The cells with a stream then
take their pictures in order, a few per unit; their caches travel as values. Rows are written in stream order.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.executors.evaluate_picture import with_picture_name
from rita_demo.evaluation.executors.work_units import Artifacts, IndexedRow, PictureTask, WorkResult, WorkUnit
from rita_demo.evaluation.planned_cells import Cell
from rita_demo.evaluation.store.run_folder import CellGroup, EvaluationStep
from rita_demo.records.errors import DemoError

BATCH_SIZE = 16  # pictures of a stream in one unit, where all costly artifacts are stored


class GroupProgress:
    """The progress of one group of cells."""

    def __init__(self, group: CellGroup, number: int) -> None:
        self.group, self.number = group, number
        self._next_index = group.first_pending  # the first picture that no unit was made for
        self._outstanding = 0  # units that are being executed
        self._stream_busy = False  # whether one of them is of the stream
        self._buffered_rows: list[dict[int, IndexedRow]] = [{} for _ in group.cells]  # finished before their turn
        self._sequential = group.cells[0].attack_uses_cache  # then no artifact can be made ahead
        cells = list(enumerate(group.cells))
        self._lanes = {
            in_stream: [n for n, cell in cells if (cell.settings.protocol == "stream") == in_stream]
            for in_stream in (True, False)
        }

    @property
    def finished(self) -> bool:
        """Whether every row is written and every unit is back."""
        return self._all_written and not self._outstanding

    @property
    def _all_written(self) -> bool:
        return self.group.first_pending >= len(self.group.stream)

    def next_unit(self) -> WorkUnit | None:
        """The next unit that can be executed now, if any; the stream first, since its units depend on each other."""
        unit = None if self._all_written else self._stream_unit() or self._next_picture_unit()
        self._outstanding += unit is not None
        return unit

    def complete(self, unit: WorkUnit, result: WorkResult) -> EvaluationStep:
        """Write a result to disk."""
        for task, artifacts in zip(unit.tasks, result.artifacts):
            self._store_artifacts(task, artifacts)
        new = 0
        for n, rows, cache in zip(self._lanes[unit.in_stream], result.rows, result.caches):
            self._buffered_rows[n] |= {row[0]: row for row in rows}
            new += self._write_ready_rows(n)
            if unit.in_stream:
                self.group.files[n].cache = cache
        self._outstanding -= 1
        self._stream_busy = self._stream_busy and not unit.in_stream
        return self.group.step(unit.tasks[-1].index, new)

    def _next_picture_unit(self) -> WorkUnit | None:
        unit = None
        while unit is None and not self._sequential and self._next_index < len(self.group.stream):
            unit = self._picture_unit(self._next_index)
            self._next_index += 1
        return unit

    def _picture_unit(self, index: int) -> WorkUnit | None:
        """What can be done for a picture out of order; None when all of it is done."""
        lacking = [n for n, file in enumerate(self.group.files) if file.count <= index]
        tuners = self._tuning_cells(lacking)
        if not set(lacking) & set(self._lanes[False]) and (not lacking or self._is_ready(index, tuners)):
            return None
        return self._work_unit(False, tuners, [index])

    def _stream_unit(self) -> WorkUnit | None:
        """The next pictures of the stream whose views and prompts are stored."""
        files, numbers = self.group.files, self._lanes[True]
        if self._stream_busy or not numbers:
            return None
        tuners = self._tuning_cells(numbers)
        costly = self._sequential or any(self.group.prompt_stores[True][key] is None for key in tuners)
        indices: list[int] = []
        for index in range(min(files[n].count for n in numbers), len(self.group.stream)):
            if len(indices) == (1 if costly else BATCH_SIZE):
                break
            if not self._sequential and not self._is_ready(index, tuners):
                break
            indices.append(index)
        self._stream_busy = bool(indices)
        return self._work_unit(True, tuners, indices) if indices else None

    def _is_ready(self, index: int, tuners: dict[Any, Cell]) -> bool:
        """Whether views and prompts of a picture are stored, where they can be."""
        request = self.group.request(index)
        prompts = self.group.prompt_stores[request.attacked]
        stores = [self.group.views[request.attacked], *(prompts[key] for key in tuners)]
        return all(request.item in store.store for store in stores if store is not None)

    def _tuning_cells(self, numbers: Sequence[int]) -> dict[Any, Cell]:
        cells = [self.group.cells[n] for n in numbers]
        return {planned_cells.tuning_key(c): c for c in cells if not DEFENCES[c.method].baseline}

    def _work_unit(self, in_stream: bool, tuners: dict[Any, Cell], indices: Sequence[int]) -> WorkUnit:
        numbers = self._lanes[in_stream]
        files = [self.group.files[n] for n in numbers]
        return WorkUnit(
            group=self.number,
            in_stream=in_stream,
            cells=tuple(self.group.cells[n] for n in numbers),
            columns=tuple(file.columns for file in files),
            caches=tuple(file.cache for file in files),
            tuning_cells=tuners,
            tasks=tuple(self._picture_task(index, numbers, tuners) for index in indices),
        )

    def _picture_task(self, index: int, numbers: Sequence[int], tuners: dict[Any, Cell]) -> PictureTask:
        request, group = self.group.request(index), self.group
        item, attacked = request.item, request.attacked
        attacks, prompts = group.attacks[attacked], group.prompt_stores[attacked]
        views = group.views[attacked].store.find(item)
        attack = attacks.store.find(item) if attacks is not None and views is None else None
        tuned = {key: store.store.find(item) for key in tuners if (store := prompts[key]) is not None}
        try:
            packed = item.with_data() if views is None else replace(item, path=None)
        except DemoError as error:
            raise with_picture_name(item, error) from error
        due = tuple(position for position, n in enumerate(numbers) if group.files[n].count <= index)
        return PictureTask(index, replace(request, item=packed), Artifacts(views, attack, tuned), due)

    def _store_artifacts(self, task: PictureTask, artifacts: Artifacts) -> None:
        group, item, attacked = self.group, self.group.stream[task.index], task.request.attacked
        prompts = [(group.prompt_stores[attacked][key], artifact) for key, artifact in artifacts.tuned.items()]
        made = [(group.attacks[attacked], artifacts.attack), (group.views[attacked], artifacts.views), *prompts]
        for store, artifact in made:
            if store is not None and artifact is not None:
                store.store.put(item, artifact)

    def _write_ready_rows(self, n: int) -> int:
        """Write the rows of a cell that are next in stream order; returns how many."""
        file, new = self.group.files[n], 0
        while (row := self._buffered_rows[n].pop(file.count, None)) is not None:
            file.write(*row[1:])
            new += 1
        return new


class Scheduler:
    """All groups of a run; ``new_rows`` counts the rows written."""

    def __init__(self, groups: Iterator[CellGroup]) -> None:
        self._groups = enumerate(groups)
        self._active: dict[int, GroupProgress] = {}
        self._requeued: deque[WorkUnit] = deque()
        self.new_rows = 0

    def next_unit(self) -> WorkUnit | None:
        """The next unit; None: nothing can be done before another result arrives, or all is done."""
        if self._requeued:
            return self._requeued.popleft()
        for progress in self._active.values():
            if (unit := progress.next_unit()) is not None:
                return unit
        for number, group in self._groups:
            progress = GroupProgress(group, number)
            if (unit := progress.next_unit()) is not None:
                self._active[number] = progress
                return unit
        return None

    def complete(self, unit: WorkUnit, result: WorkResult) -> EvaluationStep:
        """Write a result to disk, apart from rows before their turn."""
        progress = self._active[unit.group]
        step = progress.complete(unit, result)
        self.new_rows += step.new
        if progress.finished:
            del self._active[unit.group]
        return step

    def requeue(self, unit: WorkUnit) -> None:
        """A worker was lost: its unit is the next one."""
        self._requeued.append(unit)
