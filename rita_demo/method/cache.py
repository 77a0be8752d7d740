"""Definitions 9 and 11: the cache of confident views as a value, and the transport onto it.

No function changes its input; each returns a new state.
"""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from rita_demo.method.cost import cosine_cost
from rita_demo.method.dtypes import at_least_float32, unit
from rita_demo.method.sinkhorn import transport
from rita_demo.records import Alignment, CacheEvent, CacheState, CacheUpdate, Confidence, Transport


def empty(
    K: int, J: int, D: int, key: str = "", device: torch.device | str | None = None, dtype: torch.dtype = torch.float32
) -> CacheState:
    """An empty cache of ``K`` classes with ``J`` slots each, for features of width ``D``."""
    return CacheState(
        features=torch.zeros(K, J, D, device=device, dtype=dtype),
        entropy=torch.full((K, J), math.inf, device=device, dtype=dtype),
        born=torch.full((K, J), -1, device=device),
        view=torch.full((K, J), -1, device=device),
        count=torch.zeros(K, dtype=torch.long, device=device),
        pictures=0,
        key=key,
    )


def cleared(state: CacheState) -> CacheState:
    """The same cache without its items; the number of pictures stays."""
    K, J, D = state.features.shape
    fresh = empty(K, J, D, state.key, state.features.device, state.features.dtype)
    return replace(fresh, pictures=state.pictures)


def resize(state: CacheState, slots: int) -> CacheState:
    """The same cache with ``slots`` slots per class.

    More slots are empty. Fewer slots keep the lowest entropies of each class in their order; of equal entropies the
    lower slot stays.
    """
    K, J, D = state.features.shape
    if slots == J:
        return state
    if slots > J:
        grown = empty(K, slots, D, state.key, state.features.device, state.features.dtype)
        for name in ("features", "entropy", "born", "view"):
            getattr(grown, name)[:, :J] = getattr(state, name)
        return replace(grown, count=state.count, pictures=state.pictures)
    keep = state.entropy.sort(dim=1, stable=True).indices[:, :slots].sort(dim=1).values
    return replace(
        state,
        features=state.features.gather(1, keep[..., None].expand(-1, -1, D)),
        entropy=state.entropy.gather(1, keep),
        born=state.born.gather(1, keep),
        view=state.view.gather(1, keep),
        count=state.count.clamp(max=slots),
    )


def remove(state: CacheState, k: int, slot: int) -> CacheState:
    """The same cache without one item; the later items of its class move up.

    Raises:
        ValueError: the slot of class ``k`` is empty.
    """
    J = state.features.shape[1]
    if not 0 <= k < len(state.count) or not 0 <= slot < int(state.count[k]):
        raise ValueError(f"Slot {slot} of class {k} is empty.")
    order = torch.tensor([*range(slot), *range(slot + 1, J), slot], device=state.features.device)
    fresh = empty(1, 1, state.features.shape[2], "", state.features.device, state.features.dtype)
    changed = {}
    for name in ("features", "entropy", "born", "view"):
        values = getattr(state, name).clone()
        values[k] = values[k, order]
        values[k, -1] = getattr(fresh, name)[0, 0]
        changed[name] = values
    count = state.count.clone()
    count[k] -= 1
    return replace(state, count=count, **changed)


