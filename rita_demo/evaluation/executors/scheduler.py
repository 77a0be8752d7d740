"""Work as values, which unit of it is next, and where results go: one process reads and writes the run folder for many
workers.

Artifacts of pictures are made in any order, and cells without a stream answer on the way. The cells with a stream then
take their pictures in order, a few per unit; their caches travel as values. Rows are written in stream order. A unit
holds the files of its pictures and their known artifacts; executed twice, it gives the same.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.executors.evaluate_picture import WorkUnit, with_picture_name
from rita_demo.evaluation.planned_cells import Cell, tuning_key
from rita_demo.evaluation.store.cell_file import RowWriter
from rita_demo.evaluation.store.run_folder import CellGroup, EvaluationStep, PictureRequest
from rita_demo.records.errors import DemoError

BATCH_SIZE = 16  # pictures of a stream in one unit, where all costly artifacts are stored


class GroupProgress:
    """The progress of one group of cells."""

    def __init__(self, group: CellGroup, number: int) -> None:
        self.group, self.number = group, number
        self._next_index = group.first_pending  # the first picture that no unit was made for
        self._outstanding = 0  # units that are being executed
        self._stream_busy = False  # whether one of them is of the stream
        self._buffered_rows: list[dict[int, Any]] = [{} for _ in group.cells]  # finished before their turn
        self._sequential = group.cells[0].attack_uses_cache  # then no artifact can be made in advance

    @property
    def finished(self) -> bool:
        """Whether every row is written and every unit is back."""
        return self.group.first_pending >= len(self.group.stream) and not self._outstanding

    def next_unit(self) -> WorkUnit | None:
        """The next unit that can be executed now, if any; the stream first, since its units depend on each other."""
        unit = self._stream_unit() or self._picture_unit()
        self._outstanding += unit is not None
        return unit

    def complete(self, unit: WorkUnit, result: WorkUnit) -> EvaluationStep:
        """Write a result to disk."""
        for attacked, made in result.stores.items():
            made.copy_to(self.group.stores[attacked])
        new = 0
        for file, writer, waiting in zip(self.group.files, result.files, self._buffered_rows):
            indices = [index for index in unit.requests if index >= writer.count]
            waiting.update(zip(indices, writer.lines))
            while (row := waiting.pop(file.count, None)) is not None:
                file.write(*row)
                new += 1
            if indices and unit.in_stream:
                file.cache = writer.cache
        self._outstanding -= 1
        self._stream_busy = self._stream_busy and not unit.in_stream
        return self.group.step(max(unit.requests), new)

    def _picture_unit(self) -> WorkUnit | None:
        """What can be done for the next picture out of order, artifacts of the stream included."""
        while not self._sequential and self._next_index < len(self.group.stream):
            index = self._next_index
            self._next_index += 1
            lacking = [cell for cell, file in zip(self.group.cells, self.group.files) if file.count <= index]
            tuned = self._tuned_cells(lacking)
            if any(not _streamed(cell) for cell in lacking) or (lacking and not self._is_ready(index, tuned)):
                prompts = self.group.stores[self.group.request(index).attacked].prompts
                return self._unit(False, [index], [cell for cell in tuned if prompts[tuning_key(cell)] is not None])
        return None

    def _stream_unit(self) -> WorkUnit | None:
        """The next pictures of the stream whose views and prompts are stored."""
        streamed = [(cell, file) for cell, file in zip(self.group.cells, self.group.files) if _streamed(cell)]
        if self._stream_busy or not streamed:
            return None
        tuned = self._tuned_cells(cell for cell, _ in streamed)
        prompts = self.group.stores[True].prompts
        costly = self._sequential or any(prompts[tuning_key(cell)] is None for cell in tuned)
        begin, indices = min(file.count for _, file in streamed), list[int]()
        for index in range(begin, min(begin + (1 if costly else BATCH_SIZE), len(self.group.stream))):
            if not self._sequential and not self._is_ready(index, tuned):
                break
            indices.append(index)
        self._stream_busy = bool(indices)
        return self._unit(True, indices) if indices else None

    def _is_ready(self, index: int, tuned: Iterable[Cell]) -> bool:
        """Whether views and prompts of a picture are stored, where they can be."""
        request = self.group.request(index)
        stores = self.group.stores[request.attacked]
        wanted = [stores.views, *(stores.prompts[tuning_key(cell)] for cell in tuned)]
        return all(request.item.key in store.store for store in wanted if store is not None)

    def _tuned_cells(self, cells: Iterable[Cell]) -> list[Cell]:
        """One of the cells for every tuning that they need."""
        return list({tuning_key(cell): cell for cell in cells if not DEFENCES[cell.method].baseline}.values())

    def _unit(self, in_stream: bool, indices: Sequence[int], tuned_as_well: Sequence[Cell] = ()) -> WorkUnit:
        group, requests = self.group, {index: self.group.request(index) for index in indices}
        pixels = self._sequential or not in_stream
        stores = {
            attacked: stores.in_memory([one.item.key for one in requests.values() if one.attacked == attacked], pixels)
            for attacked, stores in group.stores.items()
        }
        files = [
            RowWriter(file.columns, file.cache, file.count)
            if _streamed(cell) == in_stream
            else RowWriter(file.columns, None, len(group.stream))  # not of this unit
            for cell, file in zip(group.cells, group.files)
        ]
        packed = {index: _packed(request, pixels) for index, request in requests.items()}
        return WorkUnit(self.number, in_stream, group.cells, files, packed, stores, tuned_as_well)


def _streamed(cell: Cell) -> bool:
    return cell.settings.protocol == "stream"


def _packed(request: PictureRequest, pixels: bool) -> PictureRequest:
    """The request for another machine: with the file as data, or without where its views are known."""
    try:
        return replace(request, item=request.item.with_data() if pixels else replace(request.item, path=None))
    except DemoError as error:
        raise with_picture_name(request.item, error) from error


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

    def complete(self, unit: WorkUnit, result: WorkUnit) -> EvaluationStep:
        """Write the result of a unit to disk, apart from rows before their turn."""
        progress = self._active[unit.group]
        step = progress.complete(unit, result)
        self.new_rows += step.new
        if progress.finished:
            del self._active[unit.group]
        return step

    def requeue(self, unit: WorkUnit) -> None:
        """A worker was lost: its unit is the next one."""
        self._requeued.append(unit)
