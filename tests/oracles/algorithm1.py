"""Algorithm 1 on features, one class and one view at a time, in float64 numpy. ``decide`` implements every setting of
the method that acts on features. A cache is a list of items per class."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from rita_demo.settings import Settings
from tests.oracles.prompt_update import costs, update_prompts, view_probabilities
from tests.oracles.transport import Solution, cosine, shannon, softmax, solve, unit

F = np.ndarray


class CacheItem(NamedTuple):
    """One cached view."""

    feature: F
    entropy: float
    born: int
    view: int


class Cache(NamedTuple):
    """``classes``: a list of items per class; ``pictures``: how many were committed."""

    classes: list[list[CacheItem]]
    pictures: int = 0


def empty_cache(classes: int, pictures: int = 0) -> Cache:
    return Cache([[] for _ in range(classes)], pictures)


def zero_shot(x: F, hand: F, tau: float) -> F:
    """Row 1: softmax over classes of cos(x, z_k) / tau."""
    return softmax(np.array([cosine(x, z) for z in hand]) / tau)


def kl_to_one_hot(x: F, labels: list[int], z: F, z_weight: F, tau: float) -> F:
    """Row 15 per class: -log of the true entry of the mean answer over the class's features."""
    mean = text_mean(z, z_weight)
    result = np.full(len(z), np.nan)
    for k in range(len(z)):
        own = [zero_shot(x[n], mean, tau) for n in range(len(x)) if labels[n] == k]
        if own:
            result[k] = -np.log(np.mean(own, axis=0)[k])
    return result


def text_mean(z: F, z_weight: F) -> F:
    """zbar_k, not normalised, one row per class."""
    return np.array([sum(w * atom for w, atom in zip(ws, atoms)) for ws, atoms in zip(z_weight, z)])


def weigh_views(x: F, entropy: F, kind: str, area_fraction: F) -> F:
    """Weights of the views: uniform, AWT's confidence, R-TPT's agreement with 20 neighbours, or areas."""
    count = len(x)
    if kind == "uniform" or count == 1:
        return np.full(count, 1.0 / count)
    if kind == "confidence":
        return softmax(-entropy / 0.5)
    if kind == "area":
        rest = [max(1 - share, 0.001) for share in area_fraction]
        return np.array([part / sum(rest) for part in rest])
    if kind == "shown":
        return np.array([share / sum(area_fraction) for share in area_fraction])
    agreement = np.empty(count)
    for n in range(count):
        others = sorted((cosine(x[n], x[i]) for i in range(count) if i != n), reverse=True)
        agreement[n] = np.mean(others[:20])
    return softmax(agreement / 0.01)


def step_away(x: F, strength: float, area_fraction: F) -> F:
    """Every view plus strength |d|^2 d, where d is the weighted mean of the crops minus the whole square."""
    whole = [n for n in range(len(x)) if area_fraction[n] > 1 - 1e-6]
    crops = [n for n in range(len(x)) if n not in whole]
    if strength == 0 or not whole or not crops:
        return x
    mass = weigh_views(x[crops], np.zeros(len(crops)), "area", area_fraction[crops])
    middle = sum(m * x[n] for m, n in zip(mass, crops))
    d = middle - sum(x[n] for n in whole) / len(whole)
    return unit(np.array([view + strength * float(d @ d) * d for view in x]))


def update_cache(
    cache: Cache, x: F, entropy: F, label: list[int], kept: list[bool], slots: int, limit: int
) -> tuple[Cache, list[tuple[int, int]]]:
    """Row 9: most confident views first; ``limit`` views of one picture may enter (0 = no limit). Returns the next
    cache and the (class, view) pairs that entered."""
    classes = [list(items) for items in cache.classes]
    entered: list[tuple[int, int]] = []
    for n in sorted(range(len(x)), key=lambda i: entropy[i]):
        if not kept[n] or (limit and len(entered) >= limit):
            continue
        items = classes[label[n]]
        item = CacheItem(x[n], float(entropy[n]), cache.pictures, n)
        if len(items) < slots:
            items.append(item)
        else:
            worst = max(range(len(items)), key=lambda i: items[i].entropy)
            if item.entropy >= items[worst].entropy:
                continue
            items[worst] = item
        entered.append((label[n], n))
    return Cache(classes, cache.pictures + 1), entered


def plane_rotation(source: F, target: F) -> F:
    """The D x D rotation in the plane of two unit vectors with ``source @ W == target``."""
    turn = np.outer(target, source) - np.outer(source, target)
    column_form = np.eye(len(source)) + turn + turn @ turn / (1.0 + float(source @ target))
    return column_form.T