def update(
    state: CacheState, x: Tensor, confidence: Confidence, *, views_per_image: int = 0
) -> tuple[CacheState, CacheUpdate]:
    """Insert one picture's confident views (definition 9).

    A view goes to the class of its pseudo-label: into a free slot, or over the item with the highest entropy if its own
    entropy is strictly lower. Views are inserted by rising entropy, then by number, so no view replaces another view of
    the same picture.

    Args:
        x: (N, D) view features.
        confidence: of the same views; only ``kept`` views are candidates.
        views_per_image: how many views of this picture may be inserted; 0: no limit.

    Returns:
        The next state (``pictures`` one higher), and the candidates and insertions.
    """
    entropy, labels = confidence.entropy.tolist(), confidence.label.tolist()
    kept = torch.nonzero(confidence.kept).flatten().tolist()
    candidates = sorted(kept, key=lambda view: (entropy[view], view))
    limit = views_per_image or len(candidates)
    held, born = state.entropy.tolist(), state.born.tolist()
    count = state.count.tolist()
    events: list[CacheEvent] = []
    for view in candidates:
        if len(events) == limit:
            break
        event = _slot_for(labels[view], view, entropy[view], held, born, count)
        if event is not None:
            events.append(event)
            held[event.label][event.slot], born[event.label][event.slot] = (event.entropy, state.pictures)
    return _write(state, unit(x), confidence, events), CacheUpdate(tuple(candidates), tuple(events))


def _slot_for(
    k: int, view: int, entropy: float, held: list[list[float]], born: list[list[int]], count: list[int]
) -> CacheEvent | None:
    """The slot that a view of class ``k`` enters, or None; a free slot adds one to ``count[k]``."""
    if count[k] < len(held[k]):
        count[k] += 1
        return CacheEvent(k, count[k] - 1, view, entropy, None, None)
    # Of equal entropies the latest item is replaced, then the one in the higher slot.
    worst = max(range(len(held[k])), key=lambda slot: (held[k][slot], born[k][slot], slot))
    if entropy >= held[k][worst]:
        return None
    return CacheEvent(k, worst, view, entropy, held[k][worst], born[k][worst])


def _write(state: CacheState, x: Tensor, confidence: Confidence, events: list[CacheEvent]) -> CacheState:
    if not events:
        return replace(state, pictures=state.pictures + 1)
    device = state.features.device
    k, slot, view = (
        torch.tensor([getattr(e, name) for e in events], device=device) for name in ("label", "slot", "view")
    )
    at = (k, slot)
    new = torch.tensor([e.replaced_entropy is None for e in events], device=device).long()
    return replace(
        state,
        features=state.features.index_put(at, x[view].to(state.features)),
        entropy=state.entropy.index_put(at, confidence.entropy[view].to(state.entropy)),
        born=state.born.index_put(at, torch.full_like(view, state.pictures)),
        view=state.view.index_put(at, view),
        count=state.count.index_add(0, k, new),
        pictures=state.pictures + 1,
    )


def cache_transport(
    x: Tensor,
    view_weight: Tensor,
    state: CacheState,
    alignment: Alignment,
    text_mean: Tensor,
    *,
    empty_class: str,
    **options: Any,
) -> Transport:
    """``d_cOT(k)``: the views' transport onto the aligned cache of each class (definition 11).

    Args:
        x: (N, D) views. view_weight: (N,). text_mean: (K, D), zbar_k.
        empty_class: the cost of a class without items. ``zero``: 0, with no mass in the record. ``text_mean``: the
            transport to the one atom zbar_k / |zbar_k|, which equals the cost of a class with one cached view.
        options: as for :func:`~rita_demo.method.sinkhorn.transport`.

    Returns:
        The transport over (K, N, J); its ``distance`` is d_cOT (K,).
    """
    atoms, weight = cache_atoms(state, alignment, text_mean, empty_class)
    return transport(cosine_cost(x, atoms), view_weight, weight, **options)


def cache_atoms(state: CacheState, alignment: Alignment, text_mean: Tensor, empty_class: str) -> tuple[Tensor, Tensor]:
    """The atoms of :func:`cache_transport` (K, J, D) and their weights (K, J), 1 where filled."""
    atoms = at_least_float32(alignment.aligned).clone()
    weight = (torch.arange(atoms.shape[1], device=atoms.device) < state.count[:, None]).to(atoms)
    if empty_class == "text_mean":
        bare = state.count == 0
        atoms[bare, 0] = unit(text_mean).to(atoms)[bare]
        weight[bare, 0] = 1
    return atoms, weight
