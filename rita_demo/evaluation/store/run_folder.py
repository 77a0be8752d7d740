"""A run folder opened to resume: for every group of cells that share their views, what is stored and what is missing."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from math import prod
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

from rita_demo.attacks import differentiated
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.pictures import DatasetItem, PictureSet, picture_seed
from rita_demo.evaluation.planned_cells import Cell, ModelFacts, TuningKey, settings_for
from rita_demo.evaluation.request import Request
from rita_demo.evaluation.store import files
from rita_demo.evaluation.store.artifacts import ArtifactStore, DirectoryStore, FeatureStore, Key, MemoryStore
from rita_demo.evaluation.store.cell_file import FAILED, CellFile, CellHeader
from rita_demo.evaluation.store.failed import Failure, failures

MAX_BYTES = 1 << 20  # of a picture's tuned prompts; those of larger vocabularies are tuned again in every process


@dataclass(frozen=True)
class EvaluationStep:
    """A picture was measured: number ``done`` of ``total`` in its group; ``new`` rows; a ``sentence`` of progress, one on the
    ``pace`` of the whole request, and one on the ``fault`` of a user's own code, if one left out an answer."""

    done: int
    total: int
    new: int
    sentence: str
    pace: str
    fault: str = ""


@dataclass(frozen=True)
class StoredCell:
    """A cell of a dataset, of whose ``total`` pictures ``done`` are stored."""

    dataset: str
    cell: Cell
    done: int
    total: int


@dataclass(frozen=True)
class PictureRequest:
    """One picture of a run.

    ``names``: the K classes. ``seed``: of this picture. ``attacked``: whether it arrives attacked. ``view_cell``: the
    cell that defines attack and views, which all cells of the group share.
    """

    names: tuple[str, ...]
    item: DatasetItem
    seed: int
    attacked: bool
    view_cell: Cell

    @property
    def target(self) -> int | None:
        """Index of the class that this picture's attack moves towards, if any."""
        return self.view_cell.target_index(self.item.label, self.names) if self.attacked else None


@dataclass(frozen=True)
class PictureStores:
    """Where the artifacts of pictures are stored, for cells that share their views.

    ``views`` (N, D); ``attacks``: squares as PNG, None where nothing is attacked; ``prompts``: the tuned ones (K, P, D),
    P of them learnable, by tuning key, None: not stored.
    """

    views: FeatureStore
    attacks: ArtifactStore | None
    prompts: dict[TuningKey, FeatureStore | None]

    def each(self) -> list[ArtifactStore]:
        """The stores of artifacts, as far as there are any."""
        features = [one.store for one in (self.views, *self.prompts.values()) if one is not None]
        return features if self.attacks is None else [*features, self.attacks]

    def in_memory(self, keys: Sequence[Key], pixels: bool) -> PictureStores:
        """These stores in memory, with what is stored of these pictures; of attacked squares only with ``pixels``."""

        def in_memory_store(one: ArtifactStore) -> MemoryStore:
            return MemoryStore({key: artifact for key in keys if (artifact := one.find(key)) is not None})

        attacks = self.attacks and (in_memory_store(self.attacks) if pixels else MemoryStore({}))
        prompts = {key: one and replace(one, store=in_memory_store(one.store)) for key, one in self.prompts.items()}
        return PictureStores(replace(self.views, store=in_memory_store(self.views.store)), attacks, prompts)

    def copy_to(self, other: PictureStores) -> None:
        """Put what was added here, in memory, into the same stores elsewhere."""
        for here, there in zip(self.each(), other.each()):
            assert isinstance(here, MemoryStore)
            for key, artifact in here.added.items():
                there.put(key, artifact)


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
    """How far and how fast a measurement is, in pictures, each counted once per group of cells. ``totals``: kind of group ->
    pictures to measure. A kind's own speed says how long the rest of it takes; before a picture of it is measured, its
    passes of the model beside those of the others."""

    def __init__(self, totals: Mapping[Kind, int]) -> None:
        self._totals, self._last = dict(totals), time.perf_counter()
        self._done, self._new, self._seconds = (dict.fromkeys(totals, 0.0) for _ in range(3))

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
    def share(self) -> float:
        """Pictures done of all, 0 to 1."""
        return sum(self._done.values()) / max(1, sum(self._totals.values()))

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


