"""One measurement: what is requested and not yet stored, picture after picture, each in one transaction."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, product, zip_longest
from typing import NamedTuple

import numpy as np

from rita_demo.attacks import differentiated
from rita_demo.data import memory_file
from rita_demo.data.pictures import square_words
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.artifacts import Artifacts
from rita_demo.evaluation.evaluate_picture import CellState, Group, PictureEvaluator, Places, cache_after
from rita_demo.evaluation.frames import measurements, read
from rita_demo.evaluation.measurement import facts_of
from rita_demo.evaluation.pictures import PictureSet, collect
from rita_demo.evaluation.planned_cells import Cell, ModelFacts, cells_of, key_of, settings_for, views_key
from rita_demo.evaluation.report.cells import failure_lines
from rita_demo.evaluation.request import NEXT_CLASS, Request
from rita_demo.evaluation.rows import Row, Rows, stored_measurements, text_of
from rita_demo.process.generators import Steps
from rita_demo.records import CacheState
from rita_demo.records.errors import DemoError, SettingError
from rita_demo.records.grouping import group_by

Report = Callable[[str], object]
#: A place in the stream of a group, and the rows of its picture.
Measured = tuple[Group, int, list[Row]]
Executor = Callable[[Iterable[Group]], Iterator[Measured]]


class Kind(NamedTuple):
    """What decides how long a picture of a group of cells takes: its attack, its methods, and about how many ``passes`` of
    the model attack and views are, a forward pass as a third of one with a gradient."""

    attack: str
    methods: tuple[str, ...]
    passes: float

    @classmethod
    def of(cls, group: Sequence[Cell]) -> Kind:
        """The kind of a group of cells that share their views."""
        requested = group[0].requested
        fresh = requested.attack_views if differentiated(requested) != "model" else 1
        methods = tuple(dict.fromkeys(cell.method for cell in group))
        return cls(requested.attack, methods, group[0].steps * fresh + requested.views / 3)


class Pace:
    """How far and how fast a measurement is, in pictures, each counted once per group of cells. ``groups``: the kind of
    each, and its pictures. A kind's own speed says how long the rest of it takes; before a picture of it is measured, its
    passes of the model beside those of the others."""

    def __init__(self, groups: Iterable[tuple[Kind, int]]) -> None:
        self._totals, self._last = Counter[Kind](), time.perf_counter()
        for kind, pictures in groups:
            self._totals[kind] += pictures
        self._done, self._new, self._seconds = (dict.fromkeys(self._totals, 0.0) for _ in range(3))

    def add_stored(self, kind: Kind, pictures: float) -> None:
        """``pictures`` of a group that is opened are stored already."""
        self._done[kind] += pictures

    def add(self, kind: Kind, pictures: float) -> None:
        """``pictures`` were measured since the last call."""
        now = time.perf_counter()
        for counter, more in ((self._done, pictures), (self._new, pictures), (self._seconds, now - self._last)):
            counter[kind] += more
        self._last = now

    @property
    def sentence(self) -> str:
        """Pictures done of all, per second, and the time left."""
        counted = f"{sum(self._done.values()):.0f} of {sum(self._totals.values())} in all"
        if not (new := sum(self._new.values())):
            return counted
        spent = sum(self._seconds.values())
        per_pass = spent / sum(pictures * kind.passes for kind, pictures in self._new.items())
        left = sum(
            (total - self._done[kind])
            * (self._seconds[kind] / self._new[kind] if self._new[kind] else per_pass * kind.passes)
            for kind, total in self._totals.items()
        )
        rate = new / spent
        speed = f"{rate:.2g}" if rate < 10 else f"{rate:.0f}"
        return f"{counted}, {speed} pictures per second, {timedelta(seconds=round(left))} left"


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


def _exported_memory(
    request: Request, engine: Engine, picture_sets: Iterable[PictureSet]
) -> tuple[CacheState | None, str]:
    """The memory that kept ones begin with, and a digest of what is in it; None and "" for an empty one. Raises
    DemoError: the file is no memory, or of another model or other class names."""
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
    content = hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
    return state, f"{content.hexdigest()[:16]}/{state.pictures}"


def _open_group(
    request: Request,
    pictures: PictureSet,
    seed: int,
    cells: list[Cell],
    model: ModelFacts,
    memory: tuple[CacheState | None, str],
    rows: Rows,
    artifacts: Artifacts,
) -> Group:
    """Cells of one dataset and seed that share their views, with what each lacks and the memory of each stream rebuilt from
    its rows. ``memory``: see :func:`_exported_memory`."""
    from rita_demo.engine.engine import empty_cache_for  # loads torch

    begin, digest = memory
    stream = pictures.stream(seed, cells[0].traffic.order)
    items = {(item.id, item.content): at for at, item in enumerate(stream)}
    states = []
    for cell in cells:
        in_stream, facts = cell.settings.protocol == "stream", facts_of(cell, pictures, model)
        if in_stream and request.memory is not None:
            facts["memory"] = f"{request.memory.name} ({digest[:8]})"
        number = rows.measurement(key_of(cell, pictures, model, digest), facts)
        rows.forget_faults(number)
        stored, cache = rows.stored(number), None
        missing = {at for item, at in items.items() if item not in stored}
        if in_stream:  # from the first missing picture on, with the memory before it
            cache = begin
            if begin is not None and DEFENCES[cell.method].memory_shape is not None:  # a defence with one of its own
                cache = begin.others.get(cell.method)
            if cache is None:
                cache = empty_cache_for(model.info, pictures.names, cell.settings, cell.method)
            known = rows.stream(number)[: min(missing, default=len(stream))]
            missing, cache = set(range(len(known), len(stream))), cache_after(cache, known)
        states.append(CellState(cell, number, missing, cache))
    by_attacked = {True: cells, False: [cell.clean for cell in cells]}
    places = {hit: Places.of(some, pictures, model, hit, digest) for hit, some in by_attacked.items()}
    attacked = pictures.attacked(seed, cells[0].traffic.share)
    return Group(pictures.dataset, pictures.names, seed, states, stream, attacked, places, artifacts)


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
    groups, failures = steps.value, tuple[str, ...]()
    numbers = {state.measurement for group in groups for state in group.states}
    if failed := sum(one["faults"] for one in stored_measurements(request.out) if one["id"] in numbers):
        stored, about = read(request.out), measurements(request.out)
        about = about[about["id"].isin(numbers)]
        failures = tuple(failure_lines(stored[stored["measurement"].isin(about.index)], about))
    cells, rows = 0, -failed
    for group in groups:
        cells, rows = cells + len(group.states), rows + len(group.states) * len(group.stream)
    squares = dict.fromkeys(point.square for point in request.points if point.attack != "none")
    square = " and ".join(square_words(one, engine.info.side if one == "model" else None) for one in squares)
    return RunSummary(cells, rows, new, time.perf_counter() - begin, square, failures, meanwhile)


def evaluate_steps(
    request: Request,
    engine: Engine,
    own: Mapping[str, PictureSet] | None = None,
    report_note: Report = lambda _: None,
    warn: Report = lambda _: None,
    *,
    together: bool = False,
    measure: Executor | None = None,
) -> Generator[EvaluationStep, None, list[Group]]:
    """Measure what is not yet stored, one picture at a time, with an existing engine, what takes least first; returns
    what was asked. ``own``: pictures of datasets that are no files, or were collected before. ``together``: the cells
    of one dataset and seed advance together, whatever their views. ``measure``: where the work is done; None: here.
    Closed early, the same request goes on. Raises DemoError: as :func:`evaluate`."""
    datasets = own or picture_sets(request, lambda _: None, report_note, warn)
    evaluator = PictureEvaluator(engine)
    for pictures in datasets.values():
        if warning := engine.names_warning(pictures.names):
            warn(f"{pictures.dataset}: {warning}")
    memory = _exported_memory(request, engine, datasets.values())
    planned = list[tuple[PictureSet, int, list[Cell]]]()
    for name, seed in product(request.datasets, request.seeds):
        pictures, about = datasets[name], (datasets[name], evaluator.facts, memory[1])
        cells = cells_of(settings_for(request, name, pictures.names), seed)
        # two description files may have the same content: such cells are one
        different = group_by(cells, lambda cell: text_of(key_of(cell, *about))).values()  # noqa: B023
        # cells that share their views are a group, so that every picture is encoded once for all of them
        groups_of = group_by((same[0] for same in different), lambda one: (views_key(one, *about), one.traffic))  # noqa: B023
        planned += [(pictures, seed, same) for same in groups_of.values()]
    with Rows(request.out) as rows, closing(Artifacts(request.out)) as artifacts:
        groups = [_open_group(request, *each, evaluator.facts, memory, rows, artifacts) for each in planned]
        groups.sort(key=lambda group: Kind.of(group.cells).passes)
        pace, known, total = Pace([(Kind.of(group.cells), len(group.stream)) for group in groups]), 0, 0
        for group in groups:
            counts = [len(group.stream) - len(state.missing) for state in group.states]
            pace.add_stored(Kind.of(group.cells), sum(counts) / len(counts))
            known, total = known + sum(counts), total + len(counts) * len(group.stream)
        if known:
            report_note(f"{known} of {total} rows are there already.")
        parts = {id(group): f"part {number} of {len(groups)}" for number, group in enumerate(groups, 1)}
        turns = [[(group, index) for index in group.missing] for group in groups]
        order = filter(None, chain.from_iterable(zip_longest(*turns) if together else turns))
        here = ((group, index, evaluator.measure(group, index)) for group, index in order)
        for group, index, measured in here if measure is None else measure(groups):
            new = rows.write(measured)
            artifacts.write()
            kind, length = Kind.of(group.cells), len(group.stream)
            pace.add(kind, len(measured) / len(group.states))
            faults = [row["fault"] for row in measured if row.get("fault") is not None]
            where = f"{group.dataset}, seed {group.seed}, {kind.attack}, {parts[id(group)]}"
            yield EvaluationStep(
                index + 1,
                length,
                max(new - len(faults), 0),
                f"{where}: picture {index + 1} of {length}",
                pace.sentence,
                faults[0] if faults else "",
                len(measured) - new,
            )
    return groups


def picture_sets(request: Request, report: Report, report_note: Report, warn: Report) -> dict[str, PictureSet]:
    """The pictures of a request by dataset, each opened once."""
    sets = {}
    for name in request.datasets:
        settings_for(request, name)  # settings that do not fit the dataset are reported before a model is loaded
        sets[name] = collect(
            name,
            request.data_root,
            request.split,
            limit=request.limit,
            allow_partial=request.allow_partial,
            exclusions="" if request.target == NEXT_CLASS else request.target,
            report=report,
            chosen=request.chosen,
        )
    for sentence in chain.from_iterable(pictures.cautions for pictures in sets.values()):
        warn(sentence)
    for sentence in chain.from_iterable(pictures.notes for pictures in sets.values()):
        report_note(sentence)
    return sets
