"""Work as values: a work unit goes to any process that has the model, and its result comes back.

A unit holds the files of its pictures, their known artifacts, and the caches to start from; a result holds rows and
new artifacts. Work units are idempotent.
"""

from dataclasses import dataclass, field
from typing import Any

from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator
from rita_demo.evaluation.planned_cells import Cell
from rita_demo.evaluation.store.artifacts import Artifact, MemoryStore
from rita_demo.evaluation.store.cell_file import RowWriter
from rita_demo.evaluation.store.run_folder import PictureRequest
from rita_demo.evaluation.store.tuned_prompts import TunedPromptStore, stored_shape
from rita_demo.evaluation.store.views_and_attacks import AttackedPictureStore, EncodedPictureStore
from rita_demo.records import CacheState

IndexedRow = tuple[int, dict[str, Any], bytes]  # index in the stream, row, features that entered the cache


@dataclass(frozen=True)
class Artifacts:
    """The artifacts of a picture: its encoded views, its attacked square, and tuned prompts by tuning key."""

    views: Artifact | None
    attack: Artifact | None
    tuned: dict[Any, Artifact | None]


@dataclass(frozen=True)
class PictureTask:
    """Picture number ``index`` of the stream.

    ``known`` artifacts; its ``tuned`` has a key for every prompt update that is needed and stored. ``due_cells``:
    positions of the unit's cells that answer.
    """

    index: int
    request: PictureRequest
    known: Artifacts
    due_cells: tuple[int, ...]


@dataclass(frozen=True)
class WorkUnit:
    """Pictures in stream order, for ``cells`` that share their views.

    ``group``: the group's number; ``in_stream``: whether these are its cells with a stream. ``columns`` and
    ``caches`` belong to the cells; ``tuning_cells``: a cell for every tuning key.
    """

    group: int
    in_stream: bool
    cells: tuple[Cell, ...]
    columns: tuple[dict[str, Any], ...]
    caches: tuple[CacheState | None, ...]
    tuning_cells: dict[Any, Cell]
    tasks: tuple[PictureTask, ...]


@dataclass(frozen=True)
class WorkResult:
    """New ``artifacts`` per task; ``rows`` and final ``caches`` per cell of the unit."""

    artifacts: tuple[Artifacts, ...]
    rows: tuple[tuple[IndexedRow, ...], ...]
    caches: tuple[CacheState | None, ...]


@dataclass
class BufferedWriter(RowWriter):
    """Collects a cell's rows in memory."""

    index: int = 0
    rows: list[IndexedRow] = field(default_factory=list)

    def write(self, line: dict[str, Any], features: bytes) -> None:
        self.rows.append((self.index, line, features))


def execute(model: PictureEvaluator, unit: WorkUnit) -> WorkResult:
    """Execute a work unit.

    Raises:
        DemoError: a picture that cannot be used; the message names it.
    """
    writers = [BufferedWriter(columns, cache) for columns, cache in zip(unit.columns, unit.caches)]
    artifacts = tuple(_execute_task(model, unit, task, writers) for task in unit.tasks)
    rows = tuple(tuple(writer.rows) for writer in writers)
    return WorkResult(artifacts, rows, tuple(writer.cache for writer in writers))


def _execute_task(
    model: PictureEvaluator, unit: WorkUnit, task: PictureTask, writers: list[BufferedWriter]
) -> Artifacts:
    request, known, width = task.request, task.known, model.facts.info.width
    views, attack = MemoryStore(known.views), MemoryStore(known.attack)
    tuned = {key: MemoryStore(artifact) for key, artifact in known.tuned.items()}
    settings = request.view_cell.requested
    prompt_stores: dict[Any, TunedPromptStore | None] = dict.fromkeys(unit.tuning_cells)
    for key, store in tuned.items():
        shape = stored_shape(len(request.names), width, unit.tuning_cells[key].settings)
        assert shape is not None  # only stored prompts are listed
        prompt_stores[key] = TunedPromptStore(store, shape)
    encoded = model.encode(
        request,
        EncodedPictureStore(views, (settings.views, width), settings.view_scale),
        AttackedPictureStore(attack) if settings.attack != "none" else None,
        writers[0].cache if request.attacked and unit.cells and unit.cells[0].attack_uses_cache else None,
    )
    for key, prompt_store in prompt_stores.items():
        if prompt_store is not None:
            model.tune_prompts(request, encoded, unit.tuning_cells[key], prompt_store)
    for position in task.due_cells:
        writers[position].index = task.index
    model.evaluate(request, encoded, [(unit.cells[n], writers[n]) for n in task.due_cells], prompt_stores)
    return Artifacts(views.added, attack.added, {key: store.added for key, store in tuned.items()})
