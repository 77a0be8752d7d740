"""Attacks and views of several pictures in one batch, where the device gains by it.

The views are stored as usual and read when the picture is evaluated, so that rows and caches stay in stream order.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict

from rita_demo.attacks import access_of
from rita_demo.attacks.registry import get_attack
from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator, store_attack
from rita_demo.evaluation.grouping import group_by
from rita_demo.evaluation.store.artifacts import ArtifactStore
from rita_demo.evaluation.store.run_folder import CellGroup, PictureRequest, PictureStores
from rita_demo.records import Picture
from rita_demo.records.errors import DemoError

#: Pictures whose views are encoded in one batch, by device. On a CPU the 64 views of one picture keep all cores busy.
VIEW_BATCH = {"cuda": 16}
Batch = Sequence[tuple[PictureRequest, Picture]]  # pictures and their clean squares, of one size


def prepare_ahead(model: PictureEvaluator, group: CellGroup, index: int) -> None:
    """Store the attack and the views of picture ``index``, in a batch with those of the next pictures that lack them.

    Does nothing where they are stored, where the attack uses the cache (which is not known ahead), and where the device
    gains nothing. A picture that cannot be opened is left out; the error appears when it is evaluated.
    """
    first, cell = group.request(index), group.cells[0]
    stores, attack = group.stores[first.attacked], get_attack(cell.attack_settings.attack)
    if first.item.key in stores.views.store or (first.attacked and cell.attack_uses_cache):
        return
    if (size := VIEW_BATCH.get(model.engine.info.device, 1)) > 1:
        for batch in _next_batches(model, group, index, stores.views.store, size):
            _encode(model, batch, stores)
    elif stores.attacks is not None and first.item.key not in stores.attacks and attack.loop is None:
        size = model.engine.attacks_together
        if size > 1 and not access_of(model.picture_settings(first)):
            for batch in _next_batches(model, group, index, stores.attacks, size):
                _attack(model, batch, stores)


def _next_batches(
    model: PictureEvaluator, group: CellGroup, index: int, store: ArtifactStore, size: int
) -> Iterable[Batch]:
    """The next ``size`` pictures that are not stored and can be opened, by the side of their square."""
    attacked, found = group.request(index).attacked, list[tuple[PictureRequest, Picture]]()
    for request in map(group.request, range(index, len(group.stream))):
        if len(found) == size:
            break
        if request.attacked == attacked and request.item.key not in store:
            with suppress(DemoError):
                found.append((request, model.open(request)))
    return group_by(found, lambda one: one[1].pixels.shape[0]).values()


def _attack(model: PictureEvaluator, batch: Batch, stores: PictureStores) -> None:
    """Store the attacked squares that are missing, made in one batch; not where each needs fresh views."""
    if (attacks := stores.attacks) is None:
        return
    missing = [one for one in batch if one[0].item.key not in attacks]
    requests = [request for request, _ in missing]
    if len(missing) < 2 or access_of(model.picture_settings(requests[0])):
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