class RunFolder:
    """The run folder of a request, for the one process that has its lock. ``pace``: of a measurement that has several
    requests; None: of this one alone."""

    def __init__(
        self, request: Request, picture_sets: Mapping[str, PictureSet], facts: ModelFacts, pace: Pace | None = None
    ) -> None:
        self.request, self.picture_sets, self.facts = request, picture_sets, facts
        # groups that are open at the same time share the object that tracks a folder's content
        self._opened: WeakValueDictionary[Path, DirectoryStore] = WeakValueDictionary()
        self.pace = pace or Pace(self.totals)

    def groups(self, dataset: str, seed: int) -> Iterator[CellGroup]:
        """The groups of one dataset and seed, each opened when it is requested."""
        return self._open([(dataset, seed)])

    def all_groups(self) -> Iterator[CellGroup]:
        """The groups of all datasets and seeds, those that take least first."""
        return self._open(self.request.runs)

    def _open(self, runs: Iterable[tuple[str, int]]) -> Iterator[CellGroup]:
        groups = [(run, group) for run in runs for group in self._planned(*run)]
        groups.sort(key=lambda one: Kind.of(one[1]).passes)
        for number, (run, group) in enumerate(groups, start=1):
            yield CellGroup(self, *run, group, f"part {number} of {len(groups)}")

    def _planned(self, dataset: str, seed: int) -> list[list[Cell]]:
        pictures, model = self.picture_sets[dataset], self.facts
        cells = planned_cells.cells_of(settings_for(self.request, dataset, pictures.names), seed)
        return planned_cells.groups_by_views(planned_cells.unique_cells(cells, pictures, model), pictures, model)

    @property
    def totals(self) -> Counter[Kind]:
        """Kind of group -> pictures to measure, once per group of cells: over all datasets and seeds."""
        totals: Counter[Kind] = Counter()
        for name, seed in self.request.runs:
            for group in self._planned(name, seed):
                totals[Kind.of(group)] += len(self.picture_sets[name].items)
        return totals

    def stored(self) -> Iterator[list[StoredCell]]:
        """For every group of cells, how much of each is stored. Reads alone, so it needs no lock."""
        for name, seed in self.request.runs:
            total = len(self.picture_sets[name].items)
            for group in self._planned(name, seed):
                places = [self.cell_folder(name, cell) for cell in group]
                counts = (sum(files.count_lines(at / file) for file in ("rows.jsonl", FAILED)) for at in places)
                yield [StoredCell(name, cell, done, total) for cell, done in zip(group, counts)]

    def cell_folder(self, dataset: str, cell: Cell) -> Path:
        """Where a cell is stored."""
        pictures = self.picture_sets[dataset]
        key = planned_cells.cell_key(cell, pictures, self.facts)
        column = re.sub(r"[^\w@.-]+", "-", cell.attack_label)[:60]  # the name of a target may hold any character
        name = f"{pictures.dataset}_{cell.method}_{column}_{key}".replace(":", "-")
        return self.request.out / "cells" / name

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The faults of a user's own code in the cells of the request."""
        places = (
            self.cell_folder(name, cell)
            for name, seed in self.request.runs
            for group in self._planned(name, seed)
            for cell in group
        )
        return failures(places)

    def artifacts(self, kind: str, key: str, item_bytes: int | None = None) -> DirectoryStore:
        """The artifacts ``looks``, ``attacked`` or ``tuned`` of a key; while they are in use, the same object."""
        folder = self.request.out / kind / key
        store = self._opened.get(folder)
        if store is None:
            self._opened[folder] = store = DirectoryStore(folder, f"{kind}.jsonl", item_bytes)
        return store


