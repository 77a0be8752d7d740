"""Adversarial fine-tuning of the embedded model's vision tower: `train_robust(data, out, minutes, resume)`.

The text tower stays. Two losses on attacked pictures, weighted by the recipe:

- TeCoA (Mao et al. 2023): cross-entropy against the class sentences, for pictures of the two target sets.
- FARE (Schlarmann et al. 2024): distance to the feature that the old tower gives the clean picture, for all pictures.

The inner attack takes signed steps on the same sum from a random start (Wong et al. 2020). Its budget grows in the
first quarter of the run. BatchNorm is in training mode in both passes.
"""

import copy
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import open_clip
import torch
from open_clip import CLIP
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.records.errors import DemoError
from rita_demo.training import evaluate
from rita_demo.training.batches import Sampler, crop, recolour
from rita_demo.training.corpus import load_corpus
from rita_demo.training.loop import SAVE_EVERY, Log, make_logger
from rita_demo.training.model_config import encode_image, export_tower, normalised
from rita_demo.training.recipe import Recipe, average_rate, learning_rate, picture_size
from rita_demo.training.steps import (
    FILE,
    State,
    averaged_model,
    parameter_groups,
    resume_training,
    save_training,
    update_average,
)
from rita_demo.vlm.catalogue import EMBEDDED_DIR

VALIDATED = 100  # pictures of each set, spread evenly
PGD_STEPS = 7
VALIDATE_EVERY = 250  # steps


@dataclass(frozen=True)
class RobustRecipe(Recipe):
    """What differs from the training of the embedded model."""

    group_weights: dict[str, float] = field(
        default_factory=lambda: {
            "caltech101": 40.0,
            "dtd": 20.0,
            "imagenet": 12.0,
            "pets": 5.0,
            "mini_imagenet": 12.0,
            "textures": 3.0,
            "office31_amazon": 2.0,
            "flowers5": 2.0,
            "food101_64px": 2.0,
            "flickr8k_1k": 2.0,
        }
    )
    focus: float = 1.0
    batch: int = 64
    drawn: int = 20
    sizes: tuple[tuple[float, int], ...] = ((0.0, 96), (0.6, 128))
    smallest_crop: float = 0.25
    colour: float = 0.15
    grey: float = 0.0
    trunk_rate: float = 5e-4
    image_rate: float = 5e-4
    warm_up: float = 0.02
    last_rate: float = 0.01
    decay: float = 0.01
    average: float = 0.995
    compiled: bool = False  # on one core it is slower
    budget: float = 4 / 255  # of the inner attack, at the end of its growth
    first_budget: float = 0.1  # share of the budget at the start
    growth: float = 0.25  # share of the run in which the budget grows
    inner_steps: int = 1
    step_size: float = 1.25  # of the inner attack, in budgets over its steps
    tecoa: float = 1.0  # weight of the cross-entropy
    fare: float = 2.0  # weight of 1 - cosine to the old tower's clean feature


@dataclass(frozen=True)
class LabelledPictures:
    """B training pictures (B, 3, S, S) float32 in [0, 1]; `label` (B,) numbers a class sentence, -1: none."""

    pixels: Tensor
    label: Tensor


