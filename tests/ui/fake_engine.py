"""An engine without a model: the real method on made-up features, so that a page answers in milliseconds.

Every class has a direction; a picture shows the class in ``truth``, its crops scatter around it.  An
attack turns view 0 fully and ``spread`` of the crops towards ``wrong``, the more the further it is.
"""

import time
import zlib
from collections.abc import Generator
from contextlib import nullcontext
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import torch
from torch.nn.functional import adaptive_avg_pool2d, normalize

from rita_demo import method
from rita_demo.attacks.loop.request import AttackProgress
from rita_demo.defences.contract import DefenceInput
from rita_demo.engine.conversion import to_numpy, to_torch
from rita_demo.engine.engine import Engine
from rita_demo.process.generators import run_to_end
from rita_demo.records import (
    AttackTrace,
    BackboneInfo,
    CacheState,
    ClassPrompts,
    EncodedViews,
    Exclusions,
    Picture,
    SamePrompt,
    Trace,
    Tuning,
    ViewSet,
    same_prompts_warning,
)
from rita_demo.settings import Settings
from rita_demo.views.boxes import area_fractions

WIDTH, SIDE, TAU = 48, 32, 0.05
PIXEL_WEIGHTS = torch.randn(3 * 16, WIDTH, generator=torch.Generator().manual_seed(0))


