"""One picture measured with one loaded model: encoded once, answered by every cell that lacks it.

Nothing here depends on where rows are stored or on the machine. Where the device gains by it, attacks and views of the next
pictures are made in one batch and read when each picture is evaluated, so that rows and memories stay in stream order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np

import rita_demo
from rita_demo.attacks import differentiated
from rita_demo.attacks.registry import get_attack
from rita_demo.data.pictures import open_picture, picture_of, png_bytes
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.artifacts import Artifacts, features_data, features_of
from rita_demo.evaluation.pictures import DatasetItem, PictureSet, picture_seed
from rita_demo.evaluation.planned_cells import Cell, ModelFacts, TuningKey, tuning_key
from rita_demo.evaluation.request import NEXT_CLASS, SEEDS
from rita_demo.evaluation.rows import Row
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
    ViewSet,
)
from rita_demo.records.errors import DataError, DemoError
from rita_demo.records.grouping import group_by
from rita_demo.settings import Settings
from rita_demo.vlm.views.boxes import view_boxes

#: Pictures whose views are encoded in one batch, by device. On a CPU the 64 views of one picture keep all cores busy.
VIEW_BATCH = {"cuda": 16}
DECIDED_AHEAD = 2000  # pictures times classes: their decisions stay in memory, 40 MB each with 1000 classes
MAX_BYTES = 1 << 20  # of a picture's tuned prompts; those of larger vocabularies are tuned again in every process
Tuned = dict[TuningKey, tuple[Tuning, float]]  # tuning key -> prompt update, and the seconds that it took
#: What an attack did, as artifacts keep it: ``linf`` in 1/255 and ``l2`` of the 8-bit square; see ``AttackTrace``.
OUTCOME = ("linf", "l2", "fooled", "already_wrong", "gradient", "seconds")
NO_ATTACK: Row = dict(zip(OUTCOME, (0.0, 0.0, False, None, None, 0.0)))


@dataclass(frozen=True)
class EncodedPicture:
    """The input of all methods: ``encoded_views.features`` (N, D) of unit length, read from half precision."""

    encoded_views: EncodedViews
    attack: Row  # ``OUTCOME``
    seconds: float  # of cutting and encoding the views, when they were made


@dataclass(frozen=True)
class PictureRequest:
    """One picture of a run. ``names``: the K classes. ``seed``: of this picture. ``attacked``: whether it arrives attacked.
    ``view_cell``: the cell that defines attack and views, which all cells of the group share."""

    names: tuple[str, ...]
    item: DatasetItem
    seed: int
    attacked: bool
    view_cell: Cell

    @property
    def target(self) -> int | None:
        """Index of the class that this picture's attack moves towards, if any."""
        target = self.view_cell.target
        if not self.attacked or not target:
            return None
        return (self.item.label + 1) % len(self.names) if target == NEXT_CLASS else self.names.index(target)

    @property
    def settings(self) -> Settings:
        """Those of its attack and views: of the run with the seeds of this picture."""
        cell = self.view_cell
        return cell.attack_settings.replace(**{name: self.seed for name in SEEDS if name not in cell.fixed_seeds})


@dataclass(frozen=True)
class Places:
    """Where artifacts are, for cells that share their views: the ``views``; the ``attacks``, "" where nothing is attacked; the
    tuned ``prompts`` by tuning key, "" where they are not kept."""

    views: str
    attacks: str
    prompts: Mapping[TuningKey, str]

    @classmethod
    def of(cls, cells: Sequence[Cell], pictures: PictureSet, model: ModelFacts, attacked: bool, memory: str) -> Places:
        about, prompts = (pictures, model, memory), dict[TuningKey, str]()
        hit = attacked and cells[0].requested.attack != "none"
        attacks = f"attacked/{planned_cells.attack_key(cells[0], *about)}" if hit else ""
        for cell in (cell for cell in cells if not DEFENCES[cell.method].baseline):
            tuned = cell.settings.tuning_steps and cell.settings.tuning_loss != "none"
            small = 2 * prod((len(pictures.names), cell.settings.prompts, model.info.width)) <= MAX_BYTES
            place = f"tuned/{planned_cells.tuned_prompts_key(cell, *about)}" if tuned and small else ""
            prompts.setdefault(tuning_key(cell), place)
        return cls(f"views/{planned_cells.views_key(cells[0], *about)}", attacks, prompts)

    def all(self) -> list[str]:
        return list(filter(None, (self.views, self.attacks, *self.prompts.values())))


