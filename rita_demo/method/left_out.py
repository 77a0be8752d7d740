"""What a "what if" leaves out, in the terms of Algorithm 1: views and prompts without mass, items taken out."""

from __future__ import annotations

import torch
from torch import Tensor

from rita_demo.errors import SettingError
from rita_demo.method.cache import without
from rita_demo.records import CacheState, LeftOut


def left_in(left_out: LeftOut, count: int, weight: Tensor) -> tuple[Tensor | None, Tensor]:
    """Which of ``count`` views count (N,), or None for all, and the prompts' weights (K, M), rows summing to 1.

    Raises:
        SettingError: no view stays, or no prompt of a class.
    """
    present = None
    if left_out.views:
        kept = [n not in left_out.views for n in range(count)]
        present = torch.tensor(kept, device=weight.device)
        if not any(kept):
            raise SettingError("At least one view must stay.", "Put one back.")
    if left_out.prompts:
        weight = weight.clone()
        for k, m in left_out.prompts:
            weight[k, m] = 0.0
        total = weight.sum(1, keepdim=True)
        if not bool((total > 0).all()):
            raise SettingError("At least one prompt of every class must stay.", "Put one back.")
        weight = weight / total
    return present, weight


def remembered(left_out: LeftOut, cache: CacheState) -> CacheState:
    """The memory without the items that are left out.

    Raises:
        SettingError: one of them is not there.
    """
    for k, slot in sorted(left_out.items, reverse=True):  # later slots first: the others stay put
        try:
            cache = without(cache, k, slot)
        except ValueError as error:
            raise SettingError(str(error), "Choose one of the items that are there.") from None
    return cache
