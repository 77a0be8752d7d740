"""Attacks and views of several pictures in one batch, where the device gains by it.

The views are stored as usual and read when the picture is evaluated, so that rows and caches stay in stream order.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rita_demo.attacks import access_of
from rita_demo.attacks.registry import get_attack
from rita_demo.data.pictures import open_picture
from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator
from rita_demo.evaluation.grouping import group_by
from rita_demo.evaluation.store.artifacts import ArtifactStore
from rita_demo.evaluation.store.run_folder import CellGroup, PictureRequest
from rita_demo.evaluation.store.views_and_attacks import AttackedPictureStore, AttackOutcome, EncodedPictureStore
from rita_demo.records import Picture
from rita_demo.records.errors import DemoError
from rita_demo.settings import Settings

#: Pictures whose views are encoded in one batch, by device. On a CPU the 64 views of one picture keep all cores busy.
VIEW_BATCH = {"cuda": 16}


@dataclass(frozen=True)
class PendingPicture:
    """A picture whose attack or views are not stored: its settings with its own seeds, and its clean square."""

    request: PictureRequest
    settings: Settings
    picture: Picture


def prepare_ahead(model: PictureEvaluator, group: CellGroup, index: int) -> None:
    """Store the attack and the views of picture ``index``, in a batch with those of the next pictures that lack them.

    Does nothing where they are stored, where the attack uses the cache (which is not known ahead), and where the device
    gains nothing. A picture that cannot be opened is left out; the error appears when it is evaluated.
    """
    first, device = group.request(index), model.engine.info.device
    views, attacks = group.views[first.attacked], group.attacks[first.attacked]
    if first.item in views.store or (first.attacked and group.cells[0].attack_uses_cache):
        return
    if (size := VIEW_BATCH.get(device, 1)) > 1:
        for batch in _next_batches(model, group, index, views.store, size):
            _encode(model, batch, views, attacks)
    elif attacks is not None and first.item not in attacks.store and get_attack(_attack_name(first)).loop is None:
        for batch in _next_batches(model, group, index, attacks.store, model.engine.attacks_together):
            _attack(model, batch, attacks)


def _attack_name(request: PictureRequest) -> str:
    return request.view_cell.attack_settings.attack


def _next_batches(
    model: PictureEvaluator, group: CellGroup, index: int, store: ArtifactStore, size: int
) -> Iterable[list[PendingPicture]]:
    """The next ``size`` pictures that are not stored, by the side of their square."""
    waiting = islice(_pending_pictures(model, group, index, store), size)
    return group_by(waiting, lambda one: one.picture.pixels.shape[0]).values()


def _pending_pictures(
    model: PictureEvaluator, group: CellGroup, index: int, store: ArtifactStore
) -> Iterator[PendingPicture]:
    attacked = group.request(index).attacked
    for later in range(index, len(group.stream)):
        request = group.request(later)
        if request.attacked != attacked or request.item in store:
            continue
        settings = model.picture_settings(request)
        try:
            picture = open_picture(request.item.source(), square=settings.square, side=model.engine.info.side)
        except DemoError:
            continue
        yield PendingPicture(request, settings, picture)


def _attack(model: PictureEvaluator, batch: Sequence[PendingPicture], attacks: AttackedPictureStore) -> None:
    """Store the attacked squares that are missing, made in one batch; not where each needs fresh views."""
    missing = [one for one in batch if one.request.item not in attacks.store]
    if len(missing) < 2 or access_of(batch[0].settings):
        return
    traces = model.engine.attack_batch(
        [one.picture for one in missing],
        model.class_prompts(batch[0].request.names, batch[0].request.view_cell),
        missing[0].settings,
        [one.request.item.label for one in missing],
        [one.settings.attack_seed for one in missing],
        [one.request.target for one in missing],
    )
    for one, trace in zip(missing, traces, strict=True):
        attacks.put(one.request.item, trace)


def _encode(
    model: PictureEvaluator,
    batch: Sequence[PendingPicture],
    views: EncodedPictureStore,
    attacks: AttackedPictureStore | None,
) -> None:
    """Store the views of the clean squares where nothing is attacked, else of the attacked ones, made in one batch."""
    shown = [(one.picture, AttackOutcome()) for one in batch]
    if attacks is not None:
        _attack(model, batch, attacks)
        prompts = model.class_prompts(batch[0].request.names, batch[0].request.view_cell)
        shown = [
            attacks.get_or_attack(
                model.engine, one.request.item, one.picture, prompts, one.settings, None, one.request.target
            )
            for one in batch
        ]
    begin = time.perf_counter()
    seeds = [one.settings.view_seed for one in batch]
    encoded = model.engine.encode_views_batch([picture for picture, _ in shown], batch[0].settings, seeds)
    seconds = (time.perf_counter() - begin) / len(batch)
    for one, seed, encoded_views, (_, outcome) in zip(batch, seeds, encoded, shown, strict=True):
        views.add(one.request.item, encoded_views.features, seed, outcome, seconds)