@dataclass
class CellState:
    """A cell while it is measured: the number of its ``measurement``, the places of the pictures that are ``missing``, its
    ``cache`` before the first of them (None without a stream), and RITA's decisions that were ``decided`` ahead."""

    cell: Cell
    measurement: int
    missing: set[int]
    cache: CacheState | None
    decided: dict[int, tuple[Trace, CacheState]] = field(default_factory=dict)


@dataclass
class Group:
    """The cells of one dataset and seed that share their views. ``stream``: place -> picture; ``attacked``: ids of those that
    arrive attacked; ``places`` by whether a picture does: the clean part of mixed traffic shares the views of clean runs."""

    dataset: str
    names: tuple[str, ...]
    seed: int
    states: list[CellState]
    stream: Sequence[DatasetItem] | Mapping[int, DatasetItem]
    attacked: frozenset[str]
    places: Mapping[bool, Places]
    artifacts: Artifacts

    @property
    def cells(self) -> list[Cell]:
        return [state.cell for state in self.states]

    @property
    def missing(self) -> list[int]:
        """The places of the pictures that some cell lacks, in order."""
        return sorted(set[int]().union(*(state.missing for state in self.states)))

    @cached_property
    def _view_cells(self) -> dict[bool, Cell]:
        return {True: self.states[0].cell, False: self.states[0].cell.clean}

    def request(self, index: int) -> PictureRequest:
        """The picture at this place of the stream."""
        item = self.stream[index]
        attacked = item.id in self.attacked
        return PictureRequest(self.names, item, picture_seed(self.seed, item), attacked, self._view_cells[attacked])


