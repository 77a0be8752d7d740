"""A feature cloud: its points, the separability of its classes, and its KL to one-hot (definition 15)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rita_demo.figures.analysis.projection import captioned_pca, centre_by_kind
from rita_demo.records.measurement import CloudPoints, FeatureCloud, KlToOneHot, PlacedCloud, Separability

#: Kinds of points: the picture before and after the attack, a view of the attacked one, a cached view, a mean prompt.
KINDS = ("clean", "attacked", "view", "cached", "prompt")
NEIGHBOURS = 5
FEWEST = 7  # values of a density
KlFunction = Callable[..., np.ndarray]  # (features, labels, class prompts) -> (K,)


def cache_features(cloud: FeatureCloud) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The cached views: features (c, D), class (c,), picture (c,), slot (c,)."""
    k, slot = np.nonzero(np.arange(cloud.cache.entropy.shape[1])[None, :] < cloud.cache.count[:, None])
    return cloud.cache.features[k, slot], k, cloud.cache.born[k, slot], slot


def to_points(cloud: FeatureCloud) -> CloudPoints:
    """The cloud as one list: clean and attacked pictures, views, cached views, mean prompts of the classes present."""
    n, shown, _ = cloud.views.shape
    whole, each = np.arange(n), np.repeat(np.arange(n), shown)
    held, filed, born, slot = cache_features(cloud)
    here = np.unique(np.concatenate([cloud.label, filed]))
    class_prompts = cloud.class_prompts
    weight, sentences = (np.asarray(a, np.float64) for a in (class_prompts.weight, class_prompts.features))
    prompts = _unit(np.stack([weight[k] @ sentences[k] for k in here]))
    parts = (
        ("clean", whole, cloud.label, np.zeros(n, int), cloud.clean),
        ("attacked", whole, cloud.label, np.zeros(n, int), cloud.attacked),
        ("view", each, cloud.label[each], np.tile(np.arange(shown), n), cloud.views.reshape(n * shown, -1)),
        ("cached", born, filed, slot, held),
        ("prompt", np.full(len(here), -1), here, np.zeros(len(here), int), prompts),
    )
    kinds = np.concatenate([np.full(len(part[1]), part[0]) for part in parts])
    columns = [np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(1, 5)]
    return CloudPoints(kinds, columns[0], columns[1], columns[2], columns[3], cloud.pictures_name)


def of_classes(points: CloudPoints, classes: int | Sequence[int] | None) -> CloudPoints:
    """The points of some classes: their pictures with all views, and their prompts. ``classes``: their numbers, or so many of
    those with most pictures; None for all."""
    if classes is None:
        return points
    label = points.label[points.kind == "clean"]  # of picture n
    if isinstance(classes, int):
        present, count = np.unique(label, return_counts=True)
        chosen = present[np.argsort(-count, kind="stable")[:classes]]
    else:
        chosen = np.asarray(classes)
    whose = np.where(points.kind == "prompt", points.label, label[points.picture])
    kept = np.isin(whose, chosen)
    arrays = {name: getattr(points, name)[kept] for name in ("kind", "picture", "label", "index", "features")}
    return replace(points, **arrays)


def placed_cloud(cloud: FeatureCloud, measure: KlFunction) -> PlacedCloud:
    """A cloud projected by PCA. ``measure`` is ``engine.kl_to_one_hot``."""
    points = to_points(cloud)
    coordinates, caption = captioned_pca(centre_by_kind(points))
    kl = kl_to_one_hot(cloud, measure)
    return PlacedCloud(cloud, points, {"PCA": coordinates}, {"PCA": caption}, kl_to_one_hot=kl)