class FakeEngine:
    """The methods of :class:`rita_demo.engine.engine.Engine` over made-up features."""

    def __init__(
        self, truth: str = "motorbike", wrong: str = "crab", spread: float = 0.3, step_seconds: float = 0.0
    ) -> None:
        self.info = BackboneInfo("fake", "Fake model", 1_000_000, SIDE, WIDTH, "cpu", "float32", 1 / TAU)
        self.truth, self.wrong, self.spread, self.step_seconds = truth, wrong, spread, step_seconds
        self._attack_power: dict[str, float] = {}

    def weights_key(self) -> str:
        return f"{self.truth}-{self.wrong}-{self.spread}"

    def names_warning(self, names) -> str:
        return same_prompts_warning(self._same_prompts(names))

    def _same_prompts(self, names) -> tuple[SamePrompt, ...]:
        """As of a model that reads 60 letters."""
        return tuple(SamePrompt(pair, 77) for pair in combinations(names, 2) if len({name[:60] for name in pair}) == 1)

    def unknown_words(self, names) -> tuple[tuple[str, ...], ...]:
        """As of a model that was not trained with this word."""
        return tuple(("Pferd",) if "Pferd" in name else () for name in names)

    def encode_classes(self, names, settings: Settings) -> ClassPrompts:
        atoms = settings.prompts
        z = torch.stack([_around(_direction(n), atoms, 0.25, n) for n in names]).numpy()
        templates = ("a photo of a", "a picture of the", "an image of a", "a photo showing a")
        prompts = tuple(tuple(f"{templates[m % 4]} {n}." for m in range(atoms)) for n in names)
        weight, hand = np.full((len(names), atoms), 1 / atoms, np.float32), torch.stack([*map(_direction, names)])
        known = self.unknown_words(names), TAU, "fake" + repr(names)
        same = self._same_prompts(names)
        return ClassPrompts(tuple(names), prompts, z, weight, hand.numpy(), *known, same_prompts=same)

    attacks_together = 1

    def attack(self, picture, class_prompts, settings, label, target=None, cache=None) -> AttackTrace:
        return run_to_end(self.attack_steps(picture, class_prompts, settings, label, target, cache))

    def attack_steps(
        self, picture: Picture, class_prompts: ClassPrompts, settings: Settings, label: int, target=None, cache=None
    ) -> Generator[AttackProgress, None, AttackTrace]:
        steps = settings.steps if settings.attack == "pgd" else 1
        rng = np.random.default_rng(settings.attack_seed)
        noise = rng.choice([-1, 1], picture.pixels.shape) * settings.budget
        frames, shares = [picture.pixels], [self._clip(picture, class_prompts)]
        for step in range(1, steps + 1):
            time.sleep(self.step_seconds)
            moved = np.rint(picture.pixels + noise * step / steps).clip(0, 255).astype(np.uint8)
            frames.append(moved)
            power = 0.0 if settings.attack == "noise" else min(1.0, settings.budget / 4)
            if (moved != picture.pixels).any():  # a small first step may round to nothing
                self._attack_power[_key(moved)] = power * step / steps
            shares.append(self._clip(Picture(moved, _key(moved)), class_prompts))
            yield step, steps, float(-np.log(shares[-1][label] + 1e-9))
        probability = np.stack(shares)
        before, after = int(probability[0].argmax()), int(probability[-1].argmax())
        moved = (frames[-1].astype(float) - frames[0]) / 255
        loss = -np.log(probability[:, label] + 1e-9)
        about = settings.attack, frames[-1], np.stack(frames), loss, probability, label, target, settings.budget
        norms = float(np.abs(moved).max() * 255), float((moved**2).sum() ** 0.5)
        return AttackTrace(*about, *norms, before == label and after != label, before != label, 0.1)

    def encode_views(self, picture: Picture, settings: Settings) -> EncodedViews:
        n, rng = settings.views, np.random.default_rng(settings.view_seed)
        power = self._attack_power.get(_key(picture.pixels), 0.0)
        truth, wrong = _direction(self.truth), _direction(self.wrong)
        share = np.where(np.arange(n) == 0, 1.0, (rng.random(n) < self.spread) * 0.9) * power
        mix = torch.from_numpy(share).float()[:, None]
        noise = torch.from_numpy(rng.normal(0, 0.09, (n, WIDTH))).float()
        noise[0] *= 0.3
        features = normalize((1 - mix) * truth + mix * wrong + noise, dim=-1).numpy()
        left = rng.uniform(0, 0.5, (n, 2))
        size = rng.uniform(0.28, 0.5, (n, 1))
        boxes = np.concatenate([left, left + size], 1).astype(np.float32)
        boxes[0] = (0, 0, 1, 1)
        flipped = rng.random(n) < 0.5
        return EncodedViews(ViewSet(boxes, flipped, settings.view_seed), features, _key(picture.pixels))

    def view_pixels(self, picture: Picture, settings: Settings) -> np.ndarray:
        views, side = self.encode_views(picture, settings).views, picture.pixels.shape[0]
        crops = []
        for box in (views.boxes * side).astype(int):
            rows = np.linspace(box[1], max(box[3] - 1, box[1]), SIDE).astype(int)
            columns = np.linspace(box[0], max(box[2] - 1, box[0]), SIDE).astype(int)
            crops.append(picture.pixels[rows][:, columns])
        return np.stack(crops)

    def empty_cache(self, class_prompts: ClassPrompts, settings: Settings) -> CacheState:
        return to_numpy(method.empty(len(class_prompts.names), settings.slots, WIDTH, class_prompts.key))

    compatible_cache = Engine.compatible_cache
    remove_cache_item = Engine.remove_cache_item

    def tune(self, encoded_views, class_prompts, settings) -> Tuning:
        """An update that moves nothing."""
        atoms, none = class_prompts.features.shape[1], np.zeros(0, np.float32)
        return Tuning(np.zeros(1, np.float32), class_prompts.features, np.zeros(atoms, np.float32), none)

    def decide(
        self, encoded_views, class_prompts, cache, settings, tuning=None, exclusions=None
    ) -> tuple[Trace, CacheState]:
        x, z, weight = map(torch.from_numpy, (encoded_views.features, class_prompts.features, class_prompts.weight))
        exclusions, device = exclusions or Exclusions(), torch.device("cpu")
        present, weight = method.apply_to_views(exclusions, len(x), weight)
        prompts = method.Prompts(lambda _: z, torch.zeros(z.shape[1], 2, 4), z, weight, TAU)
        state = method.apply_to_cache(
            exclusions, to_torch(self.compatible_cache(cache, class_prompts, settings), device)
        )
        tuning = to_torch(tuning or self.tune(encoded_views, class_prompts, settings), device)
        area = torch.from_numpy(area_fractions(encoded_views.views.boxes))
        trace, after = method.decide(x, prompts, state, settings, tuning=tuning, view_mask=present, area_fraction=area)
        return to_numpy(trace), to_numpy(after)

    sinkhorn_history = Engine.sinkhorn_history

    answers = Engine.answers

    _encoder = SimpleNamespace(lock=nullcontext)

    def _defence_input(self, encoded_views, class_prompts, settings, picture=None) -> DefenceInput:
        hand = torch.from_numpy(class_prompts.template_features)
        return DefenceInput(
            torch.from_numpy(encoded_views.features),
            torch.from_numpy(area_fractions(encoded_views.views.boxes)),
            hand,
            hand,
            torch.zeros(1, 1, WIDTH),
            lambda context: normalize(hand[:, None] + context[None, :, 0], dim=-1),
            TAU,
            settings,
            view_pixels=lambda count: (
                torch.from_numpy(picture.pixels / np.float32(255)).permute(2, 0, 1).repeat(count, 1, 1, 1)
            ),
            encode_pixels=lambda pixels: normalize(adaptive_avg_pool2d(pixels, 4).flatten(1) @ PIXEL_WEIGHTS, dim=-1),
        )

    theorem_bounds = Engine.theorem_bounds  # from features alone: nothing to fake
    kl_to_one_hot = Engine.kl_to_one_hot

    def _clip(self, picture: Picture, class_prompts: ClassPrompts) -> np.ndarray:
        one = Settings(views=1)
        return self.answers(self.encode_views(picture, one), class_prompts, one)["clip"].probability


def _key(pixels: np.ndarray) -> str:
    return str(zlib.crc32(np.ascontiguousarray(pixels).tobytes()))


def _direction(name: str) -> torch.Tensor:
    """A unit vector of that name, all a little alike, as CLIP's are."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return normalize(torch.from_numpy(rng.normal(0, 1, WIDTH) + 0.7).float(), dim=-1)


def _around(centre: torch.Tensor, count: int, width: float, name: str) -> torch.Tensor:
    rng = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    noise = torch.from_numpy(rng.normal(0, width / WIDTH**0.5, (count, WIDTH))).float()
    return normalize(centre + noise, dim=-1)