class Towers:
    """The tower in training, the old one, and the class sentences (K, D) of the target sets."""

    def __init__(self, model: CLIP, names: tuple[str, ...], recipe: RobustRecipe) -> None:
        self.model, self.recipe = model, recipe
        self.old = copy.deepcopy(model).eval().requires_grad_(False)
        with torch.no_grad():
            self.text = evaluate.class_features(self.old, names)
        self.scale = float(model.logit_scale.detach().exp())

    def loss(self, pixels: Tensor, label: Tensor, clean: Tensor) -> Tensor:
        """The sum of both losses per picture (B,); `clean` (B, D): the old tower's features."""
        found = encode_image(self.model, normalised(pixels))
        total = self.recipe.fare * (1 - (found * clean).sum(1))
        logits = self.scale * found @ self.text.T
        named = F.cross_entropy(logits, label.clamp(min=0), reduction="none", label_smoothing=self.recipe.smoothing)
        return total + self.recipe.tecoa * torch.where(label >= 0, named, torch.zeros_like(named))

    def attacked(
        self, pictures: LabelledPictures, clean: Tensor, progress: float, generator: torch.Generator
    ) -> Tensor:
        """Pixels within the budget of this moment that raise the loss."""
        recipe, pixels = self.recipe, pictures.pixels
        grown = min(1.0, recipe.first_budget + (1 - recipe.first_budget) * progress / recipe.growth)
        budget = recipe.budget * grown
        at = pixels + budget * (2 * torch.rand(pixels.shape, generator=generator) - 1)
        for _ in range(recipe.inner_steps):
            at = at.clamp(0, 1).detach().requires_grad_()
            (slope,) = torch.autograd.grad(self.loss(at, pictures.label, clean).sum(), at)
            at = at.detach() + recipe.step_size / recipe.inner_steps * budget * slope.sign()
            at = pixels + (at - pixels).clamp(-budget, budget)
        return at.clamp(0, 1).detach()

    def step(self, optimizer: torch.optim.Optimizer, pictures: LabelledPictures, progress: float, seed: int) -> float:
        """One attack, one update; returns the mean loss."""
        for group in optimizer.param_groups:
            group["lr"] = group["highest"] * learning_rate(self.recipe, progress)
        generator = torch.Generator().manual_seed(seed)
        pictures = LabelledPictures(pictures.pixels.contiguous(memory_format=torch.channels_last), pictures.label)
        with torch.no_grad():
            clean = encode_image(self.old, normalised(pictures.pixels))
        loss = self.loss(self.attacked(pictures, clean, progress, generator), pictures.label, clean).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.visual.parameters(), self.recipe.clip)
        optimizer.step()
        return loss.item()


def train_robust(
    data: Path,
    out: Path,
    minutes: float,
    resume: bool = False,
    seed: int = 0,
    *,
    steps: int | None = None,
    recipe: RobustRecipe | None = None,
    start: Path = EMBEDDED_DIR,
    save_every_steps: int | None = None,
    print_line: Log = print,
) -> Path:
    """Fine-tune the vision tower of the model in `start`; returns `out/vision.safetensors` (half precision).

    The arguments are those of :func:`rita_demo.training.train`; by `steps` a run is reproducible bit by bit.

    Raises:
        DemoError: no pictures of Caltech101 or DTD, minutes not positive, or a checkpoint of another seed.
    """
    if minutes <= 0 and steps is None:
        raise DemoError(f"Training needs a positive number of minutes, not {minutes}.")
    recipe = recipe or RobustRecipe()
    out.mkdir(parents=True, exist_ok=True)
    log = make_logger(out / "log.txt", print_line)
    sets = load_corpus(data, out / "cache", recipe.drawn)
    splits = {name: thinned(split) for name, split in evaluate.zero_shot_splits(data, "val", 5, 128).items()}
    names = tuple(dict.fromkeys(name for split in splits.values() for name in split.names))
    if "Caltech101" not in splits and "DTD" not in splits:
        raise DemoError(f"Neither Caltech101 nor DTD was found under {data}.", "Robust training needs one of them.")
    model = cast(CLIP, open_clip.create_model(f"local-dir:{start}")).requires_grad_(False)
    towers = Towers(model, names, recipe)
    model.visual.to(memory_format=torch.channels_last).requires_grad_(True)
    model.visual.train()
    optimizer = torch.optim.AdamW(parameter_groups(model, recipe), fused=True)
    state = resume_training(out, model, optimizer, seed) if resume and (out / FILE).is_file() else State(seed=seed)
    log(f"{len(sets.label)} pictures, {len(names)} class sentences, step {state.step}")
    clock, saved_at = time.monotonic() - state.seconds, state.seconds
    losses: list[float] = []

    def progress_at(step: int) -> float:
        return step / steps if steps else (time.monotonic() - clock) / (60 * minutes)

    for progress, pictures in drawn_ahead(Sampler(sets, recipe, seed), names, state, progress_at):
        losses.append(towers.step(optimizer, pictures, progress, seed * 1_000_003 + state.step))
        update_average(state, model, average_rate(recipe, state.step))
        state.step, state.seconds = state.step + 1, time.monotonic() - clock
        if state.step % 20 == 0:
            speed = state.step * recipe.batch / state.seconds
            log(f"step {state.step} {100 * progress:.1f} % loss {np.mean(losses):.3f} {speed:.1f} pictures/s")
            losses = []
        if state.step % VALIDATE_EVERY == 0:
            log(validation_line(averaged_model(model, state), splits))
        due = save_every_steps and state.step % save_every_steps == 0
        if due or state.seconds - saved_at > SAVE_EVERY:
            save_training(out, model, optimizer, state)
            saved_at = state.seconds
    save_training(out, model, optimizer, state)
    average = averaged_model(model, state)
    log(validation_line(average, splits))
    return export_tower(average, out / "vision.safetensors")


