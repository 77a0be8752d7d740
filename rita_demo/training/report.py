"""The numbers of the model card, measured on a model folder with plain open_clip.

`report(model, data, part, limit)` prints zero-shot accuracies with "a photo of a {class}." and, for
the first `limit` pictures of a shuffled split, what is left of them after PGD: by the model itself,
and by its mean probability over 64 crops (the plainest defence). Attack and crops are the
application's own; the attacked square has the model's side.
"""

import math
from collections.abc import Callable
from pathlib import Path

import open_clip
import torch
from open_clip import CLIP
from torch import Tensor

from rita_demo.attacks import ascend, attack_row
from rita_demo.training import corpus
from rita_demo.training.augment import normalised
from rita_demo.training.evaluate import Split, accuracy, class_features, cosines, load_split
from rita_demo.training.model_config import encode_image
from rita_demo.training.names import DTD_NAMES
from rita_demo.views import crop, draw_boxes

BUDGETS = (0, 1, 4)
STEPS = 7
VIEWS = 64


def report(
    model: Path,
    data: Path,
    part: str = "val",
    limit: int = 300,
    say: Callable[[str], None] = print,
) -> None:
    """Print the accuracies of the open_clip folder `model` on a split of the sets under `data`.

    Args:
        model: folder with open_clip_config.json and the weights.
        data: folder with caltech-101/ and dtd/ in CoOp's layout.
        part: `val`, or `test` (to be looked at once).
        limit: pictures per set that are attacked; 0 for none.
        say: receives each line.
    """
    loaded = open_clip.create_model(f"local-dir:{model}").eval()
    loaded.requires_grad_(False)
    side = loaded.visual.image_size
    sets: dict[str, Split] = {}
    if rows := corpus.caltech(data, part):
        sets["Caltech101"] = load_split(rows, side)
    if rows := corpus.dtd(data, part):
        sets["DTD, names present"] = load_split(rows, side)
        sets["DTD, all 47 names"] = load_split(rows, side, tuple(DTD_NAMES))
    for name, split in sets.items():
        told = with_interval(accuracy(cosines(loaded, split), split), len(split.label))
        say(f"{part}, {name} ({len(split.names)} prompts): zero-shot {told}")
    for name, split in sets.items():
        if limit and "47" not in name:
            for line in robustness(loaded, shuffled(split, limit)):
                say(f"{part}, {name}, {line}")


def with_interval(percent: float, count: int) -> str:
    """`61.2 % (n = 300, 55.6 to 66.6)` with Wilson's 95 % interval."""
    z, share = 1.96, percent / 100
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    spread = math.sqrt(share * (1 - share) / count + z * z / (4 * count**2)) / (1 + z * z / count)
    spread *= z
    low, high = 100 * max(0.0, middle - spread), 100 * min(1.0, middle + spread)
    return f"{percent:.1f} % (n = {count}, {low:.1f} to {high:.1f})"


def shuffled(split: Split, limit: int) -> Split:
    """The first `limit` pictures in a fixed random order."""
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(split.label), generator=generator)[:limit]
    return Split(split.pixels[order], split.label[order], split.names)


def robustness(model: CLIP, split: Split, batch: int = 50) -> list[str]:
    """One line per budget: accuracy of the model and of its mean over crops after PGD on the model."""
    with torch.no_grad():
        text = class_features(model, split.names)
    scale = model.logit_scale.exp().detach()

    def logits(pixels: Tensor) -> Tensor:
        return scale * encode_image(model, normalised(pixels)) @ text.T

    lines = []
    for budget in BUDGETS:
        single = mean = 0
        for begin in range(0, len(split.label), batch):
            label = split.label[begin : begin + batch]
            pixels = split.pixels[begin : begin + batch].float() / 255
            pixels = pgd(logits, pixels, label, budget, begin) if budget else pixels
            with torch.no_grad():
                single += int((logits(pixels).argmax(1) == label).sum())
                for number, picture in enumerate(pixels):
                    boxes, flipped = draw_boxes(VIEWS, seed=begin + number)
                    views = crop(picture, boxes, flipped, picture.shape[-1])
                    guess = logits(views).softmax(1).mean(0).argmax()
                    mean += int(guess == label[number])
        count = len(split.label)
        name = f"PGD-{STEPS} at {budget}/255" if budget else "no attack"
        one, many = (with_interval(100 * right / count, count) for right in (single, mean))
        lines.append(f"{name}: alone {one}, mean over {VIEWS} crops {many}")
    return lines


def pgd(
    logits: Callable[[Tensor], Tensor], pixels: Tensor, label: Tensor, budget: int, seed: int
) -> Tensor:
    """The delivered 8-bit pixels (B, 3, S, S) in [0, 1] of a PGD attack away from the true labels."""
    climb = ascend(
        logits,
        pixels,
        label,
        None,
        filling=attack_row("pgd").filling,
        budget=budget,
        steps=STEPS,
        seeds=range(seed, seed + len(pixels)),
    )
    while True:
        try:
            next(climb)
        except StopIteration as done:
            return done.value.frames[-1].float() / 255
