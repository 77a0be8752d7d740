"""Algorithm 1 of the paper, implemented directly.

Texts have 77 tokens, SVD and Sinkhorn run class by class, and views are encoded wherever they are used. Nothing is slow
on purpose.
"""

import math

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from rita_demo.settings import Settings
from rita_demo.views.augmix import augmix
from rita_demo.views.boxes import view_boxes
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.prompts import CONTEXT_LENGTH, DEFAULT_START, initial_contexts, sentence


class ReferenceRita:
    """RITA for one vocabulary, picture after picture, with the model as open_clip builds it (unfused).

    ``cache``: for every class a list of at most ``settings.slots`` pairs (feature (D,), entropy in nats).

    It supports objective ``linear``, cost ``cosine``, tuning_loss ``marginal``, cache_text ``initial``, completion ``svd``, descriptions
    ``none``, step_back 0, protocol ``stream``, and view_weight ``uniform`` and ``area``.
    """

    def __init__(self, backbone: Backbone, names: tuple[str, ...], settings: Settings) -> None:
        self.backbone, self.settings = backbone.unfused(), settings
        self.tokens = backbone.tower.tokens([sentence(DEFAULT_START, name) for name in names])
        self.initial_contexts = initial_contexts(backbone.tower, settings)
        self.weight = view_weights(settings)
        self.cache: list[list[tuple[Tensor, float]]] = [[] for _ in names]
        with torch.no_grad():
            self.initial_prompts = self.encode_text(self.initial_contexts)

    def __call__(self, square: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """d_OT, d_cOT and their total (K,) of a square (H, H, 3) uint8; update the cache."""
        views, first = cut_views(square, self.settings, self.backbone.side), self.settings.order == "update_first"
        if first:
            self.update_cache(views)
        prompt, cache = self.prompt_distance(views, self.tune(views)), self.cache_distance(views)
        if not first:
            self.update_cache(views)
        return prompt.numpy(), cache.numpy(), (prompt + self.settings.cache_weight * cache).numpy()

    def encode_image(self, views: list[Image.Image]) -> Tensor:
        """Unit features (N, D) of PIL views."""
        stacked = np.stack([np.asarray(view, np.float32) / 255 for view in views])
        with torch.no_grad():
            return self.backbone.encode_pixels(torch.from_numpy(stacked).permute(0, 3, 1, 2).contiguous())

    def encode_text(self, context: Tensor) -> Tensor:
        """Unit features (K, M, D) of all prompts at their full length, for contexts (M, 4, E)."""
        tower = self.backbone.tower
        words = tower.embed(self.tokens)
        position = tower.position(self.tokens)
        prompts = []
        for one in context:
            middle = one.expand(len(words), -1, -1)
            filled = torch.cat([words[:, :1], middle, words[:, 1 + CONTEXT_LENGTH :]], dim=1)
            prompts.append(tower.encode(filled, position))
        return torch.stack(prompts, dim=1)

    def log_probability(self, x: Tensor, prompts: Tensor) -> Tensor:
        """Definition 8: (N, K)."""
        return (x @ prompts.mean(1).T / self.backbone.temperature).log_softmax(1)

    def update_cache(self, views: list[Image.Image]) -> None:
        """Definitions 8 and 9: the views with the lowest entropy enter the cache of their class."""
        s, log_p = self.settings, self.log_probability(self.encode_image(views), self.initial_prompts)
        entropy = -(log_p.exp() * log_p).sum(1)
        limit = s.max_entropy * (math.log(len(self.cache)) if s.entropy_unit != "nats" else 1)
        features, entered = self.encode_image(views), 0
        for n in entropy.argsort(stable=True).tolist():
            if entropy[n] > limit or (s.views_per_image and entered == s.views_per_image):
                break
            items, item = self.cache[int(log_p[n].argmax())], (features[n], float(entropy[n]))
            worst = max(range(len(items)), key=lambda slot: items[slot][1], default=0)
            if len(items) < s.slots:
                items.append(item)
            elif item[1] < items[worst][1]:
                items[worst] = item
            else:
                continue
            entered += 1

    def tune(self, views: list[Image.Image]) -> Tensor:
        """Definition 13: the prompts (K, M, D) after s steps of AdamW on the contexts."""
        s, x = self.settings, self.encode_image(views)
        log_p = self.log_probability(x, self.initial_prompts)
        entropy = -(log_p.exp() * log_p).sum(1)
        x = x[entropy.argsort(stable=True)[: s.subset_size]]
        context = self.initial_contexts.clone().requires_grad_()
        optimiser = torch.optim.AdamW([context], lr=s.tuning_rate, weight_decay=0.0)
        for _ in range(s.tuning_steps):
            mean = self.log_probability(x, self.encode_text(context)).exp().mean(0)
            loss = -(mean * mean.log()).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            return self.encode_text(context)

    def prompt_distance(self, views: list, prompts: Tensor) -> Tensor:
        """Definition 7: d_OT (K,)."""
        x = self.encode_image(views)
        return torch.tensor([distance(x, z, self.weight, self.settings) for z in prompts])

    def cache_distance(self, views: list[Image.Image]) -> Tensor:
        """Definitions 10 and 11: d_cOT (K,); ``empty_class`` gives that of a class without items."""
        x, found = self.encode_image(views), []
        for items, prompts in zip(self.cache, self.initial_prompts):
            mean = prompts.mean(0)
            if items:
                cached = torch.stack([feature for feature, _ in items])
                found.append(distance(x, cached @ rotation(cached, mean), self.weight, self.settings))
            elif self.settings.empty_class == "zero":
                found.append(0.0)
            else:
                found.append(distance(x, (mean / mean.norm())[None], self.weight, self.settings))
        return torch.tensor(found)


def cut_views(square: np.ndarray, settings: Settings, side: int) -> list[Image.Image]:
    """Definition 2: N views (side, side) of a square (H, H, 3) uint8, the same boxes as the engine's."""
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


def view_weights(settings: Settings) -> Tensor:
    """The mass (N,) of the views: uniform, or in proportion to the fraction of the square's area that a view hides."""
    boxes, _ = view_boxes(settings)
    mass = torch.tensor([max(1 - (right - left) * (low - top), 0.001) for left, top, right, low in boxes.tolist()])
    if settings.view_weight == "uniform":
        mass = torch.ones_like(mass)
    return mass / mass.sum()


def distance(x: Tensor, z: Tensor, weight: Tensor, settings: Settings) -> float:
    """Definitions 5 to 7 for one class: ``<T, 1 - x z'> / rho``, views x (N, D) of mass weight (N,), atoms z (M, D)."""
    cost = 1 - x @ z.T
    plan = sinkhorn(cost, weight, settings)
    return float((plan * cost).sum()) / settings.transported_mass


def sinkhorn(cost: Tensor, weight: Tensor, settings: Settings) -> Tensor:
    """The plan (N, M) of one cost matrix: log-domain Sinkhorn until the marginals fit.

    With rho < 1 an extra column of mass 1 - rho and cost zero takes the mass that is not transported.
    """
    blur, rho, atoms = settings.entropy_weight, settings.transported_mass, cost.shape[1]
    b = torch.full((atoms,), rho / atoms)
    if rho < 1:
        cost = torch.cat([cost, torch.zeros(len(cost), 1)], dim=1)
        b = torch.cat([b, torch.tensor([1 - rho])])
    a, b = weight.to(cost), b.to(cost)
    g = torch.zeros_like(b)
    for _ in range(settings.sinkhorn_iterations):
        f = blur * (a.log() - ((g - cost) / blur).logsumexp(1))
        g = blur * (b.log() - ((f[:, None] - cost) / blur).logsumexp(0))
        plan = ((f[:, None] + g - cost) / blur).exp()
        if (plan.sum(1) - a).abs().max() <= settings.sinkhorn_tolerance:
            break
    return plan[:, :atoms]


def rotation(cached: Tensor, text_mean: Tensor) -> Tensor:
    """Definition 10: the orthogonal W (D, D) with the smallest ``||X W - 1 zbar'||``, X (J, D), by SVD."""
    target = text_mean.expand(len(cached), -1)
    u, _, v = torch.linalg.svd(cached.T @ target)
    return u @ v