def separabilities(cloud: FeatureCloud) -> tuple[Separability, ...]:
    """Silhouette and neighbour purity, in the original space, of (a) attacked pictures and (b) their views.

    Views of one picture are similar for reasons other than the class, so purity counts neighbours from other pictures
    only, and only for classes with at least two pictures. The row with one point per picture, the mean of its views, is
    comparable with (a). The number of neighbours is at most the number of other pictures of the smallest class, so that
    100 % can be reached."""
    n, shown, width = cloud.views.shape
    whole, each = np.arange(n), np.repeat(np.arange(n), shown)
    rows = (
        ("clean pictures", cloud.clean, whole),
        (f"(a) {cloud.pictures_name}", cloud.attacked, whole),
        ("(b) their views", cloud.views.reshape(-1, width), each),
        ("(b) one point per picture: the mean of its views", _unit(cloud.views.mean(1)), whole),
    )
    return tuple(separability(what, features, cloud.label[picture], picture) for what, features, picture in rows)


def separability(what: str, features: np.ndarray, label: np.ndarray, picture: np.ndarray) -> Separability:
    """One row of :func:`separabilities`. ``features`` (P, D) unit rows; ``label``, ``picture`` (P,) int."""
    from sklearn.metrics import silhouette_score  # imports for a second

    classes = np.unique(label)
    score = np.nan
    if 2 <= len(classes) < len(label):
        score = float(silhouette_score(features, label, metric="cosine"))
    cosine = np.asarray(features, np.float64) @ np.asarray(features, np.float64).T
    other = picture[:, None] != picture[None, :]
    same = (label[:, None] == label[None, :]) & other
    has_partner = same.any(1)  # a class with one picture has no neighbours of its own
    several = [len(np.unique(picture[label == k])) for k in np.unique(label[has_partner])]  # pictures of a class
    enough = min(NEIGHBOURS, min(several, default=1) - 1)
    purity = chance = np.nan
    if enough:
        nearest = np.argsort(np.where(other, -cosine, np.inf), axis=1, kind="stable")[has_partner, :enough]
        purity = float((label[nearest] == label[has_partner, None]).mean())
        chance = float((same.sum(1) / other.sum(1).clip(1))[has_partner].mean())
    return Separability(what, len(label), score, purity, enough, chance)


def nearest_classes(cloud: FeatureCloud, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the attack led picture ``n``: the classes of the ``NEIGHBOURS`` clean pictures nearest to it by cosine, and for each of
    its V crops the class of the one nearest clean picture. Its own clean picture is no neighbour."""
    others = np.delete(np.arange(len(cloud.ids)), n)
    clean, label = cloud.clean[others], cloud.label[others]
    near = np.argsort(-(clean @ cloud.attacked[n]), kind="stable")[:NEIGHBOURS]
    return label[near], label[(cloud.views[n] @ clean.T).argmax(1)]


def clearest_picture(cloud: FeatureCloud) -> int:
    """The first picture that the attack moves furthest from its class while most of its crops stay."""

    def moved(n: int) -> float:
        picture, crops = nearest_classes(cloud, n)
        return float((picture != cloud.label[n]).mean() + (crops == cloud.label[n]).mean())

    return max(range(len(cloud.ids)), key=moved)


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True).clip(1e-12)


def kl_to_one_hot(cloud: FeatureCloud, measure: KlFunction) -> KlToOneHot:
    """KL to one-hot of the delivered pictures and of their cached views.

    A view is cached under its own answer, so ``cached`` is small partly by selection; ``cached_true`` counts each view
    under the true class of its picture. ``measure``: ``engine.kl_to_one_hot``."""
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
    """Gaussian kernel density of the finite values at ``at`` (Scott's width); None for fewer than ``FEWEST`` values, which are
    better seen as points, or fewer than 3 different ones."""
    from scipy.stats import gaussian_kde  # late: the page opens without it

    finite = values[np.isfinite(values)]
    return gaussian_kde(finite)(at) if len(finite) >= FEWEST and len(np.unique(finite)) >= 3 else None


def _or_nan(summary: Callable[[np.ndarray], float], values: np.ndarray) -> float:
    return float(summary(values)) if len(values) else float("nan")