class PictureEvaluator:
    """Evaluates pictures with one loaded model."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.facts = ModelFacts(engine.info.name, engine.weights_key(), engine.info)

    def measure(self, group: Group, index: int) -> list[Row]:
        """Answer the picture at a place of the stream by every cell of a group that lacks it; returns their rows. Where
        a file of the user's own fails, the row has why instead of an answer. The caches move on. Raises DataError: the
        picture cannot be used; the message names it."""
        self._prepare_ahead(group, index)
        self._decide_ahead(group, index)
        request, tuned, fault = group.request(index), Tuned(), None
        due, first = [state for state in group.states if index in state.missing], group.states[0]
        # a cell whose attack uses the cache shares its views with no other cell
        cache = first.cache if request.attacked and first.cell.attack_uses_cache else None
        try:
            encoded = self._encode(group, request, cache)
        except PluginError as error:  # the attack's: no method gets a picture
            fault = {"fault": str(error), "detail": error.detail}
        else:
            for state in due:  # cells with the same tuning share it
                if not DEFENCES[state.cell.method].baseline and (key := tuning_key(state.cell)) not in tuned:
                    tuned[key] = self._tune(group, request, encoded, state.cell)
            reads_pixels = any(DEFENCES[state.cell.method].reads_pixels for state in due)
            picture = self._deliver(group, request, cache)[0] if reads_pixels else None
        item, target = request.item, "" if request.target is None else request.names[request.target]
        shared = {"picture": item.id, "content": item.content, "place": index, "version": rita_demo.__version__}
        shared |= {"label": request.names[item.label], "picture_seed": request.seed, "target": target}
        rows = []
        for state in due:
            row = fault or self._answer(request, encoded, picture, state, tuned, index)
            state.missing.discard(index)
            attacked = request.attacked and state.cell.requested.attack != "none"
            own = {"measurement": state.measurement, "seed": state.cell.seed, "attacked": attacked}
            rows.append(row | shared | own)
        return rows

    def _open(self, request: PictureRequest) -> Picture:
        """The clean square of a picture. Raises DemoError: it cannot be used."""
        return open_picture(request.item.source, square=request.settings.square, side=self.engine.info.side)

    def _deliver(
        self, group: Group, request: PictureRequest, cache: CacheState | None, clean: Picture | None = None
    ) -> tuple[Picture, Row]:
        """The square that the methods get, attacked unless nothing is: read, or attacked now and kept. ``cache``: for the attack
        that uses it. ``clean``: the clean square, if it is open."""
        clean, item = clean or self._open(request), request.item
        if not (place := group.places[request.attacked].attacks):
            return clean, NO_ATTACK
        if (stored := group.artifacts.find(place, item)) is not None:
            side = clean.pixels.shape[0]  # never resampled
            return open_picture(stored[1], square="model", side=side), stored[0]
        class_prompts = self.engine.encode_classes(request.names, request.view_cell.requested)
        cache = self._carried(request.view_cell, class_prompts, cache)
        trace = self.engine.attack(clean, class_prompts, request.settings, item.label, request.target, cache=cache)
        return picture_of(trace.pixels), _keep_attack(group, request, trace)

    def _encode(self, group: Group, request: PictureRequest, cache: CacheState | None) -> EncodedPicture:
        """The encoded views of a picture: read, or the picture is opened, attacked, encoded and kept. Raises DataError: it cannot
        be used; the message names it. PluginError: the user's own attack fails."""
        place, item, cell = group.places[request.attacked].views, request.item, request.view_cell
        try:
            if (stored := group.artifacts.find(place, item)) is None:
                picture, outcome = self._deliver(group, request, cache)
                begin = time.perf_counter()
                features = self.engine.encode_views(picture, request.settings).features
                stored = _keep_views(group, request, features, outcome, time.perf_counter() - begin)
        except PluginError:  # names its own file
            raise
        except DemoError as error:
            raise DataError(f"The picture {item.id[:120]!r}: {error.message}", error.hint) from error
        about, data = stored
        features = features_of(data, (cell.requested.views, self.engine.info.width))
        boxes, flipped = view_boxes(cell.requested, len(features), about["seed"])
        views = EncodedViews(ViewSet(boxes, flipped, about["seed"]), features, f"{place}/{item.id}")
        return EncodedPicture(views, about["attacked"], about["seconds"])

    def _carried(self, cell: Cell, class_prompts: ClassPrompts, cache: CacheState | None) -> CacheState | None:
        """The memory of a cell as an engine takes it: that of a defence with its own lies beside an empty one of RITA's."""
        if cache is None or DEFENCES[cell.method].memory_shape is None:
            return cache
        return replace(self.engine.empty_cache(class_prompts, cell.settings), others={cell.method: cache})

    def _tune(self, group: Group, request: PictureRequest, encoded: EncodedPicture, cell: Cell) -> tuple[Tuning, float]:
        """The prompt update that a cell needs, kept if it can be, and the seconds that making it took. Losses, movements and
        gradients are not kept: no table shows them."""
        class_prompts = self.engine.encode_classes(request.names, cell.requested)
        place = group.places[request.attacked].prompts[tuning_key(cell)]
        if not place or (stored := group.artifacts.find(place, request.item)) is None:
            begin = time.perf_counter()
            tuning = self.engine.tune(encoded.encoded_views, class_prompts, cell.settings)
            seconds = time.perf_counter() - begin
            if not place:
                return tuning, seconds
            stored = {"seconds": round(seconds, 4)}, features_data(tuning.features[:, : cell.settings.prompts])
            group.artifacts.put(place, request.item, *stored)
        shape = (len(request.names), cell.settings.prompts, self.engine.info.width)
        tuned = features_of(stored[1], shape)
        frozen, nothing = class_prompts.features[:, cell.settings.prompts :], np.zeros(0, np.float32)
        return Tuning(nothing, np.concatenate([tuned, frozen], 1), nothing, nothing), stored[0]["seconds"]

    def _answer(
        self,
        request: PictureRequest,
        encoded: EncodedPicture,
        picture: Picture | None,
        state: CellState,
        tuned: Tuned,
        index: int,
    ) -> Row:
        """A cell's answer to one picture, or why the user's own defence has none; ``picture``: for a defence that reads
        pixels. RITA's time includes the tuning also where another cell has done it."""
        views, cell, method = encoded.encoded_views, state.cell, DEFENCES[state.cell.method]
        class_prompts = self.engine.encode_classes(request.names, cell.requested)
        begin, trace, change, after = time.perf_counter(), None, None, None
        if not method.baseline:
            tuning, tuning_seconds = tuned[tuning_key(cell)]
            if index in state.decided:
                trace, after = state.decided.pop(index)
            else:
                trace, after = self.engine.decide(views, class_prompts, state.cache, cell.settings, tuning)
        decide, pixels = (None if trace is None else lambda _: trace), (picture if method.reads_pixels else None)
        # a cell without a cache is never measured with a cache-only method: there is always an answer
        cache, names = self._carried(cell, class_prompts, state.cache), (cell.method,)
        answer = self.engine.answers(views, class_prompts, cell.settings, names, decide, pixels, cache)[cell.method]
        if isinstance(answer, DefenceFault):
            return {"fault": answer.sentence, "detail": answer.detail}
        seconds = time.perf_counter() - begin
        if answer.memory is not None:
            after, change = answer.memory
        if trace is not None:
            change, seconds = trace.cache_update, sum((trace.seconds | {"tuning": tuning_seconds}).values())
        row: Row = {name: encoded.attack[name] for name in ("linf", "l2", "already_wrong", "gradient")}
        row |= {"answer": request.names[answer.label], "right": answer.label == request.item.label, "entered": []}
        row |= {"probability": float(answer.probability[answer.label]), "margin": float(answer.margin)}
        row |= {"seconds_attack": encoded.attack["seconds"], "seconds_views": round(encoded.seconds, 4)}
        row["seconds_method"] = round(seconds, 4)
        if state.cache is not None and after is not None and change is not None:
            # replaying what entered gives the memory bit for bit
            features = [after.features[event.label, event.slot].astype("<f4").tobytes() for event in change.events]
            row["entered"] = [(event.label, event.slot, event.view, event.entropy) for event in change.events]
            row["entered_features"] = b"".join(features)
            state.cache = after
        return row

    # --- several pictures at once

    def _prepare_ahead(self, group: Group, index: int) -> None:
        """Keep the attack and the views of the picture, in a batch with those of the next ones that lack them; not where the
        attack uses the cache (which is not known ahead), and where the device gains nothing. A picture that cannot be opened is
        left out; the error appears when it is evaluated, and so does that of a user's own attack."""
        first, cell, artifacts = group.request(index), group.states[0].cell, group.artifacts
        places, attack = group.places[first.attacked], get_attack(cell.attack_settings.attack)
        if artifacts.find(places.views, first.item) or (first.attacked and cell.attack_uses_cache):
            return
        place, work, size = places.views, self._encode_batch, VIEW_BATCH.get(self.engine.info.device, 1)
        if size < 2 and places.attacks and not artifacts.find(places.attacks, first.item) and attack.loop is None:
            place, work = places.attacks, self._attack_batch
            size = self.engine.attacks_together if differentiated(first.settings) == "model" else 1
        for batch in self._next_batches(group, index, place, size) if size > 1 else ():
            with suppress(PluginError):
                work(group, batch)

    def _next_batches(
        self, group: Group, index: int, place: str, size: int
    ) -> Iterable[list[tuple[PictureRequest, Picture]]]:
        """The next ``size`` pictures without an artifact that can be opened, by the side of their square."""
        attacked, opened = group.request(index).attacked, list[tuple[PictureRequest, Picture]]()
        for request in map(group.request, (place for place in group.missing if place >= index)):
            if len(opened) == size:
                break
            if request.attacked == attacked and not group.artifacts.find(place, request.item):
                with suppress(DemoError):
                    opened.append((request, self._open(request)))
        return group_by(opened, lambda one: one[1].pixels.shape[0]).values()

    def _attack_batch(self, group: Group, batch: Sequence[tuple[PictureRequest, Picture]]) -> None:
        """Keep the attacked squares that are missing, made in one batch; not where each needs fresh views."""
        place = group.places[batch[0][0].attacked].attacks
        missing = {
            request: picture for request, picture in batch if place and not group.artifacts.find(place, request.item)
        }
        first = batch[0][0]
        if len(missing) < 2 or differentiated(first.settings) != "model":
            return
        traces = self.engine.attack_batch(
            list(missing.values()),
            self.engine.encode_classes(first.names, first.view_cell.requested),
            first.settings,
            [request.item.label for request in missing],
            [request.settings.attack_seed for request in missing],
            [request.target for request in missing],
        )
        for request, trace in zip(missing, traces, strict=True):
            _keep_attack(group, request, trace)

    def _encode_batch(self, group: Group, batch: Sequence[tuple[PictureRequest, Picture]]) -> None:
        """Keep the views of the clean squares where nothing is attacked, else of the attacked ones, made in one batch."""
        self._attack_batch(group, batch)
        requests = [request for request, _ in batch]
        delivered = [self._deliver(group, request, None, picture) for request, picture in batch]
        begin, seeds = time.perf_counter(), [request.settings.view_seed for request in requests]
        pictures = [picture for picture, _ in delivered]
        encoded = self.engine.encode_views_batch(pictures, requests[0].settings, seeds)
        seconds = (time.perf_counter() - begin) / len(batch)
        for request, views, (_, outcome) in zip(requests, encoded, delivered, strict=True):
            _keep_views(group, request, views.features, outcome, seconds)

    def _decide_ahead(self, group: Group, index: int) -> None:
        """Where the device gains by it: RITA's decisions on the picture and the next ones whose views are kept."""
        size = min(VIEW_BATCH.get(self.engine.info.device, 1), DECIDED_AHEAD // len(group.names))
        if size < 2 or group.states[0].cell.attack_uses_cache:
            return
        for state in group.states:
            cell = state.cell
            if DEFENCES[cell.method].baseline or index not in state.missing or index in state.decided:
                continue
            ready = dict[int, PictureRequest]()
            for at in sorted(place for place in state.missing if place >= index)[:size]:
                request = group.request(at)
                if group.artifacts.find(group.places[request.attacked].views, request.item) is None:
                    break
                ready[at] = request
            kept = all(group.places[request.attacked].prompts[tuning_key(cell)] for request in ready.values())
            if len(ready) < 2 or (cell.settings.tuning_steps and not kept):  # each would be tuned twice
                continue
            encoded = [self._encode(group, request, None) for request in ready.values()]
            tuned = [self._tune(group, request, views, cell)[0] for request, views in zip(ready.values(), encoded)]
            class_prompts = self.engine.encode_classes(group.names, cell.requested)
            views = [picture.encoded_views for picture in encoded]
            decisions = self.engine.decide_in_turn(views, class_prompts, state.cache, cell.settings, tuned)
            state.decided = dict(zip(ready, decisions))


def cache_after(empty: CacheState, rows: Sequence[Row]) -> CacheState:
    """The memory of a stream after its rows (see :func:`rita_demo.evaluation.rows.read_stream`); ``empty``: before them."""
    arrays = {name: getattr(empty, name).copy() for name in ("features", "entropy", "born", "view", "count")}
    answered = [row for row in rows if row["fault"] is None]  # where the user's own code failed, it stays as it was
    state = replace(empty, **arrays, pictures=empty.pictures + len(answered))
    for born, row in enumerate(answered):
        features = np.frombuffer(row["entered_features"] or b"", "<f4").reshape(-1, empty.features.shape[2])
        for (label, slot, view, entropy), feature in zip(row["entered"], features, strict=True):
            state.features[label, slot] = feature
            state.entropy[label, slot] = entropy
            state.born[label, slot] = empty.pictures + born
            state.view[label, slot] = view
            state.count[label] = max(int(state.count[label]), slot + 1)
    return state


def _keep_attack(group: Group, request: PictureRequest, trace: AttackTrace) -> Row:
    """Keep the result of an attack, the square as lossless PNG: other views and settings reuse it."""
    outcome = {name: getattr(trace, name) for name in OUTCOME} | {"seconds": round(trace.seconds, 4)}
    group.artifacts.put(group.places[True].attacks, request.item, outcome, png_bytes(trace.pixels))
    return outcome


def _keep_views(
    group: Group, request: PictureRequest, features: np.ndarray, attack: Row, seconds: float
) -> tuple[Row, bytes]:
    about = {"seed": request.settings.view_seed, "attacked": attack, "seconds": round(seconds, 4)}
    data = features_data(features)
    group.artifacts.put(group.places[request.attacked].views, request.item, about, data)
    return about, data