def drawn_ahead(
    sampler: Sampler, names: tuple[str, ...], state: State, progress_at: Callable[[int], float]
) -> Iterator[tuple[float, LabelledPictures]]:
    """(progress, pictures) until the end. A thread draws the next ones during a step."""
    corpus, number = sampler.corpus, {name: n for n, name in enumerate(names)}
    sentence = np.full(len(corpus.label), -1)
    for group in sampler.recipe.focus_groups:
        for n in corpus.groups.get(group, ()):
            sentence[n] = number[corpus.names[corpus.label[n]][0]]

    def draw(step: int, progress: float) -> LabelledPictures:
        generator = np.random.default_rng([sampler.seed, step])
        chosen, size = sampler.pictures(progress, generator), picture_size(sampler.recipe, progress)
        crops = [crop(corpus.picture(n), size, sampler.recipe.smallest_crop, generator) for n in chosen]
        pixels = recolour(torch.stack(crops), sampler.recipe.colour, sampler.recipe.grey, generator)
        return LabelledPictures(pixels, torch.from_numpy(sentence[chosen]))

    with ThreadPoolExecutor(1) as pool:
        progress = progress_at(state.step)
        waiting = pool.submit(draw, state.step, progress)
        while progress < 1:
            pictures, at = waiting.result(), progress
            progress = progress_at(state.step + 1)
            waiting = pool.submit(draw, state.step + 1, progress)
            yield at, pictures


def thinned(split: evaluate.Split) -> evaluate.Split:
    """At most VALIDATED pictures, spread evenly."""
    rows = torch.linspace(0, len(split.label) - 1, min(VALIDATED, len(split.label))).long()
    return evaluate.Split(split.pixels[rows], split.label[rows], split.names)


def validation_line(model: CLIP, splits: dict[str, evaluate.Split]) -> str:
    """Percent right without an attack and under PGD at 4/255, set by set."""
    parts = []
    for name, split in splits.items():
        clean = evaluate.accuracy(evaluate.cosines(model, split), split)
        parts.append(f"{name} {clean:.0f} -> {pgd_accuracy(model, split):.0f} %")
    return f"val, clean -> PGD-{PGD_STEPS}: " + ", ".join(parts)


def pgd_accuracy(model: CLIP, split: evaluate.Split, budget: float = 4 / 255, steps: int = PGD_STEPS) -> float:
    """Percent right under PGD on the cross-entropy with steps of a quarter of the budget."""
    with torch.no_grad():
        text = evaluate.class_features(model, split.names)
    right = 0
    for pixels, label in zip(split.pixels.split(50), split.label.split(50), strict=True):
        clean = pixels.float() / 255
        generator = torch.Generator().manual_seed(0)
        at = clean + budget * (2 * torch.rand(clean.shape, generator=generator) - 1)
        for _ in range(steps):
            at = at.clamp(0, 1).detach().requires_grad_()
            logits = model.logit_scale.exp() * encode_image(model, normalised(at)) @ text.T
            (slope,) = torch.autograd.grad(F.cross_entropy(logits, label, reduction="sum"), at)
            at = clean + (at.detach() + budget / 4 * slope.sign() - clean).clamp(-budget, budget)
        with torch.no_grad():
            found = encode_image(model, normalised((at.clamp(0, 1) * 255).round() / 255)) @ text.T
        right += int((found.argmax(1) == label).sum())
    return 100 * right / len(split.label)
