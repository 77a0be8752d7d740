"""A measurement as a whole: what was asked for is collected, the run folder held, the work given to an executor."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from rita_demo.engine import Engine
from rita_demo.errors import DataError
from rita_demo.evaluation import files, here, plan
from rita_demo.evaluation.answering import Answering
from rita_demo.evaluation.by_dataset import on
from rita_demo.evaluation.collection import Collection, collect
from rita_demo.evaluation.executor import Say, executor
from rita_demo.evaluation.groups import RunFolder, Step, tasks_of
from rita_demo.evaluation.request import NEXT, Request


@dataclass(frozen=True)
class Done:
    """What a run did: cells asked for, rows they hold, rows that are new, seconds it took."""

    cells: int
    rows: int
    new: int
    seconds: float


def evaluate(request: Request, say: Say = lambda _: None, how: str = "local") -> Done:
    """Measure what was asked for; what is already in the run folder is not measured again.

    ``how`` names the executor, see :mod:`rita_demo.evaluation.executor`.

    Raises:
        DemoError: a dataset, model or setting that cannot be used, a folder that is in use, a full disk,
            a cluster that cannot be reached.
    """
    begin = time.perf_counter()
    measure = executor(how)
    datasets = {name: _collected(request, name) for name in request.datasets}
    with _writing(request.out):
        new = measure(request, datasets, say)
    cells, rows = 0, 0
    for task in tasks_of(request):
        count = len(plan.cells_of(on(request, task.dataset), task.seed))
        cells, rows = cells + count, rows + count * len(datasets[task.dataset].entries)
    return Done(cells, rows, new, time.perf_counter() - begin)


def evaluating(request: Request, engine: Engine) -> Generator[Step, None, None]:
    """The same one picture at a time, with an engine that is there already.

    Leaving it between two pictures loses nothing: asked for again, it goes on where it was. The
    run folder is held until the generator ends or is closed.

    Raises:
        DemoError: as :func:`evaluate`.
    """
    datasets = {name: _collected(request, name) for name in request.datasets}
    with _writing(request.out):
        model = Answering(engine)
        run = RunFolder(request, datasets, model.facts)
        for task in tasks_of(request):
            yield from _together(here.steps(model, group) for group in run.groups(task))


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


def _collected(request: Request, name: str) -> Collection:
    on(request, name)  # what does not fit together is told before a model is loaded
    return collect(
        name, request.data_root, request.split, limit=request.limit,
        allow_partial=request.allow_partial,
        left_out="" if request.target == NEXT else request.target,
    )  # fmt: skip
