"""Definition 15: KL to one-hot of the cached views compared with the pictures."""

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
        medians=(
            _or_nan(np.median, original[both]),
            _or_nan(np.median, cached[both]),
            _or_nan(np.median, cached_true[both_true]),
        ),
        improved=_or_nan(np.mean, cached[both] < original[both]),
        improved_true=_or_nan(np.mean, cached_true[both_true] < original[both_true]),
        classes=int(both.sum()),
        classes_true=int(both_true.sum()),
        pictures_name=cloud.pictures_name,
    )


def density(values: np.ndarray, at: np.ndarray) -> np.ndarray | None:
    """Gaussian kernel density of the finite values at ``at`` (Scott's width); None for fewer than 3 different values."""
    finite = values[np.isfinite(values)]
    return gaussian_kde(finite)(at) if len(np.unique(finite)) >= 3 else None


def _or_nan(summary: Callable[[np.ndarray], float], values: np.ndarray) -> float:
    return float(summary(values)) if len(values) else float("nan")
