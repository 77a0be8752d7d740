"""Algorithm 1, one class and one view at a time, in float64 numpy. ``decide`` implements every setting of the method that
acts on features; :class:`ReferenceRita` has the same definitions behind a model, from pictures on. A cache is a list of
items per class."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from rita_demo.settings import Settings
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.prompts import CONTEXT_LENGTH, DEFAULT_START, initial_contexts, sentence
from rita_demo.vlm.views.augmix import augmix
from rita_demo.vlm.views.boxes import view_boxes
from tests.oracles.prompt_update import costs, most_confident, update_prompts, view_probabilities
from tests.oracles.transport import EXACT, Solution, cosine, shannon, softmax, solve, unit

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


def entropy_limit(s: Settings, classes: int) -> float:
    """Row 9: the highest entropy, in nats, of a view that may enter the cache."""
    return float(s.max_entropy * (np.log(classes) if s.entropy_unit == "share_of_log_k" else 1.0))


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


def aligned_cache(cache: Cache, mean: F, completion: str) -> list[F]:
    """Row 10 for every class: its cached features, rotated; (0, D) for a class without any."""
    aligned = []
    for items, own in zip(cache.classes, mean):
        features = np.array([item.feature for item in items]).reshape(-1, len(own))
        aligned.append(features @ procrustes(features, own, completion) if len(features) else features)
    return aligned


def cache_distances(
    x: F, view_weight: F, aligned: list[F], mean: F, tau: float, s: Settings, end: tuple[int, float] = EXACT
) -> F:
    """Row 11: d_cOT (K,); a class without cached views costs nothing, or as much as its mean prompt."""
    atoms = [unit(m)[None] if not len(a) and s.empty_class == "text_mean" else a for a, m in zip(aligned, mean)]
    uniform = [np.full(len(own), 1.0 / max(len(own), 1)) for own in atoms]
    return distances(transports(x, view_weight, atoms, uniform, tau, s, end))


def transports(
    x: F, view_weight: F, atoms: list[F], weights: list[F], tau: float, s: Settings, end: tuple[int, float] = EXACT
) -> list[Solution | None]:
    """Rows 5-7: the transport of the views onto the atoms of each class; None for a class without any."""
    limits = s.entropy_weight, s.transported_mass, s.objective, end
    each = zip(costs(x, atoms, weights, tau, s.cost), weights)
    return [solve(cost, view_weight, own, *limits) if own.any() else None for cost, own in each]


def distances(solutions: list[Solution | None]) -> F:
    """(K,) the value of each class's transport; 0 without one."""
    return np.array([0.0 if solution is None else solution.value for solution in solutions])


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
    limit = entropy_limit(s, classes)
    kept = [bool(h <= limit) for h in entropy]
    weight = weigh_views(x, entropy, s.view_weight, area_fraction)

    old = cache if s.protocol == "stream" else empty_cache(classes, cache.pictures)
    new, used, entered = cache, old, list[tuple[int, int]]()
    if s.protocol != "off":
        new, entered = update_cache(old, x, entropy, pseudo, kept, s.slots, s.views_per_image)
        used = new if s.order == "update_first" else old

    before = transports(x, weight, list(initial), list(z_weight), tau, s)
    prompt = transports(x, weight, list(tuned), list(z_weight), tau, s)

    mean = text_mean(judge, z_weight)
    aligned = aligned_cache(used, mean, s.completion)
    strength = [np.linalg.norm(sum(i.feature for i in own)) / len(own) if own else 0.0 for own in used.classes]
    if aligned_by:
        aligned = [aligned_by(k) if len(own) else own for k, own in enumerate(aligned)]
    cache_distance = np.zeros(classes)
    if s.protocol != "off":
        cache_distance = cache_distances(x, weight, aligned, mean, tau, s)

    alpha = 0.0 if s.protocol == "off" else s.cache_weight
    total = distances(prompt) + alpha * cache_distance
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