class CellGroup:
    """The cells of one dataset and seed that share their views.

    ``stores`` are indexed by whether a picture arrives attacked: the clean part of mixed traffic shares the views of
    clean runs.
    """

    def __init__(self, run: RunFolder, dataset: str, seed: int, cells: list[Cell], title: str) -> None:
        self._run, self._dataset, self._seed, self._title = run, dataset, seed, title
        self._pictures, self._model = run.picture_sets[dataset], run.facts
        self.cells, self._kind = cells, Kind.of(cells)
        self.stream = self._pictures.stream(seed, cells[0].traffic.order)
        self._attacked = self._pictures.attacked(seed, cells[0].traffic.share)
        self.files = [self._file(cell) for cell in cells]
        self._failed = sum(file.failed for file in self.files)
        self._cells_by_attacked = {True: cells, False: [cell.clean for cell in cells]}
        run.pace.add_stored(self._kind, sum(file.count for file in self.files) / len(self.files))

    @property
    def first_pending(self) -> int:
        """Index of the first picture that some cell lacks."""
        return min(file.count for file in self.files)

    def request(self, index: int) -> PictureRequest:
        """Picture number ``index`` of the stream."""
        seed, item = self._seed, self.stream[index]
        attacked = item.id in self._attacked
        view_cell = self._cells_by_attacked[attacked][0]
        return PictureRequest(self._pictures.names, item, picture_seed(seed, item), attacked, view_cell)

    def step(self, index: int, decided: int) -> EvaluationStep:
        """The progress after picture number ``index``, with ``decided`` rows and failures."""
        self._run.pace.add(self._kind, decided / len(self.files))
        failed = sum(file.failed for file in self.files)
        new, self._failed = decided - (failed - self._failed), failed
        about = f"{self._pictures.dataset}, seed {self._seed}, {self._kind.attack}"
        count = f"picture {index + 1} of {len(self.stream)}"
        said, fault = f"{about}, {self._title}: {count}", next((one.fault for one in self.files if one.fault), "")
        return EvaluationStep(
            index + 1, len(self.stream), new, said, self._run.pace.sentence, fault if new < decided else ""
        )

    @cached_property
    def stores(self) -> dict[bool, PictureStores]:
        """The stored artifacts, opened when they are first needed."""
        return {attacked: self._stores(attacked, cells) for attacked, cells in self._cells_by_attacked.items()}

    def _stores(self, attacked: bool, cells: list[Cell]) -> PictureStores:
        cell, pictures, model = cells[0], self._pictures, self._model
        views = planned_cells.views_key(cell, pictures, model)
        attacks = None
        if attacked and cell.requested.attack != "none":
            attacks = self._run.artifacts("attacked", planned_cells.attack_key(cell, pictures, model))
        tuned = {planned_cells.tuning_key(c): c for c in reversed(cells) if not DEFENCES[c.method].baseline}
        prompts: dict[TuningKey, FeatureStore | None] = dict.fromkeys(tuned)
        for key, one in tuned.items():
            shape = (len(pictures.names), one.settings.prompts, model.info.width)
            if one.settings.tuning_steps and one.settings.tuning_loss != "none" and 2 * prod(shape) <= MAX_BYTES:
                prompts[key] = self._features("tuned", planned_cells.tuned_prompts_key(one, pictures, model), shape)
        looks = self._features("looks", views, (cell.requested.views, model.info.width))
        return PictureStores(looks, attacks, prompts)

    def _features(self, kind: str, key: str, shape: tuple[int, ...]) -> FeatureStore:
        return FeatureStore(self._run.artifacts(kind, key, 2 * prod(shape)), shape)

    def _file(self, cell: Cell) -> CellFile:
        from rita_demo.engine.engine import empty_cache_for  # loads torch

        cache = None
        if cell.settings.protocol == "stream":
            cache = empty_cache_for(self._model.info, self._pictures.names, cell.settings, cell.method)
        header = CellHeader.of(cell, self._pictures, self._model)
        return CellFile(self._run.cell_folder(self._dataset, cell), header, cache)
