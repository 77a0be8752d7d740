"""Adversarial fine-tuning of the embedded model's vision tower; the text tower stays. Two losses on attacked pictures, weighted
by the recipe:

- TeCoA (Mao et al. 2023): cross-entropy against the class sentences, for pictures of the two target sets.
- FARE (Schlarmann et al. 2024): distance to the feature that the old tower gives the clean picture, for all pictures.

The inner attack takes signed steps on the same sum from a random start (Wong et al. 2020). Its budget grows in the
first quarter of the run. BatchNorm is in training mode in both passes."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import open_clip
import torch
from open_clip import CLIP
from torch import Tensor
from torch.nn import functional as F

from rita_demo.records.errors import DemoError
from rita_demo.settings.models import EMBEDDED_DIR
from tools.train import evaluate
from tools.train.batches import Sampler
from tools.train.corpus import load_corpus
from tools.train.loop import DRAWN_PER_CLASS, Log, Run
from tools.train.model_config import encode_image, normalised, save_half
from tools.train.recipe import Recipe
from tools.train.steps import parameter_groups

Loss = Callable[[Tensor], Tensor]
VALIDATED = 100  # pictures of each set
PGD_STEPS = 7
ROBUST_WEIGHTS = {"caltech101": 40.0, "dtd": 20.0, "imagenet": 12.0, "pets": 5.0, "mini_imagenet": 12.0}
ROBUST_WEIGHTS |= {"textures": 3.0, "office31_amazon": 2.0, "flowers5": 2.0, "food101_64px": 2.0, "flickr8k_1k": 2.0}


@dataclass(frozen=True)
class RobustRecipe(Recipe):
    """What differs from the training of the embedded model."""

    group_weights: dict[str, float] = field(default_factory=lambda: ROBUST_WEIGHTS)
    focus: float = 1.0
    batch: int = 64
    drawn: int = 20
    sizes: tuple[tuple[float, int], ...] = ((0.0, 96), (0.6, 128))
    smallest_crop: float = 0.25
    colour: float = 0.15
    grey: float = 0.0
    image_rate: float = 5e-4
    warm_up: float = 0.02
    last_rate: float = 0.01
    decay: float = 0.01
    average: float = 0.995
    compiled: bool = False  # on one core it is slower
    budget: float = 4 / 255  # of the inner attack, at the end of its growth
    first_budget: float = 0.1  # share of the budget at the start
    growth: float = 0.25  # share of the run in which the budget grows
    step_size: float = 1.25  # of the inner attack's one step, in budgets
    tecoa: float = 1.0  # weight of the cross-entropy
    fare: float = 2.0  # weight of 1 - cosine to the old tower's clean feature


class Towers:
    """The tower in training, the old one, and the class sentences (K, D) of the target sets."""

    def __init__(self, model: CLIP, names: tuple[str, ...], recipe: RobustRecipe) -> None:
        self.model, self.recipe = model, recipe
        self.old = copy.deepcopy(model).eval().requires_grad_(False)
        with torch.no_grad():
            self.text = evaluate.class_features(self.old, names)
        self.scale = float(model.logit_scale.detach().exp())

    def loss(self, pixels: Tensor, label: Tensor, clean: Tensor) -> Tensor:
        """The sum of both losses per picture (B,). ``pixels``: (B, 3, S, S) in [0, 1]. ``label``: (B,) number of the class
        sentence, -1: none. ``clean``: (B, D), the old tower's features of the clean pictures."""
        found = encode_image(self.model, normalised(pixels))
        total = self.recipe.fare * (1 - (found * clean).sum(1))
        logits = self.scale * found @ self.text.T
        named = F.cross_entropy(logits, label.clamp(min=0), reduction="none", label_smoothing=self.recipe.smoothing)
        return total + self.recipe.tecoa * torch.where(label >= 0, named, torch.zeros_like(named))

    def attacked_loss(self, pixels: Tensor, label: Tensor, progress: float, seed: int) -> Tensor:
        """The mean loss (1,) of the pictures attacked within the budget of this moment."""
        pixels, recipe = pixels.contiguous(memory_format=torch.channels_last), self.recipe
        with torch.no_grad():
            clean = encode_image(self.old, normalised(pixels))
        grown = min(1.0, recipe.first_budget + (1 - recipe.first_budget) * progress / recipe.growth)
        sizes = recipe.budget * grown, recipe.step_size * (recipe.budget * grown)
        attacked = pgd(lambda at: self.loss(at, label, clean), pixels, *sizes, 1, seed)
        return self.loss(attacked, label, clean).mean()[None]


