"""One measurement: what is requested and not yet stored, picture after picture, each in one transaction."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np

from rita_demo.data import memory_file
from rita_demo.data.pictures import square_words
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.artifacts import Artifacts
from rita_demo.evaluation.evaluate_picture import CellState, Group, PictureEvaluator, Places, cache_after
from rita_demo.evaluation.frames import measurements, read
from rita_demo.evaluation.measurement import facts_of
from rita_demo.evaluation.pace import Kind, Pace
from rita_demo.evaluation.pick import pick
from rita_demo.evaluation.pictures import PictureSet, collect
from rita_demo.evaluation.planned_cells import Cell, ModelFacts, cells_of, groups_by_views, key_of, settings_for
from rita_demo.evaluation.report.cells import failure_lines
from rita_demo.evaluation.request import NEXT_CLASS, Request
from rita_demo.evaluation.rows import Row, Rows
from rita_demo.process.generators import Steps
from rita_demo.records import CacheState
from rita_demo.records.errors import DemoError, SettingError

Report = Callable[[str], object]
#: A place in the stream of a group, and the rows of its picture.
Measured = tuple[Group, int, list[Row]]
Executor = Callable[[Iterable[Group]], Iterator[Measured]]


@dataclass(frozen=True)
class EvaluationStep:
    """A picture was measured: number ``done`` of ``total`` in its group; ``new`` answers; a ``sentence`` of progress, one on
    the ``pace`` of the whole request, and one on the ``fault`` of a user's own code, if one left out an answer.
    ``meanwhile``: rows that another process had written before."""

    done: int
    total: int
    new: int
    sentence: str
    pace: str
    fault: str = ""
    meanwhile: int = 0


@dataclass(frozen=True)
class RunSummary:
    """What a run did: requested ``cells``, their ``rows``, the rows that are new, those that another process wrote
    ``meanwhile``, and seconds; ``square``: which one was attacked, in words, "" where none was; ``failures``: sentences on
    the faults of the user's own code."""

    cells: int
    rows: int
    new_rows: int
    seconds: float
    square: str = ""
    failures: tuple[str, ...] = ()
    meanwhile: int = 0


@dataclass(frozen=True)
class Planned:
    """Cells of one dataset and seed that share their views."""

    dataset: str
    seed: int
    cells: list[Cell]


class Plan:
    """What a request measures on these pictures with this model. ``memory``: the digest of the one that streams begin with."""

    def __init__(
        self, request: Request, picture_sets: Mapping[str, PictureSet], facts: ModelFacts, memory: str = ""
    ) -> None:
        self.request, self.picture_sets, self.facts, self.memory = request, picture_sets, facts, memory
        self.groups = [
            Planned(name, seed, cells)
            for name, seed in request.runs
            for cells in self._by_views(cells_of(settings_for(request, name, picture_sets[name].names), seed), name)
        ]

    def _by_views(self, cells: Iterable[Cell], dataset: str) -> list[list[Cell]]:
        return groups_by_views(cells, self.picture_sets[dataset], self.facts, self.memory)

    @property
    def totals(self) -> Counter[Kind]:
        """Kind of group -> pictures to measure, once per group of cells."""
        totals: Counter[Kind] = Counter()
        for group in self.groups:
            totals[Kind.of(group.cells)] += len(self.picture_sets[group.dataset].items)
        return totals

    def open(self, rows: Rows, artifacts: Artifacts, planned: Planned, begin: CacheState | None) -> Group:
        """A group with what its cells lack, and the memory of each stream rebuilt from its rows."""
        pictures, model, cells = self.picture_sets[planned.dataset], self.facts, planned.cells
        stream = pictures.stream(planned.seed, cells[0].traffic.order)
        items = {(item.id, item.content): at for at, item in enumerate(stream)}
        states = []
        for cell in cells:
            facts = facts_of(cell, pictures, model)
            if cell.settings.protocol == "stream" and self.request.memory is not None:
                facts["memory"] = f"{self.request.memory.name} ({self.memory[:8]})"
            number = rows.measurement(key_of(cell, pictures, model, self.memory), facts)
            rows.forget_faults(number)
            stored, cache = rows.stored(number), None
            missing = {at for item, at in items.items() if item not in stored}
            if cell.settings.protocol == "stream":
                cache = _memory_of(cell, pictures, model, begin)
                known = rows.stream(number)[: min(missing, default=len(stream))]
                missing, cache = set(range(len(known), len(stream))), cache_after(cache, known)
            states.append(CellState(cell, number, missing, cache))
        by_attacked = {True: cells, False: [cell.clean for cell in cells]}
        places = {hit: Places.of(some, pictures, model, hit, self.memory) for hit, some in by_attacked.items()}
        attacked = pictures.attacked(planned.seed, cells[0].traffic.share)
        return Group(pictures.dataset, pictures.names, planned.seed, states, stream, attacked, places, artifacts)


