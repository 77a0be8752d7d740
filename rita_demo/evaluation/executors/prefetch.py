"""Attacks and views of several pictures in one batch, where the device gains by it.

The views are stored as usual and read when the picture is evaluated, so that rows and caches stay in stream order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rita_demo.attacks import access_of
from rita_demo.data.pictures import open_picture
from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator
from rita_demo.evaluation.grouping import group_by
from rita_demo.evaluation.store.run_folder import CellGroup, PictureRequest
from rita_demo.evaluation.store.views_and_attacks import AttackedPictureStore, AttackOutcome, EncodedPictureStore
from rita_demo.records import Picture
from rita_demo.records.errors import DemoError
from rita_demo.settings import Settings

#: Pictures per batch, by device. On a CPU one picture keeps all cores busy.
BATCH_SIZE = {"cuda": 16}


@dataclass(frozen=True)
class PendingPicture:
    """A picture whose views are not stored: its settings with its own seeds, and its clean square."""

    request: PictureRequest
    settings: Settings
    picture: Picture


def encode_batch_ahead(model: PictureEvaluator, group: CellGroup, index: int, batch_size: int) -> None:
    """Store the views of picture ``index``, and in the same batch those of the next pictures that lack them.

    Does nothing where they are stored, and where the attack uses the cache (which is not known ahead). A picture that
    cannot be opened is left out; the error appears when it is evaluated.
    """
    first = group.request(index)
    views, attacks = group.views[first.attacked], group.attacks[first.attacked]
    if batch_size < 2 or first.item in views.store or (first.attacked and group.cells[0].attack_uses_cache):
        return
    waiting = islice(_pending_pictures(model, group, index, views), batch_size)
    for batch in group_by(waiting, lambda one: one.picture.pixels.shape[0]).values():  # of one size
        shown, outcomes = _attack_batch(model, batch, attacks)
        begin = time.perf_counter()
        seeds = [one.settings.view_seed for one in batch]
        encoded = model.engine.encode_views_batch(shown, batch[0].settings, seeds)
        seconds = (time.perf_counter() - begin) / len(batch)
        for one, seed, encoded_views, outcome in zip(batch, seeds, encoded, outcomes, strict=True):
            views.add(one.request.item, encoded_views.features, seed, outcome, seconds)


def _pending_pictures(
    model: PictureEvaluator, group: CellGroup, index: int, views_store: EncodedPictureStore
) -> Iterator[PendingPicture]:
    attacked = group.request(index).attacked
    for later in range(index, len(group.stream)):
        request = group.request(later)
        if request.attacked != attacked or request.item in views_store.store:
            continue
        settings = model.picture_settings(request)
        try:
            picture = open_picture(request.item.source(), square=settings.square, side=model.engine.info.side)
        except DemoError:
            continue
        yield PendingPicture(request, settings, picture)


def _attack_batch(
    model: PictureEvaluator, batch: Sequence[PendingPicture], attack_store: AttackedPictureStore | None
) -> tuple[list[Picture], list[AttackOutcome]]:
    """The clean squares where nothing is attacked, else the attacked ones: read, or made in one batch if possible."""
    if attack_store is None:
        return [one.picture for one in batch], [AttackOutcome()] * len(batch)
    class_prompts = model.class_prompts(batch[0].request.names, batch[0].request.view_cell)
    missing = [one for one in batch if one.request.item not in attack_store.store]
    if missing and not access_of(batch[0].settings):
        traces = model.engine.attack_batch(
            [one.picture for one in missing],
            class_prompts,
            missing[0].settings,
            [one.request.item.label for one in missing],
            [one.settings.attack_seed for one in missing],
            [one.request.target for one in missing],
        )
        for one, trace in zip(missing, traces, strict=True):
            attack_store.put(one.request.item, trace)
    delivered = [
        attack_store.get_or_attack(
            model.engine, one.request.item, one.picture, class_prompts, one.settings, None, one.request.target
        )
        for one in batch
    ]
    return [picture for picture, _ in delivered], [outcome for _, outcome in delivered]