class ReferenceRita:
    """RITA for one vocabulary, picture after picture, with the model as open_clip builds it (unfused).

    Texts have 77 tokens, and views are encoded wherever they are used; nothing is slow on purpose. The prompt update is
    torch's: finite differences of a whole text tower would take hours. From the package come the model, and what is
    drawn at random: boxes, AugMix and contexts.

    It supports tuning_loss ``marginal``, cache_text ``initial``, descriptions ``none``, step_back 0 and protocol
    ``stream``."""

    def __init__(self, backbone: Backbone, names: tuple[str, ...], settings: Settings) -> None:
        self.backbone, self.settings, self.tau = backbone.unfused(), settings, backbone.temperature
        self.tokens = backbone.tower.tokens([sentence(DEFAULT_START, name) for name in names])
        self.contexts = initial_contexts(backbone.tower, settings)
        self.prompt_weight = np.full((len(names), len(self.contexts)), 1.0 / len(self.contexts))
        self.end = settings.sinkhorn_iterations, settings.sinkhorn_tolerance
        self.cache = empty_cache(len(names))
        with torch.no_grad():
            self.initial_prompts = self.encode_text(self.contexts).double().numpy()

    def __call__(self, square: F) -> tuple[F, F, F]:
        """d_OT, d_cOT and their total (K,) of a square (H, H, 3) uint8; update the cache."""
        s, views = self.settings, cut_views(square, self.settings, self.backbone.side)
        if s.order == "update_first":
            self.update_cache(views)
        prompt, cache = self.prompt_distance(views, self.tune(views)), self.cache_distance(views)
        if s.order == "predict_first":
            self.update_cache(views)
        return prompt, cache, prompt + s.cache_weight * cache

    def encode_image(self, views: list[Image.Image]) -> F:
        """Unit features (N, D) of PIL views."""
        stacked = np.stack([np.asarray(view, np.float32) / 255 for view in views])
        with torch.no_grad():
            found = self.backbone.encode_pixels(torch.from_numpy(stacked).permute(0, 3, 1, 2).contiguous())
        return found.double().numpy()

    def encode_text(self, context: Tensor) -> Tensor:
        """Unit features (K, M, D) of all prompts at their full length, for contexts (M, 4, E)."""
        tower = self.backbone.tower
        words, position = tower.embed(self.tokens), tower.position(self.tokens)
        prompts = []
        for one in context:
            middle = one.expand(len(words), -1, -1)
            filled = torch.cat([words[:, :1], middle, words[:, 1 + CONTEXT_LENGTH :]], dim=1)
            prompts.append(tower.encode(filled, position))
        return torch.stack(prompts, dim=1)

    def answers(self, x: F) -> tuple[F, list[int]]:
        """Row 8: the entropy (N,) of each view's answer, and the answer."""
        answers = view_probabilities(x, self.initial_prompts, self.prompt_weight, self.tau)
        return np.array([shannon(p) for p in answers]), [int(np.argmax(p)) for p in answers]

    def update_cache(self, views: list[Image.Image]) -> None:
        """Row 9."""
        s, (entropy, label) = self.settings, self.answers(self.encode_image(views))
        kept = [bool(h <= entropy_limit(s, len(self.tokens))) for h in entropy]
        x = self.encode_image(views)
        self.cache, _ = update_cache(self.cache, x, entropy, label, kept, s.slots, s.views_per_image)

    def tune(self, views: list[Image.Image]) -> F:
        """Row 13: the prompts (K, M, D) after s steps of AdamW on the contexts."""
        s, x = self.settings, self.encode_image(views)
        chosen = most_confident(x, self.initial_prompts, self.prompt_weight, self.tau, s.subset_size)
        pictures = torch.from_numpy(x[chosen]).float()
        context = self.contexts.clone().requires_grad_()
        optimiser = torch.optim.AdamW([context], lr=s.tuning_rate, weight_decay=0.0)
        for _ in range(s.tuning_steps):
            mean = (pictures @ self.encode_text(context).mean(1).T / self.tau).softmax(1).mean(0)
            loss = -(mean * mean.log()).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            return self.encode_text(context).double().numpy()

    def view_weight(self, x: F) -> F:
        """The mass (N,) of the views."""
        left, top, right, bottom = view_boxes(self.settings)[0].astype(float).T
        return weigh_views(x, self.answers(x)[0], self.settings.view_weight, (right - left) * (bottom - top))

    def prompt_distance(self, views: list[Image.Image], prompts: F) -> F:
        """Row 7: d_OT (K,)."""
        x = self.encode_image(views)
        weights = list(self.prompt_weight)
        return distances(transports(x, self.view_weight(x), list(prompts), weights, self.tau, self.settings, self.end))

    def cache_distance(self, views: list[Image.Image]) -> F:
        """Rows 10 and 11: d_cOT (K,)."""
        s, x, mean = self.settings, self.encode_image(views), text_mean(self.initial_prompts, self.prompt_weight)
        aligned = aligned_cache(self.cache, mean, s.completion)
        return cache_distances(x, self.view_weight(x), aligned, mean, self.tau, s, self.end)


def cut_views(square: F, settings: Settings, side: int) -> list[Image.Image]:
    """Row 2: N views (side, side) of a square (H, H, 3) uint8, the same boxes as the engine's."""
    picture = Image.fromarray(square)
    boxes, mirrored = view_boxes(settings)
    views = []
    for number, (box, mirror) in enumerate(zip(boxes, mirrored)):
        left, top, right, bottom = (float(edge) * picture.width for edge in box)
        view = picture.resize((side, side), Image.Resampling.BICUBIC, (left, top, right, bottom))
        if mirror:
            view = ImageOps.mirror(view)
        if settings.views_augmix and number > 0:
            mixed = augmix(np.asarray(view)[None], settings.view_seed, first=number)[0]
            view = Image.fromarray((mixed * 255).round().astype(np.uint8))
        views.append(view)
    return views
