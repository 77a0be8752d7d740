"""Definition 15 compared: are the views in the memory closer to a one-hot answer than the pictures?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import gaussian_kde

from rita_demo.analysis.cloud import cached
from rita_demo.surveys import Cloud, OneHot

Measure = Callable[..., np.ndarray]  # (features, labels, bank) -> (K,), the engine's


def one_hot(cloud: Cloud, measure: Measure) -> OneHot:
    """KL to one-hot of the pictures as delivered and of the memory they left behind.

    A view is filed under the class it answers with, so ``cached`` is small partly by the way views are
    chosen; ``cached_true`` counts each view for what its picture really shows.

    Args:
        measure: ``engine.one_hot_kl``.
    """
    held, filed, born, _ = cached(cloud)
    none = np.full(len(cloud.bank.names), np.nan)
    original = measure(cloud.attacked, cloud.label, cloud.bank)
    by_filed = measure(held, filed, cloud.bank) if len(held) else none
    by_true = measure(held, cloud.label[born], cloud.bank) if len(held) else none
    both, both_true = (~np.isnan(original) & ~np.isnan(other) for other in (by_filed, by_true))
    return OneHot(
        names=cloud.bank.names,
        original=original,
        cached=by_filed,
        cached_true=by_true,
        medians=(_median(original[both]), _median(by_filed[both]), _median(by_true[both_true])),
        improved=_share(by_filed[both] < original[both]),
        improved_true=_share(by_true[both_true] < original[both_true]),
        classes=int(both.sum()),
        classes_true=int(both_true.sum()),
        whole=cloud.whole,
    )


def density(values: np.ndarray, at: np.ndarray) -> np.ndarray | None:
    """A Gaussian kernel density of the finite values at ``at`` (Scott's width); None for fewer than
    three different values, of which no curve can be drawn honestly."""
    finite = values[np.isfinite(values)]
    if len(np.unique(finite)) < 3:
        return None
    return gaussian_kde(finite)(at)


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _share(right: np.ndarray) -> float:
    return float(right.mean()) if len(right) else float("nan")
