"""One measurement: collect the pictures, lock the run folder, pass the work to an executor."""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.dataset_settings import settings_for
from rita_demo.evaluation.executors import local
from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator
from rita_demo.evaluation.executors.registry import Report, executor
from rita_demo.evaluation.pictures import PictureSet, collect
from rita_demo.evaluation.request import NEXT_CLASS, Request
from rita_demo.evaluation.store import files
from rita_demo.evaluation.store.run_folder import EvaluationStep, RunFolder, dataset_runs
from rita_demo.records.errors import DataError


@dataclass(frozen=True)
class RunSummary:
    """What a run did: requested ``cells``, their ``rows``, the rows that are new, and seconds."""

    cells: int
    rows: int
    new_rows: int
    seconds: float


def evaluate(request: Request, report: Report = lambda _: None, executor_name: str = "local") -> RunSummary:
    """Measure what is requested and not yet stored in the run folder.

    ``executor_name``: see :mod:`rita_demo.evaluation.executors.registry`.

    Raises:
        DemoError: a dataset, model or setting that cannot be used, a folder that is in use, a full disk,
            a cluster that cannot be reached.
    """
    begin = time.perf_counter()
    measure = executor(executor_name)
    datasets = {name: _picture_set(request, name) for name in request.datasets}
    with _lock_run_folder(request.out):
        new = sum(measure(part, datasets, report) for part in _guests_last(request))
    cells, rows = 0, 0
    for task in dataset_runs(request):
        count = len(planned_cells.cells_of(settings_for(request, task.dataset), task.seed))
        cells, rows = cells + count, rows + count * len(datasets[task.dataset].items)
    return RunSummary(cells, rows, new, time.perf_counter() - begin)


def evaluate_steps(
    request: Request, engine: Engine, own: Mapping[str, PictureSet] | None = None
) -> Generator[EvaluationStep, None, None]:
    """The same one picture at a time, with an existing engine. ``own``: pictures of datasets that are no files.

    The run folder is locked until the generator ends or is closed; closed early, the same request resumes.

    Raises:
        DemoError: as :func:`evaluate`.
    """
    datasets = {name: (own or {}).get(name) or _picture_set(request, name) for name in request.datasets}
    with _lock_run_folder(request.out):
        model = PictureEvaluator(engine)
        run = RunFolder(request, datasets, model.facts)
        for task in dataset_runs(request):
            yield from _round_robin(local.measure_steps(model, group) for group in run.groups(task))


def _round_robin(groups: Iterable[Iterator[EvaluationStep]]) -> Iterator[EvaluationStep]:
    """One step is one picture of every group, so that cells with different views advance together."""
    for steps in zip_longest(*groups):
        present = [step for step in steps if step is not None]
        yield replace(min(present, key=lambda s: s.done), new=sum(step.new for step in present))


def _guests_last(request: Request) -> list[Request]:
    """The request without users' own defences, then all of it: an error of theirs cannot stop the others."""
    others = tuple(name for name in request.methods if not DEFENCES[name].guest)
    return [request] if others in ((), request.methods) else [replace(request, methods=others), request]


@contextmanager
def _lock_run_folder(out: Path) -> Iterator[None]:
    try:
        with files.exclusive_lock(out):
            yield
    except OSError as error:
        raise DataError(
            f"The results cannot be written: {error.strerror}.",
            "Make room or name another folder with --out; the same command goes on.",
        ) from error


def _picture_set(request: Request, name: str) -> PictureSet:
    settings_for(request, name)  # settings that do not fit the dataset are reported before a model is loaded
    return collect(
        name,
        request.data_root,
        request.split,
        limit=request.limit,
        allow_partial=request.allow_partial,
        exclusions="" if request.target == NEXT_CLASS else request.target,
    )
