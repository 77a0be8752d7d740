"""One measurement: collect the pictures, lock the run folder, measure it here or with Ray."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, zip_longest
from pathlib import Path

from rita_demo.data.pictures import square_words
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator, prepare_ahead
from rita_demo.evaluation.pick import pick
from rita_demo.evaluation.pictures import PictureSet, collect
from rita_demo.evaluation.planned_cells import settings_for
from rita_demo.evaluation.request import NEXT_CLASS, Request
from rita_demo.evaluation.store import files
from rita_demo.evaluation.store.cell_file import refuse_earlier_run
from rita_demo.evaluation.store.failed import Failure
from rita_demo.evaluation.store.run_folder import CellGroup, EvaluationStep, Pace, RunFolder
from rita_demo.records.errors import DataError, DemoError

Report = Callable[[str], object]


@dataclass(frozen=True)
class RunSummary:
    """What a run did: requested ``cells``, their ``rows``, the rows that are new, and seconds; ``square``: which one was
    attacked, in words, "" where none was; ``failures``: faults of the user's own code."""

    cells: int
    rows: int
    new_rows: int
    seconds: float
    square: str = ""
    failures: tuple[Failure, ...] = ()


def evaluate(
    request: Request,
    report: Report = lambda _: None,
    executor: str = "local",
    report_note: Report = lambda _: None,
    warn: Report = lambda _: None,
) -> RunSummary:
    """Measure what is requested and not yet stored in the run folder.

    ``executor``: one of ``EXECUTORS``. ``report_note`` gets each sentence on the file of a dataset's class names and on
    what is in it and not measured, ``warn`` those on listed pictures that are missing, on a random split, on class folders
    that are called by numbers, and on class names that the model cannot tell apart ("" where there are none).

    Raises:
        DemoError: a dataset, model or setting that cannot be used, a folder that is in use, a full disk, a cluster
            that cannot be reached, a package that is not installed.
    """
    begin = time.perf_counter()
    if executor == "ray" and find_spec("ray") is None:
        raise DemoError(
            "The executor ray needs the package ray, which is not installed.",
            "Install it with: pip install -r requirements-ray.txt -c constraints.txt",
        )
    datasets = _picture_sets(request, report, report_note, warn)
    with _lock_run_folder(request.out):
        if executor == "ray":  # optional, so no import statement names it
            new, run = import_module("rita_demo.evaluation.executors.ray").measure(request, datasets, report, warn)
        else:
            new, run = _measure(request, datasets, report, warn)
    failures = run.failures
    cells, rows = 0, -sum(one.answers for one in failures)
    for name, seed in request.runs:
        count = len(planned_cells.cells_of(settings_for(request, name), seed))
        cells, rows = cells + count, rows + count * len(datasets[name].items)
    square = _attacked_square(request, run.facts.info.side)
    return RunSummary(cells, rows, new, time.perf_counter() - begin, square, failures)


def _attacked_square(request: Request, side: int) -> str:
    """``side``: of the model's input, in pixels."""
    squares = dict.fromkeys(point.square for point in request.points if point.attack != "none")
    return " and ".join(square_words(square, side if square == "model" else None) for square in squares)


def _measure(
    request: Request, picture_sets: Mapping[str, PictureSet], report: Report, warn: Report
) -> tuple[int, RunFolder]:
    """Measure group after group in this process; returns the number of new rows and the folder."""
    from rita_demo.engine.engine import Engine  # loads torch

    model, new = PictureEvaluator(Engine(request.backbone)), 0
    for pictures in picture_sets.values():
        warn(model.names_warning(pictures))
    run = RunFolder(request, picture_sets, model.facts)
    for step in chain.from_iterable(_group_steps(model, group) for group in run.all_groups()):
        report(f"{step.pace}; {step.sentence}")
        new += step.new
    return new, run


def evaluate_steps(
    request: Request,
    engine: Engine,
    own: Mapping[str, PictureSet] | None = None,
    report_note: Report = lambda _: None,
    warn: Report = lambda _: None,
    pace: Pace | None = None,
) -> Generator[EvaluationStep, None, None]:
    """Measure what is not yet stored, one picture at a time, with an existing engine. ``own``: pictures of datasets that
    are no files, or were collected before. ``pace``: of all requests, where this is one of several.

    The run folder is locked until the generator ends or is closed; closed early, the same request resumes.

    Raises:
        DemoError: as :func:`evaluate`.
    """
    datasets = own or _picture_sets(request, lambda _: None, report_note, warn)
    with _lock_run_folder(request.out):
        model = PictureEvaluator(engine)
        for pictures in datasets.values():
            warn(model.names_warning(pictures))
        run = RunFolder(request, datasets, model.facts, pace)
        for name, seed in request.runs:
            yield from _round_robin(_group_steps(model, group) for group in run.groups(name, seed))


def _group_steps(model: PictureEvaluator, group: CellGroup) -> Iterator[EvaluationStep]:
    """Measure what the cells of a group lack, one picture at a time."""
    for index in range(group.first_pending, len(group.stream)):
        prepare_ahead(model, group, index)
        model.decide_ahead(group, index)
        yield group.step(index, model.measure(group, index))


def _round_robin(groups: Iterable[Iterator[EvaluationStep]]) -> Iterator[EvaluationStep]:
    """One step is one picture of every group, so that cells with different views advance together."""
    for steps in zip_longest(*groups):
        present = [step for step in steps if step is not None]
        fault = next((step.fault for step in present if step.fault), "")
        yield replace(min(present, key=lambda s: s.done), new=sum(step.new for step in present), fault=fault)


@contextmanager
def _lock_run_folder(out: Path) -> Iterator[None]:
    try:
        with files.exclusive_lock(out):
            refuse_earlier_run(out)
            yield
    except OSError as error:
        raise DataError(
            f"The results cannot be written: {error.strerror}.",
            "Make room or name another folder with --out; the same command goes on.",
        ) from error


def _picture_sets(request: Request, report: Report, report_note: Report, warn: Report) -> dict[str, PictureSet]:
    sets = {name: _picture_set(request, name, report) for name in request.datasets}
    for sentence in chain.from_iterable(pictures.cautions for pictures in sets.values()):
        warn(sentence)
    for sentence in chain.from_iterable(pictures.notes for pictures in sets.values()):
        report_note(sentence)
    return sets


def _picture_set(request: Request, name: str, report: Report) -> PictureSet:
    settings_for(request, name)  # settings that do not fit the dataset are reported before a model is loaded
    return collect(
        name,
        request.data_root,
        request.split,
        limit=request.limit,
        allow_partial=request.allow_partial,
        exclusions="" if request.target == NEXT_CLASS else request.target,
        report=report,
        **({} if request.chosen is None else {"pick": partial(pick, request.chosen)}),
    )