def pgd(loss: Loss, clean: Tensor, budget: float, step_size: float, steps: int, seed: int) -> Tensor:
    """Signed gradient steps on the loss (B,) of pixels (B, 3, S, S) in [0, 1], from a random start in the budget."""
    at = clean + budget * (2 * torch.rand(clean.shape, generator=torch.Generator().manual_seed(seed)) - 1)
    for _ in range(steps):
        at = at.clamp(0, 1).detach().requires_grad_()
        (slope,) = torch.autograd.grad(loss(at).sum(), at)
        at = clean + (at.detach() + step_size * slope.sign() - clean).clamp(-budget, budget)
    return at.clamp(0, 1).detach()


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
    """Fine-tune the vision tower of the model in `start`; returns `out/vision.safetensors` (half precision). The arguments are
    those of :func:`tools.train.loop.train`; by `steps` a run is reproducible bit by bit. Raises DemoError: no pictures of
    Caltech101 or DTD, minutes not positive, or a checkpoint of another seed."""
    recipe = recipe or RobustRecipe()
    run = Run(out, minutes, steps, save_every_steps, print_line)
    sets = load_corpus(data, out / "cache", recipe.drawn)
    splits = evaluate.zero_shot_splits(data, "val", DRAWN_PER_CLASS, 128, most=VALIDATED)
    names = tuple(dict.fromkeys(name for split in splits.values() for name in split.names))
    if "Caltech101" not in splits and "DTD" not in splits:
        raise DemoError(f"Neither Caltech101 nor DTD was found under {data}.", "Robust training needs one of them.")
    model = cast(CLIP, open_clip.create_model(f"local-dir:{start}")).requires_grad_(False)
    towers = Towers(model, names, recipe)
    model.visual.to(memory_format=torch.channels_last).requires_grad_(True)
    model.visual.train()
    optimizer = torch.optim.AdamW(parameter_groups(model, recipe), fused=True)
    state = run.first_state(model, optimizer, seed, resume)
    run.log(f"{len(sets.label)} pictures, {len(names)} class sentences, step {state.step}")
    sampler = Sampler(sets, recipe, seed)
    # of each picture the number of its class in `names`; -1 outside of the two target sets
    number = np.array([names.index(entry[0]) if entry[0] in names else -1 for entry in sets.names])
    focused = np.concatenate([sets.groups[group] for group in recipe.focus_groups if group in sets.groups])
    sentence = np.full(len(sets.label), -1)
    sentence[focused] = number[sets.label[focused]]

    def draw(step: int, progress: float) -> tuple[Tensor, Tensor]:
        chosen, pixels = sampler.crops(progress, np.random.default_rng([seed, step]))
        return pixels, torch.from_numpy(sentence[chosen])

    def losses_of(batch: tuple[Tensor, Tensor], progress: float) -> Tensor:
        return towers.attacked_loss(*batch, progress, seed * 1_000_003 + state.step)

    def report(average: CLIP) -> str:
        """Write the tower; returns the percent right without an attack and under PGD at 4/255, set by set."""
        save_half(average.visual.state_dict(), out / "vision.safetensors")
        parts = []
        for name, split in splits.items():
            clean = evaluate.accuracy(evaluate.cosines(average, split), split)
            parts.append(f"{name} {clean:.0f} -> {pgd_accuracy(average, split):.0f} %")
        return f"val, clean -> PGD-{PGD_STEPS}: " + ", ".join(parts)

    run.loop(model, optimizer, state, recipe, draw, losses_of, report)
    return out / "vision.safetensors"


def pgd_accuracy(model: CLIP, split: evaluate.Split, budget: float = 4 / 255) -> float:
    """Percent right under PGD on the cross-entropy with steps of a quarter of the budget."""
    with torch.no_grad():
        text = evaluate.class_features(model, split.names)
    right = 0
    for pixels, label in zip(split.pixels.split(50), split.label.split(50), strict=True):

        def loss(at: Tensor, label: Tensor = label) -> Tensor:
            logits = model.logit_scale.exp() * encode_image(model, normalised(at)) @ text.T
            return F.cross_entropy(logits, label, reduction="sum")

        attacked = pgd(loss, pixels.float() / 255, budget, budget / 4, PGD_STEPS, seed=0)
        with torch.no_grad():
            found = encode_image(model, normalised((attacked * 255).round() / 255)) @ text.T
        right += int((found.argmax(1) == label).sum())
    return 100 * right / len(split.label)