def _exported_memory(
    request: Request, engine: Engine, picture_sets: Iterable[PictureSet]
) -> tuple[CacheState | None, str]:
    """The memory that kept ones begin with, and a digest of what is in it; None and "" for an empty one.

    Raises:
        DemoError: the file is no memory, or of another model or other class names.
    """
    if request.memory is None:
        return None, ""
    data = memory_file.read_file(request.memory)
    for pictures in picture_sets:
        prompts = engine.encode_classes(pictures.names, request.points[0])
        state = memory_file.unpack(data, prompts, engine.info.name).state_at()
    for slots in {point.slots for point in request.points} - {state.features.shape[1]}:
        raise SettingError(
            f"The memory in {request.memory.name} has {state.features.shape[1]} places per class; got slots={slots}.",
            f"Measure with --set slots={state.features.shape[1]}.",
        )
    arrays = (state.features, state.entropy, state.born, state.view, state.count)
    content = hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays))
    return state, f"{content.hexdigest()[:16]}/{state.pictures}"


def _memory_of(cell: Cell, pictures: PictureSet, model: ModelFacts, begin: CacheState | None) -> CacheState:
    """The memory that a stream begins with."""
    from rita_demo.engine.engine import empty_cache_for  # loads torch

    if begin is not None:
        if DEFENCES[cell.method].memory_shape is None:
            return begin
        if (own := begin.others.get(cell.method)) is not None:
            return own
    return empty_cache_for(model.info, pictures.names, cell.settings, cell.method)


def evaluate(
    request: Request,
    report: Report = lambda _: None,
    executor: str = "local",
    report_note: Report = lambda _: None,
    warn: Report = lambda _: None,
) -> RunSummary:
    """Measure what is requested and not yet stored in the run folder.

    ``executor``: one of ``EXECUTORS``. ``report_note`` gets each sentence on the file of a dataset's class names, on what is
    in it and not measured, and on the rows that are there already; ``warn`` those on listed pictures that are missing, on a
    random split, on class folders that are called by numbers, and on class names that the model cannot tell apart.

    Raises:
        DemoError: a dataset, model or setting that cannot be used, a folder that cannot be written, a full disk, a cluster
            that cannot be reached, a package that is not installed.
    """
    begin, measure = time.perf_counter(), None
    if executor == "ray" and find_spec("ray") is None:
        raise DemoError(
            "The executor ray needs the package ray, which is not installed.",
            "Install it with: pip install -r requirements-ray.txt -c constraints.txt",
        )
    datasets = picture_sets(request, report, report_note, warn)
    from rita_demo.engine.engine import Engine  # loads torch

    engine = Engine(request.backbone)
    if executor == "ray":  # optional, so no import statement names it
        on_ray = import_module("rita_demo.evaluation.on_ray")
        measure = partial(on_ray.measure, request.backbone, engine.weights_key())
    steps, new, meanwhile = Steps(evaluate_steps(request, engine, datasets, report_note, warn, measure=measure)), 0, 0
    for step in steps:
        report(f"{step.pace}; {step.sentence}")
        new, meanwhile = new + step.new, meanwhile + step.meanwhile
    failed, failures = _failures(request.out, steps.value)
    cells, rows = 0, -failed
    for name, seed in request.runs:
        count = len(cells_of(settings_for(request, name), seed))
        cells, rows = cells + count, rows + count * len(datasets[name].items)
    square = _attacked_square(request, engine.info.side)
    return RunSummary(cells, rows, new, time.perf_counter() - begin, square, failures, meanwhile)