def procrustes(features: F, mean: F, completion: str) -> F:
    """Row 10: an orthogonal W minimising ||X W - 1 zbar^T||_F, for X (n, D)."""
    total = features.sum(0)
    if completion == "svd":
        u, _, vt = np.linalg.svd(features.T @ np.tile(mean, (len(features), 1)))
        return u @ vt
    if np.linalg.norm(total) < 1e-9 or cosine(total, mean) < -1 + 1e-9:
        return np.eye(len(mean))
    return plane_rotation(unit(total), unit(mean))


def decide(
    x: F,
    encode: Callable[[F], F],
    context: F,
    z_weight: F,
    tau: float,
    cache: Cache,
    s: Settings,
    area_fraction: F,
    aligned_by: Callable[[int], F] | None = None,
) -> tuple[SimpleNamespace, Cache]:
    """Algorithm 1 for one picture: views (N, D), their area fractions (N,), contexts (M, L, E) -> all intermediate
    results of the decision, in the order of the definitions, and the next cache.

    ``aligned_by(k)`` replaces row 10 by a given aligned cache: an SVD fixes only one direction of W, so two correct
    results can differ, and only what follows from them can be compared."""
    initial = encode(context)
    classes = len(initial)
    update = update_prompts(encode, context, x, z_weight, tau, s)
    tuned = update.features
    x = step_away(x, s.step_back, area_fraction)
    judge = tuned if s.cache_text == "tuned" else initial

    probability = view_probabilities(x, judge, z_weight, tau)
    entropy = np.array([shannon(p) for p in probability])
    pseudo = [int(np.argmax(p)) for p in probability]
    limit = s.max_entropy * (np.log(classes) if s.entropy_unit == "share_of_log_k" else 1.0)
    kept = [bool(h <= limit) for h in entropy]
    weight = weigh_views(x, entropy, s.view_weight, area_fraction)

    old = cache if s.protocol == "stream" else empty_cache(classes, cache.pictures)
    if s.protocol == "off":
        new, entered, used = cache, [], old
    else:
        new, entered = update_cache(old, x, entropy, pseudo, kept, s.slots, s.views_per_image)
        used = new if s.order == "update_first" else old

    def against(atoms: list[F], atom_weights: list[F]) -> list[Solution | None]:
        """The transport onto each class's atoms; None for a class without any."""
        limits = s.entropy_weight, s.transported_mass, s.objective
        each = zip(costs(x, atoms, atom_weights, tau, s.cost), atom_weights)
        return [solve(cost, weight, own, *limits) if own.any() else None for cost, own in each]

    before = against(list(initial), list(z_weight))
    prompt = against(list(tuned), list(z_weight))
    prompt_distance = np.array([solution.value for solution in prompt])

    mean = text_mean(judge, z_weight)
    aligned: list[F] = []
    strength = np.zeros(classes)
    cache_distance = np.zeros(classes)
    atoms = [np.zeros((0, x.shape[1])) for _ in range(classes)]
    for k in range(classes):
        features = np.array([item.feature for item in used.classes[k]])
        if len(features):
            rotated = features @ procrustes(features, mean[k], s.completion)
            aligned.append(aligned_by(k) if aligned_by else rotated)
            strength[k] = np.linalg.norm(features.sum(0)) / len(features)
        else:
            aligned.append(np.zeros((0, x.shape[1])))
        if len(features):
            atoms[k] = aligned[k]
        elif s.empty_class == "text_mean":
            atoms[k] = unit(mean[k])[None]
    if s.protocol != "off":
        found = against(atoms, [np.full(len(own), 1.0 / max(len(own), 1)) for own in atoms])
        cache_distance = np.array([0.0 if solution is None else solution.value for solution in found])

    alpha = 0.0 if s.protocol == "off" else s.cache_weight
    total = prompt_distance + alpha * cache_distance
    lowest = np.sort(total)
    return SimpleNamespace(
        views=x,
        entropy=entropy,
        pseudo_label=pseudo,
        confident=kept,
        limit=float(limit),
        view_weight=weight,
        update=update,
        before=before,
        prompt=prompt,
        used=used,
        aligned=aligned,
        strength=strength,
        cache_distance=cache_distance,
        total=total,
        label=int(np.argmin(total)),
        probability=softmax(-total / ((1 + alpha) * tau)),
        margin=float(lowest[1] - lowest[0]),
        entered=entered,
        free=aligned_by is not None,  # whether the alignment was given
    ), new
