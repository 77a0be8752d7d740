"""Definitions 9 and 11: the cache of confident views as a value, and what the views are transported onto; exclusions of a "what
if". No function changes its input; each returns a new state."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from rita_demo.method.cost import at_least_float32, unit
from rita_demo.records import Alignment, CacheEvent, CacheState, CacheUpdate, Confidence, Exclusions
from rita_demo.records.errors import SettingError

EMPTY = {"features": 0.0, "entropy": math.inf, "born": -1, "view": -1}  # what an empty slot holds


def empty(
    K: int, J: int, D: int, key: str = "", device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> CacheState:
    """An empty cache of ``K`` classes with ``J`` slots each, for features of width ``D``."""
    return CacheState(
        features=torch.zeros(K, J, D, device=device, dtype=dtype),
        entropy=torch.full((K, J), math.inf, device=device, dtype=dtype),
        born=torch.full((K, J), -1, dtype=torch.long, device=device),
        view=torch.full((K, J), -1, dtype=torch.long, device=device),
        count=torch.zeros(K, dtype=torch.long, device=device),
        pictures=0,
        key=key,
    )


def cleared(state: CacheState) -> CacheState:
    """A cache without its items; the number of pictures stays."""
    K, J, D = state.features.shape
    fresh = empty(K, J, D, state.key, state.features.device, state.features.dtype)
    return replace(fresh, pictures=state.pictures)


def resize(state: CacheState, slots: int) -> CacheState:
    """A cache with ``slots`` slots per class. More slots are empty. Fewer slots keep the lowest entropies of
    each class in their order; of equal entropies the lower slot stays."""
    K, J, _ = state.features.shape
    if slots == J:
        return state
    keep = state.entropy.sort(dim=1, stable=True).indices[:, :slots].sort(dim=1).values
    changed: dict[str, Any] = {}
    for name, nothing in EMPTY.items():
        values = getattr(state, name)
        added = values.new_full((K, max(slots - J, 0), *values.shape[2:]), nothing)
        changed[name] = torch.cat([values[torch.arange(K, device=keep.device)[:, None], keep], added], 1)
    return replace(state, count=state.count.clamp(max=slots), **changed)


def remove(state: CacheState, k: int, slot: int) -> CacheState:
    """A cache without one item; the later items of its class move up. Raises ValueError: the slot of class ``k``
    is empty."""
    if not 0 <= k < len(state.count) or not 0 <= slot < int(state.count[k]):
        raise ValueError(f"Slot {slot} of class {k} is empty.")
    changed = {name: getattr(state, name).clone() for name in EMPTY}
    for name, values in changed.items():
        values[k, slot:-1] = getattr(state, name)[k, slot + 1 :]
        values[k, -1] = EMPTY[name]
    count = state.count.clone()
    count[k] -= 1
    return replace(state, count=count, **changed)


def update(
    state: CacheState, x: Tensor, confidence: Confidence, *, views_per_image: int = 0
) -> tuple[CacheState, CacheUpdate]:
    """Insert one picture's confident views (definition 9).

    A view goes to the class of its pseudo-label: into a free slot, or over the item with the highest entropy if its own
    entropy is strictly lower. Views are inserted by rising entropy, then by number, so no view replaces another view of
    the same picture. Returns the next state (``pictures`` one higher), and the candidates and insertions.

    Args:
        x: (N, D) view features.
        confidence: of the same views; only ``kept`` views are candidates.
        views_per_image: how many views of this picture may be inserted; 0: no limit."""
    entropy, labels = confidence.entropy.tolist(), confidence.label.tolist()
    confident = torch.nonzero(confidence.kept).flatten().tolist()
    candidates = sorted(confident, key=lambda view: (entropy[view], view))
    held, born, count = state.entropy.tolist(), state.born.tolist(), state.count.tolist()
    events: list[CacheEvent] = []
    for view in candidates:
        if len(events) == (views_per_image or len(candidates)):
            break
        k = labels[view]
        slot, replaced = count[k], (None, None)
        if slot == len(held[k]):
            # Of equal entropies the latest item is replaced, then the one in the higher slot.
            slot = max(range(slot), key=lambda one: (held[k][one], born[k][one], one))
            replaced = held[k][slot], born[k][slot]
            if entropy[view] >= held[k][slot]:
                continue
        else:
            count[k] += 1
        events.append(CacheEvent(k, slot, view, entropy[view], *replaced))
        held[k][slot], born[k][slot] = entropy[view], state.pictures
    rows = [(event.label, event.slot, event.view) for event in events]
    k, slot, view = torch.tensor(rows, dtype=torch.long, device=state.count.device).reshape(-1, 3).unbind(1)
    after = replace(
        state,
        features=state.features.index_put((k, slot), unit(x)[view].to(state.features)),
        entropy=state.entropy.index_put((k, slot), confidence.entropy[view].to(state.entropy)),
        born=state.born.index_put((k, slot), torch.full_like(view, state.pictures)),
        view=state.view.index_put((k, slot), view),
        count=state.count.new_tensor(count),
        pictures=state.pictures + 1,
    )
    return after, CacheUpdate(tuple(candidates), tuple(events))


def cache_atoms(state: CacheState, alignment: Alignment, text_mean: Tensor, empty_class: str) -> tuple[Tensor, Tensor]:
    """What the views are transported onto for ``d_cOT(k)``: the aligned cache of each class (definition 11), atoms
    (K, J, D) and their weights (K, J), 1 where filled. ``text_mean``: (K, D), zbar_k.

    ``empty_class``: what a class without items costs. ``zero``: 0, it has no mass. ``text_mean``: the transport to the
    one atom zbar_k / |zbar_k|, which equals the cost of a class with one cached view."""
    atoms = at_least_float32(alignment.aligned).clone()
    count = state.count.to(atoms.device)
    weight = (torch.arange(atoms.shape[1], device=atoms.device) < count[:, None]).to(atoms)
    if empty_class == "text_mean":
        bare = count == 0
        atoms[:, 0] = torch.where(bare[:, None], unit(text_mean).to(atoms), atoms[:, 0])
        weight[:, 0] = torch.where(bare, 1, weight[:, 0])
    return atoms, weight


def apply_to_views(exclusions: Exclusions, count: int, weight: Tensor) -> tuple[Tensor | None, Tensor]:
    """The mask of the ``count`` views that remain (N,), None for all, and the prompt weights (K, M), rows sum to 1.
    Raises SettingError: no view remains, or no prompt of a class."""
    view_mask = None
    if exclusions.views:
        remaining = [n not in exclusions.views for n in range(count)]
        view_mask = torch.tensor(remaining, dtype=torch.bool, device=weight.device)
        if not any(remaining):
            raise SettingError("At least one view must stay.", "Put one back.")
    if exclusions.prompts:
        weight = weight.clone()
        for k, m in exclusions.prompts:
            weight[k, m] = 0.0
        total = weight.sum(1, keepdim=True)
        if not bool((total > 0).all()):
            raise SettingError("At least one prompt of every class must stay.", "Put one back.")
        weight = weight / total
    return view_mask, weight


def apply_to_cache(exclusions: Exclusions, cache: CacheState) -> CacheState:
    """The cache without the excluded items. Raises SettingError: one of the items does not exist."""
    # Later slots first, so that the earlier ones keep their number.
    for k, slot in sorted(exclusions.cache_items, reverse=True):
        try:
            cache = remove(cache, k, slot)
        except ValueError as error:
            raise SettingError(str(error), "Choose one of the items that are there.") from None
    return cache
