"""Definitions 9 and 11: the memory of confident views as a value, and what it costs to move there.

Nothing here changes its input: :func:`update` and :func:`resize` return a new state.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from rita_demo.method.cost import cosine_cost
from rita_demo.method.precision import unit, working
from rita_demo.method.sinkhorn import transport
from rita_demo.records import Alignment, CacheChange, CacheEvent, CacheState, Confidence, Transport

EMPTY_CLASS = ("zero", "text_mean")


def empty(
    K: int,
    J: int,
    D: int,
    key: str = "",
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> CacheState:
    """A memory of ``K`` classes with ``J`` places each that holds nothing."""
    return CacheState(
        features=torch.zeros(K, J, D, device=device, dtype=dtype),
        entropy=torch.full((K, J), math.inf, device=device, dtype=dtype),
        born=torch.full((K, J), -1, device=device),
        view=torch.full((K, J), -1, device=device),
        count=torch.zeros(K, dtype=torch.long, device=device),
        pictures=0,
        key=key,
    )


def emptied(state: CacheState) -> CacheState:
    """The same memory without its views; it still knows how many pictures it has seen."""
    K, J, D = state.features.shape
    fresh = empty(K, J, D, state.key, state.features.device, state.features.dtype)
    return replace(fresh, pictures=state.pictures)


def resize(state: CacheState, slots: int) -> CacheState:
    """The same memory with ``slots`` places per class: grown with empty ones, or shrunk to the ``slots``
    lowest entropies of each class, in their old order; of equal ones the lower slot stays."""
    K, J, D = state.features.shape
    if slots == J:
        return state
    if slots > J:
        fresh = empty(K, slots, D, state.key, state.features.device, state.features.dtype)
        grown = {
            name: getattr(fresh, name).clone() for name in ("features", "entropy", "born", "view")
        }
        for name, values in grown.items():
            values[:, :J] = getattr(state, name)
        return replace(state, **grown)
    keep = state.entropy.sort(dim=1, stable=True).indices[:, :slots].sort(dim=1).values
    return replace(
        state,
        features=state.features.gather(1, keep[..., None].expand(-1, -1, D)),
        entropy=state.entropy.gather(1, keep),
        born=state.born.gather(1, keep),
        view=state.view.gather(1, keep),
        count=state.count.clamp(max=slots),
    )


def without(state: CacheState, k: int, slot: int) -> CacheState:
    """The same memory without one item; the later items of its class move up.

    Raises:
        ValueError: when class ``k`` holds nothing in that slot.
    """
    J = state.features.shape[1]
    if not 0 <= k < len(state.count) or not 0 <= slot < int(state.count[k]):
        raise ValueError(f"Class {k} holds nothing in slot {slot}.")
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
) -> tuple[CacheState, CacheChange]:
    """Offer one picture's confident views to the memory (definition 9).

    A view goes to the class it votes for: into a free slot, else over the slot with the highest
    entropy, but only when its own is strictly lower.  Views come by rising entropy, equal ones by
    number, so no view of the picture pushes out another and the result depends on nothing else.

    Args:
        x: (N, D) view features.
        confidence: of the same views; only ``kept`` ones are offered.
        views_per_image: how many views of this picture may enter; 0 means no limit.

    Returns:
        The next state (``pictures`` one higher) and what happened.
    """
    entropy, labels = confidence.entropy.tolist(), confidence.label.tolist()
    kept = torch.nonzero(confidence.kept).flatten().tolist()
    offered = sorted(kept, key=lambda view: (entropy[view], view))
    limit = views_per_image or len(offered)
    held, born = state.entropy.tolist(), state.born.tolist()
    count = state.count.tolist()
    events: list[CacheEvent] = []
    for view in offered:
        if len(events) == limit:
            break
        event = _enter(labels[view], view, entropy[view], held, born, count)
        if event is not None:
            events.append(event)
            held[event.label][event.slot], born[event.label][event.slot] = (
                event.entropy,
                state.pictures,
            )
    return _written(state, unit(x), confidence, events), CacheChange(tuple(offered), tuple(events))


def _enter(
    k: int,
    view: int,
    entropy: float,
    held: list[list[float]],
    born: list[list[int]],
    count: list[int],
) -> CacheEvent | None:
    """Where a view of class ``k`` goes, or None; raises ``count`` when it takes a free slot."""
    if count[k] < len(held[k]):
        count[k] += 1
        return CacheEvent(k, count[k] - 1, view, entropy, None, None)
    # Of equally unsure items the youngest goes, then the one in the higher slot.
    worst = max(range(len(held[k])), key=lambda slot: (held[k][slot], born[k][slot], slot))
    if entropy >= held[k][worst]:
        return None
    return CacheEvent(k, worst, view, entropy, held[k][worst], born[k][worst])


def _written(
    state: CacheState, x: Tensor, confidence: Confidence, events: list[CacheEvent]
) -> CacheState:
    if not events:
        return replace(state, pictures=state.pictures + 1)
    device = state.features.device
    k, slot, view = (
        torch.tensor([getattr(e, name) for e in events], device=device)
        for name in ("label", "slot", "view")
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
) -> tuple[Transport, Tensor]:
    """``d_cOT(k)``: the views' transport onto the aligned memory of each class (definition 11).

    Args:
        x: (N, D) views; view_weight: (N,); text_mean: (K, D), zbar_k.
        empty_class: what a class without memory pays.  ``zero``: nothing, it has no mass in the record.
            ``text_mean``: the same transport to the one atom zbar_k / |zbar_k|, which is exactly what a
            class with one cached view pays, so the first view changes nothing by itself.
        options: as :func:`~rita_demo.method.sinkhorn.transport`.

    Returns:
        The transport over (K, N, J) and the distances (K,).
    """
    atoms, weight = cache_atoms(state, alignment, text_mean, empty_class)
    result = transport(cosine_cost(x, atoms), view_weight, weight, **options)
    return result, result.distance


def cache_atoms(
    state: CacheState, alignment: Alignment, text_mean: Tensor, empty_class: str
) -> tuple[Tensor, Tensor]:
    """What the views are moved onto by :func:`cache_transport`: (K, J, D) and their weights (K, J)."""
    if empty_class not in EMPTY_CLASS:
        raise ValueError(f"empty_class is one of {', '.join(EMPTY_CLASS)}; got {empty_class!r}.")
    atoms = working(alignment.aligned).clone()
    weight = (torch.arange(atoms.shape[1], device=atoms.device) < state.count[:, None]).to(atoms)
    if empty_class == "text_mean":
        bare = state.count == 0
        atoms[bare, 0] = unit(text_mean).to(atoms)[bare]
        weight[bare, 0] = 1
    return atoms, weight
