"""Definition 15: KL to one-hot of the cached views compared with the pictures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import gaussian_kde

from rita_demo.analysis.separability import cache_features
from rita_demo.records.measurement import FeatureCloud, KlToOneHot

KlFunction = Callable[..., np.ndarray]  # (features, labels, class prompts) -> (K,)


def kl_to_one_hot(cloud: FeatureCloud, measure: KlFunction) -> KlToOneHot:
    """KL to one-hot of the delivered pictures and of their cached views.

    A view is cached under its own answer, so ``cached`` is small partly by selection; ``cached_true`` counts each view
    under the true class of its picture.

    Args:
        measure: ``engine.kl_to_one_hot``.
    """
    features, label, born, _ = cache_features(cloud)
    none = np.full(len(cloud.class_prompts.names), np.nan)
    original = measure(cloud.attacked, cloud.label, cloud.class_prompts)
    cached = measure(features, label, cloud.class_prompts) if len(features) else none
    cached_true = measure(features, cloud.label[born], cloud.class_prompts) if len(features) else none
    both, both_true = (~np.isnan(original) & ~np.isnan(other) for other in (cached, cached_true))
    return KlToOneHot(
        names=cloud.class_prompts.names,
        original=original,
        cached=cached,
        cached_true=cached_true,
        medians=(_median(original[both]), _median(cached[both]), _median(cached_true[both_true])),
        improved=_share(cached[both] < original[both]),
        improved_true=_share(cached_true[both_true] < original[both_true]),
        classes=int(both.sum()),
        classes_true=int(both_true.sum()),
        pictures_name=cloud.pictures_name,
    )


def density(values: np.ndarray, at: np.ndarray) -> np.ndarray | None:
    """Gaussian kernel density of the finite values at ``at`` (Scott's width); None for fewer than 3 different values."""
    finite = values[np.isfinite(values)]
    return gaussian_kde(finite)(at) if len(np.unique(finite)) >= 3 else None


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _share(right: np.ndarray) -> float:
    return float(right.mean()) if len(right) else float("nan")