def _failures(out: Path, numbers: frozenset[int]) -> tuple[int, tuple[str, ...]]:
    """How many answers the user's own code left out of these measurements, and sentences on why."""
    about = measurements(out)
    about = about[about["id"].isin(numbers)]
    if not (failed := int(about["faults"].sum())):
        return 0, ()
    rows = read(out)
    return failed, tuple(failure_lines(rows[rows["measurement"].isin(about.index)], about))


def _attacked_square(request: Request, side: int) -> str:
    """``side``: of the model's input, in pixels."""
    squares = dict.fromkeys(point.square for point in request.points if point.attack != "none")
    return " and ".join(square_words(square, side if square == "model" else None) for square in squares)


def evaluate_steps(
    request: Request,
    engine: Engine,
    own: Mapping[str, PictureSet] | None = None,
    report_note: Report = lambda _: None,
    warn: Report = lambda _: None,
    pace: Pace | None = None,
    *,
    together: bool = False,
    measure: Executor | None = None,
) -> Generator[EvaluationStep, None, frozenset[int]]:
    """Measure what is not yet stored, one picture at a time, with an existing engine, what takes least first; returns the
    numbers of the measurements in the run folder. ``own``: pictures
    of datasets that are no files, or were collected before. ``pace``: of all requests, where this is one of several.
    ``together``: the cells of one dataset and seed advance together, whatever their views. ``measure``: where the work is
    done; None: here.

    Closed early, the same request goes on.

    Raises:
        DemoError: as :func:`evaluate`.
    """
    datasets = own or picture_sets(request, lambda _: None, report_note, warn)
    evaluator = PictureEvaluator(engine)
    for pictures in datasets.values():
        warn(evaluator.names_warning(pictures))
    begin, memory = _exported_memory(request, engine, datasets.values())
    plan = Plan(request, datasets, evaluator.facts, memory)
    pace = pace or Pace(plan.totals)
    with Rows(request.out) as rows:
        artifacts = Artifacts(request.out)
        try:
            groups = [plan.open(rows, artifacts, one, begin) for one in plan.groups]
            found = total = 0
            for group in groups:
                counts = [len(group.stream) - len(state.missing) for state in group.states]
                pace.add_stored(Kind.of(group.cells), sum(counts) / len(counts))
                found, total = found + sum(counts), total + len(counts) * len(group.stream)
            if found:
                report_note(f"{found} of {total} rows are there already.")
            groups.sort(key=lambda group: Kind.of(group.cells).passes)
            titles = {id(group): f"part {number} of {len(groups)}" for number, group in enumerate(groups, 1)}
            local = partial(_together if together else _in_turn, evaluator)
            for group, index, measured in (measure or local)(groups):
                new = rows.write(measured)
                artifacts.write()
                kind = Kind.of(group.cells)
                pace.add(kind, len(measured) / len(group.states))
                yield _step(group, index, measured, new, titles[id(group)], kind.attack, pace)
        finally:
            artifacts.close()
    return frozenset(state.measurement for group in groups for state in group.states)


def _step(
    group: Group, index: int, measured: Sequence[Row], new: int, title: str, attack: str, pace: Pace
) -> EvaluationStep:
    """The progress after a picture."""
    fault = next((row["fault"] for row in measured if row.get("fault")), "")
    failed = sum(row.get("fault") is not None for row in measured)
    about = f"{group.dataset}, seed {group.seed}, {attack}, {title}: picture {index + 1} of {len(group.stream)}"
    ignored = len(measured) - new
    return EvaluationStep(index + 1, len(group.stream), max(new - failed, 0), about, pace.sentence, fault, ignored)


def _in_turn(evaluator: PictureEvaluator, groups: Iterable[Group]) -> Iterator[Measured]:
    """Group after group, in this process."""
    for group in groups:
        for index in group.missing:
            yield group, index, evaluator.measure(group, index)


def _together(evaluator: PictureEvaluator, groups: Iterable[Group]) -> Iterator[Measured]:
    """One picture of every group, then the next one of each: cells with different views advance together."""
    return filter(None, chain.from_iterable(zip_longest(*(_in_turn(evaluator, [group]) for group in groups))))


def picture_sets(request: Request, report: Report, report_note: Report, warn: Report) -> dict[str, PictureSet]:
    """The pictures of a request by dataset, each opened once."""
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
