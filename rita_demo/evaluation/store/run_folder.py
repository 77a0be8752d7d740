"""A run folder opened to resume: for every group of cells that share their views, what is stored and what is missing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.cell_header import header_of
from rita_demo.evaluation.dataset_settings import settings_for
from rita_demo.evaluation.pictures import DatasetItem, PictureSet, is_attacked, picture_seed
from rita_demo.evaluation.planned_cells import Cell, ModelIdentity
from rita_demo.evaluation.request import Request
from rita_demo.evaluation.store.artifacts import DirectoryStore
from rita_demo.evaluation.store.cell_file import CellFile
from rita_demo.evaluation.store.tuned_prompts import TunedPromptStore, stored_shape
from rita_demo.evaluation.store.views_and_attacks import AttackedPictureStore, EncodedPictureStore
from rita_demo.records import BackboneInfo

PromptStores = Mapping[Any, TunedPromptStore | None]  # by tuning key; None: not stored


@dataclass(frozen=True)
class ModelFacts:
    """What a run folder stores about a model."""

    info: BackboneInfo
    weights: str  # a hash

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity(self.info.name, self.weights)


@dataclass(frozen=True)
class DatasetRun:
    """One dataset under one seed; independent of all others."""

    dataset: str
    seed: int


@dataclass(frozen=True)
class EvaluationStep:
    """A picture was measured: number ``done`` of ``total`` in its group; ``new`` rows; a ``sentence`` of progress, and
    one on the ``pace`` of the whole request."""

    done: int
    total: int
    new: int
    sentence: str
    pace: str


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


def dataset_runs(request: Request) -> list[DatasetRun]:
    """Datasets times seeds."""
    return [DatasetRun(name, seed) for name in request.datasets for seed in request.seeds]


class RunFolder:
    """The run folder of a request, for the one process that has its lock."""

    def __init__(self, request: Request, picture_sets: Mapping[str, PictureSet], facts: ModelFacts) -> None:
        self.request, self.picture_sets, self.facts = request, picture_sets, facts
        # groups that are open at the same time share the object that tracks a folder's content
        self._opened: WeakValueDictionary[Path, DirectoryStore] = WeakValueDictionary()
        self._begin = time.perf_counter()
        self._stored: dict[tuple[DatasetRun, str], tuple[float, float]] = {}

    def groups(self, task: DatasetRun) -> Iterator[CellGroup]:
        """The groups of one dataset and seed, each opened when it is requested."""
        found = self._planned(task)
        for number, group in enumerate(found, start=1):
            yield CellGroup(self, task, group, f"part {number} of {len(found)}")

    def _planned(self, task: DatasetRun) -> list[list[Cell]]:
        pictures, model = self.picture_sets[task.dataset], self.facts.identity
        cells = planned_cells.cells_of(settings_for(self.request, task.dataset, pictures.names), task.seed)
        return planned_cells.groups_by_views(planned_cells.unique_cells(cells, pictures, model), pictures, model)

    @cached_property
    def _total(self) -> int:
        """Pictures to measure, once per group of cells: over all datasets, seeds and attacks."""
        tasks = dataset_runs(self.request)
        return sum(len(self._planned(task)) * len(self.picture_sets[task.dataset].items) for task in tasks)

    def pace(self, task: DatasetRun, title: str, stored: float) -> str:
        """How far and how fast the request is, once ``stored`` pictures of a group are there. The first call for a
        group is made when it is opened: what it finds was not measured now."""
        first, _ = self._stored.get((task, title), (stored, stored))
        self._stored[task, title] = (first, stored)
        done = sum(now for _, now in self._stored.values())
        new = done - sum(found for found, _ in self._stored.values())
        if not new:
            return f"{done:.0f} of {self._total} in all"
        rate = new / (time.perf_counter() - self._begin)
        speed = f"{rate:.2g}" if rate < 10 else f"{rate:.0f}"
        left = timedelta(seconds=round((self._total - done) / rate))
        return f"{done:.0f} of {self._total} in all, {speed} pictures per second, {left} left"

    def artifacts(self, kind: str, key: str, item_bytes: int | None = None) -> DirectoryStore:
        """The artifacts ``looks``, ``attacked`` or ``tuned`` of a key; while they are in use, the same object."""
        folder = self.request.out / kind / key
        store = self._opened.get(folder)
        if store is None:
            self._opened[folder] = store = DirectoryStore(folder, f"{kind}.jsonl", item_bytes)
        return store


class CellGroup:
    """The cells of one dataset and seed that share their views.

    ``views``, ``attacks`` and ``prompt_stores`` are indexed by whether a picture arrives attacked: the clean part of
    mixed traffic shares the views of clean runs.
    """

    def __init__(self, run: RunFolder, task: DatasetRun, cells: list[Cell], title: str) -> None:
        self._run, self._dataset_run, self._title = run, task, title
        self._pictures, self._model = run.picture_sets[task.dataset], run.facts.identity
        self.cells = cells
        self.stream = self._pictures.stream(task.seed, cells[0].traffic.order)
        self.files = [self._file(cell) for cell in cells]
        self._cells_by_attacked = {True: cells, False: [cell.clean for cell in cells]}
        self._pace()

    @property
    def first_pending(self) -> int:
        """Index of the first picture that some cell lacks."""
        return min(file.count for file in self.files)

    def request(self, index: int) -> PictureRequest:
        """Picture number ``index`` of the stream."""
        seed, item = self._dataset_run.seed, self.stream[index]
        attacked = is_attacked(seed, item, self.cells[0].traffic.share)
        view_cell = self._cells_by_attacked[attacked][0]
        return PictureRequest(self._pictures.names, item, picture_seed(seed, item), attacked, view_cell)

    def step(self, index: int, new: int) -> EvaluationStep:
        """The progress after picture number ``index``, with ``new`` rows."""
        about = f"{self._pictures.dataset}, seed {self._dataset_run.seed}, {self.cells[0].requested.attack}"
        count = f"picture {index + 1} of {len(self.stream)}"
        return EvaluationStep(index + 1, len(self.stream), new, f"{about}, {self._title}: {count}", self._pace())

    def _pace(self) -> str:
        stored = sum(file.count for file in self.files) / len(self.files)
        return self._run.pace(self._dataset_run, self._title, stored)

    @cached_property
    def views(self) -> dict[bool, EncodedPictureStore]:
        """The stored views."""
        found = {}
        for attacked, (cell, *_) in self._cells_by_attacked.items():
            shape = (cell.requested.views, self._run.facts.info.width)
            key = planned_cells.views_key(cell, self._pictures, self._model)
            store = self._run.artifacts("looks", key, 2 * prod(shape))
            found[attacked] = EncodedPictureStore(store, shape, cell.requested.view_scale)
        return found

    @cached_property
    def attacks(self) -> dict[bool, AttackedPictureStore | None]:
        """The stored attacked squares; None where nothing is attacked."""
        found: dict[bool, AttackedPictureStore | None] = {True: None, False: None}
        cell = self.cells[0]
        if cell.requested.attack != "none":
            key = planned_cells.attack_key(cell, self._pictures, self._model)
            found[True] = AttackedPictureStore(self._run.artifacts("attacked", key))
        return found

    @cached_property
    def prompt_stores(self) -> dict[bool, PromptStores]:
        """The stored tuned prompts by tuning key; None where they are not stored."""
        found: dict[bool, PromptStores] = {}
        for attacked, cells in self._cells_by_attacked.items():
            tuned = {planned_cells.tuning_key(c): c for c in reversed(cells) if not DEFENCES[c.method].baseline}
            found[attacked] = {key: self._prompt_store(cell) for key, cell in tuned.items()}
        return found

    def _file(self, cell: Cell) -> CellFile:
        from rita_demo.engine.engine import empty_cache_for  # loads torch

        key = planned_cells.cell_key(cell, self._pictures, self._model)
        column = re.sub(r"[^\w@.-]+", "-", cell.attack_label)[:60]  # the name of a target may hold any character
        name = f"{self._pictures.dataset}_{cell.method}_{column}_{key}".replace(":", "-")
        info, cache = self._run.facts.info, None
        if cell.settings.protocol == "stream":
            cache = empty_cache_for(info, self._pictures.names, cell.settings)
        header = header_of(cell, self._pictures, self._model, info)
        return CellFile(self._run.request.out / "cells" / name, header, cache)

    def _prompt_store(self, cell: Cell) -> TunedPromptStore | None:
        shape = stored_shape(len(self._pictures.names), self._run.facts.info.width, cell.settings)
        if shape is None:
            return None
        key = planned_cells.tuned_prompts_key(cell, self._pictures, self._model)
        return TunedPromptStore(self._run.artifacts("tuned", key, 2 * prod(shape)), shape)
