"""Exclusions of a "what if" in the terms of Algorithm 1: views and prompts without mass, cache items removed."""

import torch
from torch import Tensor

from rita_demo.method.cache import remove
from rita_demo.records import CacheState, Exclusions
from rita_demo.records.errors import SettingError


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
