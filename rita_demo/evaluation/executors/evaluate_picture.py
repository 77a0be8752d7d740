"""One picture measured with one loaded model: encoded once, answered by every cell that lacks it.

Nothing here depends on where results are stored or on the machine: stores and row writers come with the group. Where the
device gains by it, attacks and views of the next pictures are made in one batch; their views are stored as usual and
read when each picture is evaluated, so that rows and caches stay in stream order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

import rita_demo
from rita_demo.attacks import differentiated
from rita_demo.attacks.registry import get_attack
from rita_demo.data.pictures import open_picture, picture_of, png_bytes
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.pictures import DatasetItem, PictureSet
from rita_demo.evaluation.planned_cells import Cell, ModelFacts, TuningKey, tuning_key
from rita_demo.evaluation.request import SEEDS
from rita_demo.evaluation.store.artifacts import Artifact, ArtifactStore, FeatureStore, Key, MemoryStore
from rita_demo.evaluation.store.cell_file import Row, RowWriter
from rita_demo.evaluation.store.run_folder import CellGroup, PictureRequest, PictureStores
from rita_demo.process.plugin_file import PluginError
from rita_demo.records import (
    AttackTrace,
    CacheState,
    ClassPrompts,
    DefenceFault,
    EncodedViews,
    Picture,
    Trace,
    Tuning,
    Verdict,
    ViewSet,
)
from rita_demo.records.errors import DataError, DemoError
from rita_demo.records.grouping import group_by
from rita_demo.settings import Settings
from rita_demo.views.boxes import view_boxes

#: Pictures whose views are encoded in one batch, by device. On a CPU the 64 views of one picture keep all cores busy.
VIEW_BATCH = {"cuda": 16}
DECIDED_AHEAD = 2000  # pictures times classes: their decisions stay in memory, 40 MB each with 1000 classes
Batch = Sequence[tuple[PictureRequest, Picture]]  # pictures and their clean squares, of one size
Tuned = dict[TuningKey, tuple[Tuning, float]]  # tuning key -> prompt update, and the seconds that it took


@dataclass(frozen=True)
class AttackOutcome:
    """What the attack did: ``linf`` in 1/255 and ``l2`` of the 8-bit square; see ``AttackTrace``."""

    linf: float = 0.0
    l2: float = 0.0
    fooled: bool = False
    already_wrong: bool | None = None  # None without an attack
    seconds: float = 0.0
    gradient: float | None = None


@dataclass(frozen=True)
class EncodedPicture:
    """The input of all methods: ``encoded_views.features`` (N, D) of unit length, read from half precision."""

    encoded_views: EncodedViews
    attack_outcome: AttackOutcome
    seconds: float  # of cutting and encoding the views, when they were made


@dataclass(frozen=True)
class WorkUnit:
    """Pictures of group number ``group``, for its cells with a stream or (not ``in_stream``) the others.

    ``requests``: index in the stream -> picture. ``stores`` are in memory, with what is known of these pictures.
    ``tuned_as_well``: cells whose prompts are tuned as well.
    """

    group: int
    in_stream: bool
    cells: Sequence[Cell]
    files: list[RowWriter]
    requests: dict[int, PictureRequest]
    stores: dict[bool, PictureStores]
    tuned_as_well: Sequence[Cell]

    def request(self, index: int) -> PictureRequest:
        return self.requests[index]


class PictureEvaluator:
    """Evaluates pictures with one loaded model."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.facts = ModelFacts(engine.info.name, engine.weights_key(), engine.info)

    def names_warning(self, pictures: PictureSet) -> str:
        """A sentence on the dataset's class names that the model cannot tell apart; "" where there are none."""
        warning = self.engine.names_warning(pictures.names)
        return warning and f"{pictures.dataset}: {warning}"

    def measure(self, group: CellGroup | WorkUnit, index: int, tuned_as_well: Iterable[Cell] = ()) -> int:
        """Answer picture ``index`` by every cell of a group that lacks it; returns how many these are. Where a file of the
        user's own fails, the cell stores why instead of an answer.

        ``tuned_as_well``: cells of the group whose prompts are tuned and stored as well.

        Raises:
            DataError: the picture cannot be used; the message names it.
        """
        request, tuned = group.request(index), Tuned()
        stores = group.stores[request.attacked]
        due = [(cell, file) for cell, file in zip(group.cells, group.files) if file.count <= index]
        # a cell whose attack uses the cache shares its views with no other cell
        cache = group.files[0].cache if request.attacked and group.cells[0].attack_uses_cache else None
        try:
            encoded = self.encode(request, stores, cache)
        except PluginError as error:  # the attack's: no method gets a picture
            for _, file in due:
                file.fail(request.item.id, DefenceFault(str(error), error.detail))
            return len(due)
        for cell in (*tuned_as_well, *(cell for cell, _ in due)):  # cells with the same tuning share it
            if not DEFENCES[cell.method].baseline and (key := tuning_key(cell)) not in tuned:
                tuned[key] = self._tune(request, encoded, cell, stores.prompts[key])
        reads_pixels = any(DEFENCES[cell.method].reads_pixels for cell, _ in due)
        picture = self.deliver(request, stores, cache)[0] if reads_pixels else None
        for cell, file in due:
            self._answer(request, encoded, picture, cell, file, tuned, file.decided.pop(index, None))
        return len(due)

    def execute(self, unit: WorkUnit) -> WorkUnit:
        """Execute a unit; it comes back with rows and new artifacts, and without what it brought.

        Raises:
            DemoError: a picture that cannot be used; the message names it.
        """
        for index in unit.requests:
            self.measure(unit, index, unit.tuned_as_well)
        for stores in unit.stores.values():
            for store in stores.each():
                assert isinstance(store, MemoryStore)
                store.known.clear()
        return replace(unit, requests={})

    def open(self, request: PictureRequest) -> Picture:
        """The clean square of a picture. Raises DemoError: it cannot be used."""
        square = self.picture_settings(request).square
        return open_picture(request.item.source(), square=square, side=self.engine.info.side)

    def deliver(
        self, request: PictureRequest, stores: PictureStores, cache: CacheState | None, clean: Picture | None = None
    ) -> tuple[Picture, AttackOutcome]:
        """The square that the methods get, attacked unless nothing is: read, or attacked now and stored.

        ``cache``: RITA's, for the attack that uses it. ``clean``: the clean square, if it is open.
        """
        clean, item = clean or self.open(request), request.item
        if stores.attacks is None:
            return clean, AttackOutcome()
        if (artifact := stores.attacks.find(item.key)) is not None:
            side = clean.pixels.shape[0]  # never resampled
            return open_picture(artifact.data, square="model", side=side), AttackOutcome(**artifact.row["attacked"])
        class_prompts = self.engine.encode_classes(request.names, request.view_cell.requested)
        own = self.picture_settings(request)
        cache = self._carried(request.view_cell, class_prompts, cache)
        trace = self.engine.attack(clean, class_prompts, own, item.label, request.target, cache=cache)
        return picture_of(trace.pixels), store_attack(stores.attacks, item.key, trace)

    def encode(self, request: PictureRequest, stores: PictureStores, cache: CacheState | None) -> EncodedPicture:
        """The encoded views of a picture: read, or the picture is opened, attacked, encoded and stored.

        Raises:
            DataError: the picture cannot be used; the message names it.
            PluginError: the user's own attack fails.
        """
        key = request.item.key
        try:
            if key not in stores.views.store:
                picture, outcome = self.deliver(request, stores, cache)
                begin, own = time.perf_counter(), self.picture_settings(request)
                features = self.engine.encode_views(picture, own).features
                seconds = round(time.perf_counter() - begin, 4)
                row: Row = {"seed": own.view_seed, "attacked": asdict(outcome), "seconds": seconds}
                stores.views.put(key, features, row)
            entry = stores.views.find(key)
        except PluginError:  # names its own file
            raise
        except DemoError as error:
            raise with_picture_name(request.item, error) from error
        assert entry is not None  # just stored
        row, features = entry
        boxes, flipped = view_boxes(request.view_cell.requested, len(features), row["seed"])
        views = EncodedViews(ViewSet(boxes, flipped, row["seed"]), features, f"{stores.views.store.name}/{key[0]}")
        return EncodedPicture(views, AttackOutcome(**row["attacked"]), row["seconds"])

    def picture_settings(self, request: PictureRequest) -> Settings:
        """The settings of a picture's attack and views: those of the run with the seeds of this picture."""
        cell = request.view_cell
        return cell.attack_settings.replace(**{name: request.seed for name in SEEDS if name not in cell.fixed_seeds})

    def _carried(self, cell: Cell, class_prompts: ClassPrompts, cache: CacheState | None) -> CacheState | None:
        """The memory of a cell as an engine takes it: that of a defence with its own lies beside an empty one of RITA's."""
        if cache is None or DEFENCES[cell.method].memory_shape is None:
            return cache
        return replace(self.engine.empty_cache(class_prompts, cell.settings), others={cell.method: cache})

    def _tune(
        self, request: PictureRequest, encoded: EncodedPicture, cell: Cell, store: FeatureStore | None
    ) -> tuple[Tuning, float]:
        """The prompt update that a cell needs, stored if it can be, and the seconds that making it took.

        Losses, movements and gradients are not stored: no table shows them.
        """
        class_prompts, key = self.engine.encode_classes(request.names, cell.requested), request.item.key
        if store is None or (entry := store.find(key)) is None:
            begin = time.perf_counter()
            tuning = self.engine.tune(encoded.encoded_views, class_prompts, cell.settings)
            seconds = time.perf_counter() - begin
            if store is None:
                return tuning, seconds
            store.put(key, tuning.features[:, : cell.settings.prompts], {"seconds": round(seconds, 4)})
            entry = store.find(key)
        assert entry is not None  # just stored
        row, tuned = entry
        frozen, nothing = class_prompts.features[:, cell.settings.prompts :], np.zeros(0, np.float32)
        return Tuning(nothing, np.concatenate([tuned, frozen], 1), nothing, nothing), row["seconds"]

    def decide_ahead(self, group: CellGroup, index: int) -> None:
        """Where the device gains by it: RITA's decisions on picture ``index`` and the next ones whose views are stored."""
        size = min(VIEW_BATCH.get(self.engine.info.device, 1), DECIDED_AHEAD // len(group.request(index).names))
        indices = range(index, min(index + size, len(group.stream)))
        ready = [
            *takewhile(lambda one: one.item.key in group.stores[one.attacked].views.store, map(group.request, indices))
        ]
        if len(ready) < 2 or group.cells[0].attack_uses_cache:
            return
        encoded = [self.encode(one, group.stores[one.attacked], None) for one in ready]
        for cell, file in zip(group.cells, group.files):
            if DEFENCES[cell.method].baseline or file.count > index or index in file.decided:
                continue
            stores = [group.stores[one.attacked].prompts[tuning_key(cell)] for one in ready]
            if cell.settings.tuning_steps and None in stores:  # each would be made twice
                continue
            tuned = [self._tune(one, views, cell, store)[0] for one, views, store in zip(ready, encoded, stores)]
            class_prompts = self.engine.encode_classes(ready[0].names, cell.requested)
            each = [one.encoded_views for one in encoded]
            decisions = self.engine.decide_in_turn(each, class_prompts, file.cache, cell.settings, tuned)
            file.decided = dict(zip(indices, decisions))

    def _answer(
        self,
        request: PictureRequest,
        encoded: EncodedPicture,
        picture: Picture | None,
        cell: Cell,
        writer: RowWriter,
        tuned: Tuned,
        decided: tuple[Trace, CacheState] | None,
    ) -> None:
        """Write a cell's row for one picture, or why the user's own defence has no answer; ``picture``: for a defence that
        reads pixels; ``decided``: RITA's decision, where it was made ahead. RITA's time includes the tuning also where
        another cell has done it."""
        views, settings, method = encoded.encoded_views, cell.settings, DEFENCES[cell.method]
        class_prompts = self.engine.encode_classes(request.names, cell.requested)
        begin, trace, change, after = time.perf_counter(), None, None, None
        if not method.baseline:
            tuning, tuning_seconds = tuned[tuning_key(cell)]
            trace, after = decided or self.engine.decide(views, class_prompts, writer.cache, settings, tuning)
        decide, pixels = (None if trace is None else lambda _: trace), (picture if method.reads_pixels else None)
        # a cell without a cache is never measured with a cache-only method: there is always an answer
        cache = self._carried(cell, class_prompts, writer.cache)
        answer = self.engine.answers(views, class_prompts, settings, (cell.method,), decide, pixels, cache)[cell.method]
        if isinstance(answer, DefenceFault):
            writer.fail(request.item.id, answer)
            return
        seconds = time.perf_counter() - begin
        if answer.memory is not None:
            after, change = answer.memory
        if trace is not None:
            change, seconds = trace.cache_update, sum((trace.seconds | {"tuning": tuning_seconds}).values())
        writer.append(_row(request, cell, writer.columns, encoded, answer, seconds), change, after)


def store_attack(store: ArtifactStore, key: Key, trace: AttackTrace) -> AttackOutcome:
    """Store the result of an attack, the square as lossless PNG: other views and settings reuse it."""
    wrong, seconds = trace.already_wrong, round(trace.seconds, 4)
    outcome = AttackOutcome(trace.linf, trace.l2, trace.fooled, wrong, seconds, trace.gradient)
    store.put(key, Artifact({"attacked": asdict(outcome)}, png_bytes(trace.pixels)))
    return outcome


def with_picture_name(item: DatasetItem, error: DemoError) -> DataError:
    """An error as it is, with the picture's name before its message."""
    return DataError(f"The picture {item.id[:120]!r}: {error.message}", error.hint)


def _row(
    request: PictureRequest,
    cell: Cell,
    columns: dict[str, Any],
    encoded: EncodedPicture,
    verdict: Verdict,
    seconds: float,
) -> dict[str, Any]:
    names, item, outcome = request.names, request.item, encoded.attack_outcome
    hit = request.attacked  # False in the clean part of mixed traffic
    return {name: columns[name] for name in ("dataset", "split", "backbone")} | {
        "version": rita_demo.__version__,
        "picture": item.id,
        "method": cell.method,
        "attack": cell.settings.attack if hit else "none",
        "budget": columns["budget"] if hit else 0,
        "steps": columns["steps"] if hit else 0,
        "protocol": columns["protocol"],
        "seed": cell.seed,
        "settings": columns["settings"],
        "label": names[item.label],
        "answer": names[verdict.label],
        "right": verdict.label == item.label,
        "probability": float(verdict.probability[verdict.label]),
        "margin": float(verdict.margin),
        "linf": float(outcome.linf),
        "l2": float(outcome.l2),
        "already_wrong": outcome.already_wrong,
        "gradient": outcome.gradient,
        "picture_seed": request.seed,
        "seconds": {"attack": outcome.seconds, "views": round(encoded.seconds, 4), "method": round(seconds, 4)},
        "entered": [],
        "target": "" if request.target is None else names[request.target],
    }


def prepare_ahead(model: PictureEvaluator, group: CellGroup, index: int) -> None:
    """Store the attack and the views of picture ``index``, in a batch with those of the next pictures that lack them.

    Does nothing where they are stored, where the attack uses the cache (which is not known ahead), and where the device
    gains nothing. A picture that cannot be opened is left out; the error appears when it is evaluated, and so does that of
    a user's own attack.
    """
    first, cell = group.request(index), group.cells[0]
    stores, attack = group.stores[first.attacked], get_attack(cell.attack_settings.attack)
    if first.item.key in stores.views.store or (first.attacked and cell.attack_uses_cache):
        return
    if (size := VIEW_BATCH.get(model.engine.info.device, 1)) > 1:
        for batch in _next_batches(model, group, index, stores.views.store, size):
            with suppress(PluginError):
                _encode(model, batch, stores)
    elif stores.attacks is not None and first.item.key not in stores.attacks and attack.loop is None:
        size = model.engine.attacks_together
        if size > 1 and differentiated(model.picture_settings(first)) == "model":
            for batch in _next_batches(model, group, index, stores.attacks, size):
                with suppress(PluginError):
                    _attack(model, batch, stores)


def _next_batches(
    model: PictureEvaluator, group: CellGroup, index: int, store: ArtifactStore, size: int
) -> Iterable[Batch]:
    """The next ``size`` pictures that are not stored and can be opened, by the side of their square."""
    attacked, opened = group.request(index).attacked, list[tuple[PictureRequest, Picture]]()
    for request in map(group.request, range(index, len(group.stream))):
        if len(opened) == size:
            break
        if request.attacked == attacked and request.item.key not in store:
            with suppress(DemoError):
                opened.append((request, model.open(request)))
    return group_by(opened, lambda one: one[1].pixels.shape[0]).values()


def _attack(model: PictureEvaluator, batch: Batch, stores: PictureStores) -> None:
    """Store the attacked squares that are missing, made in one batch; not where each needs fresh views."""
    if (attacks := stores.attacks) is None:
        return
    missing = [one for one in batch if one[0].item.key not in attacks]
    requests = [request for request, _ in missing]
    if len(missing) < 2 or differentiated(model.picture_settings(requests[0])) != "model":
        return
    traces = model.engine.attack_batch(
        [picture for _, picture in missing],
        model.engine.encode_classes(requests[0].names, requests[0].view_cell.requested),
        model.picture_settings(requests[0]),
        [request.item.label for request in requests],
        [model.picture_settings(request).attack_seed for request in requests],
        [request.target for request in requests],
    )
    for request, trace in zip(requests, traces, strict=True):
        store_attack(attacks, request.item.key, trace)


def _encode(model: PictureEvaluator, batch: Batch, stores: PictureStores) -> None:
    """Store the views of the clean squares where nothing is attacked, else of the attacked ones, made in one batch."""
    _attack(model, batch, stores)
    settings = [model.picture_settings(request) for request, _ in batch]
    shown = [model.deliver(request, stores, None, picture) for request, picture in batch]
    begin, seeds = time.perf_counter(), [one.view_seed for one in settings]
    encoded = model.engine.encode_views_batch([picture for picture, _ in shown], settings[0], seeds)
    seconds = (time.perf_counter() - begin) / len(batch)
    for (request, _), seed, encoded_views, (_, outcome) in zip(batch, seeds, encoded, shown, strict=True):
        row = {"seed": seed, "attacked": asdict(outcome), "seconds": round(seconds, 4)}
        stores.views.put(request.item.key, encoded_views.features, row)
