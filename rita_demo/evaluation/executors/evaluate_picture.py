"""One picture measured with one loaded model: encoded once, answered by every cell that lacks it.

Nothing here depends on where results are stored or on the machine: stores and row writers are arguments.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import rita_demo
from rita_demo.data.pictures import open_picture
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.pictures import DatasetItem
from rita_demo.evaluation.planned_cells import Cell
from rita_demo.evaluation.request import SEEDS
from rita_demo.evaluation.store.cell_file import RowWriter
from rita_demo.evaluation.store.run_folder import ModelFacts, PictureRequest, PromptStores
from rita_demo.evaluation.store.tuned_prompts import TunedPromptStore
from rita_demo.evaluation.store.views_and_attacks import (
    AttackedPictureStore,
    AttackOutcome,
    EncodedPicture,
    EncodedPictureStore,
)
from rita_demo.process.guest_file import GuestError
from rita_demo.records import CacheState, ClassPrompts, DefenceFault, Picture, Trace, Tuning, Verdict
from rita_demo.records.errors import DataError, DemoError
from rita_demo.settings import Settings


class PictureEvaluator:
    """Evaluates pictures with one loaded model."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.facts = ModelFacts(engine.info, engine.weights_key())

    def class_prompts(self, names: tuple[str, ...], cell: Cell) -> ClassPrompts:
        """The class names as this cell's prompts; the engine caches the last few."""
        return self.engine.encode_classes(names, cell.requested)

    def encode(
        self,
        request: PictureRequest,
        views_store: EncodedPictureStore,
        attack_store: AttackedPictureStore | None,
        cache: CacheState | None = None,
    ) -> EncodedPicture:
        """The encoded views of a picture: read, or the picture is opened, attacked, encoded and stored.

        ``attack_store``: None where nothing is attacked. ``cache``: RITA's cache, for the attack that uses it.

        Raises:
            DataError: the picture cannot be used; the message names it.
        """
        item, own = request.item, self.picture_settings(request)
        class_prompts = self.class_prompts(request.names, request.view_cell)

        def deliver() -> tuple[Picture, AttackOutcome]:
            clean = open_picture(item.source(), square=own.square, side=self.engine.info.side)
            if attack_store is None:
                return clean, AttackOutcome()
            return attack_store.get_or_attack(self.engine, item, clean, class_prompts, own, cache, request.target)

        try:
            if (known := views_store.find(item)) is not None:
                return replace(known, picture=lambda: deliver()[0])
            picture, outcome = deliver()
            begin = time.perf_counter()
            encoded_views = self.engine.encode_views(picture, own)
            seconds = time.perf_counter() - begin
            stored = views_store.add(item, encoded_views.features, own.view_seed, outcome, seconds)
            return replace(stored, picture=lambda: picture)
        except DemoError as error:
            raise with_picture_name(item, error) from error

    def picture_settings(self, request: PictureRequest) -> Settings:
        """The settings of a picture's attack and views: those of the run with the seeds of this picture."""
        cell = request.view_cell
        return cell.attack_settings.replace(**{name: request.seed for name in SEEDS if name not in cell.fixed_seeds})

    def tune_prompts(
        self, request: PictureRequest, encoded: EncodedPicture, cell: Cell, store: TunedPromptStore
    ) -> tuple[Tuning, float]:
        """The prompt update that a cell needs and the seconds it took, stored if it was not yet."""
        class_prompts = self.class_prompts(request.names, cell)
        return store.get_or_tune(self.engine, request.item, encoded, class_prompts, cell.settings)

    def evaluate(
        self,
        request: PictureRequest,
        encoded: EncodedPicture,
        due_cells: Sequence[tuple[Cell, RowWriter]],
        prompt_stores: PromptStores,
    ) -> None:
        """Write every due cell's row for one picture; cells with the same tuning share it."""
        tuned: dict[Any, tuple[Tuning, float]] = {}
        for cell, writer in due_cells:
            class_prompts = self.class_prompts(request.names, cell)
            begin = time.perf_counter()
            method = DEFENCES[cell.method]
            if method.baseline:
                verdict = self._answer(encoded, class_prompts, cell)
                seconds = time.perf_counter() - begin
                writer.append(_row(request, cell, writer, encoded, verdict, seconds), None, None)
                continue
            key = planned_cells.tuning_key(cell)
            if key not in tuned and (store := prompt_stores[key]) is not None:
                tuned[key] = self.tune_prompts(request, encoded, cell, store)
            trace, after = self._decide(encoded, class_prompts, writer.cache, cell, tuned)
            verdict = self._answer(encoded, class_prompts, cell, trace)
            row = _row(request, cell, writer, encoded, verdict, sum(trace.seconds.values()))
            writer.append(row, trace.cache_update, after)

    def _answer(
        self, encoded: EncodedPicture, class_prompts: ClassPrompts, cell: Cell, trace: Trace | None = None
    ) -> Verdict:
        """The answer of the cell's defence; ``trace``: RITA's decision, where the answer is read from it.

        Raises:
            GuestError: the user's own defence has no answer.
        """
        decide = None if trace is None else lambda _: trace
        picture = encoded.picture() if encoded.picture and DEFENCES[cell.method].reads_pixels else None
        found = self.engine.answers(
            encoded.encoded_views, class_prompts, cell.settings, (cell.method,), decide, picture
        )
        answer = found[cell.method]  # a cell without a cache is never measured with a cache-only method
        if isinstance(answer, DefenceFault):
            raise GuestError(answer.sentence, detail=answer.detail)
        return answer

    def _decide(
        self,
        encoded: EncodedPicture,
        class_prompts: ClassPrompts,
        cache: CacheState | None,
        cell: Cell,
        tuned: dict[Any, tuple[Tuning, float]],
    ) -> tuple[Trace, CacheState]:
        """RITA's trace; its time includes the tuning also where another cell has already done it."""
        key = planned_cells.tuning_key(cell)
        tuning, seconds = tuned.get(key, (None, 0.0))
        trace, after = self.engine.decide(encoded.encoded_views, class_prompts, cache, cell.settings, tuning)
        if tuning is None:
            tuned[key] = (trace.tuning, trace.seconds["tuning"])
        else:
            trace = replace(trace, seconds=trace.seconds | {"tuning": seconds})
        return trace, after


def with_picture_name(item: DatasetItem, error: DemoError) -> DataError:
    """The same error, with the picture's name before it."""
    return DataError(f"The picture {item.id[:120]!r}: {error.message}", error.hint)


def _row(
    request: PictureRequest, cell: Cell, writer: RowWriter, encoded: EncodedPicture, verdict: Verdict, seconds: float
) -> dict[str, Any]:
    columns, names, item, outcome = writer.columns, request.names, request.item, encoded.attack_outcome
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
