"""A batch as a function of (corpus, recipe, seed, step, progress). Every step has its own random generator, so that a resumed
run needs no state of a generator. Crops are made picture by picture, as pictures differ in size; flips and colours in batches."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from open_clip import SimpleTokenizer
from torch import Tensor
from torch.nn import functional as F

from tools.train.corpus import DTD_NAMES, Corpus
from tools.train.model_config import normalised
from tools.train.recipe import Recipe, picture_size

FIRST_TEMPLATE_SHARE = 0.4  # the first template is that of the validation accuracy


# with " | " between two; from CLIP's published lists (Radford et al. 2021), or plain English
TEMPLATES = (
    "a photo of a {}. | a photo of the {}. | {} | a {}. | a picture of a {}. | itap of a {}. | "
    "a bad photo of the {}. | a good photo of a {}. | a photo of the large {}. | a photo of the small {}. | "
    "a close-up photo of a {}. | a cropped photo of a {}. | a bright photo of a {}. | a dark photo of the {}. | "
    "a blurry photo of a {}. | a low resolution photo of a {}. | a photo of one {}. | a photo of my {}. | "
    "an image of a {}. | this is a {}. | there is a {} in the picture. | a photo showing a {}. | "
    "a jpeg corrupted photo of a {}. | a {} in a video game. | art of the {}. | a origami {}. | a rendering of a {}."
)
TEXTURE_TEMPLATES = (
    "a photo of a {}. | a photo of a {} texture. | a photo of a {} pattern. | a photo of a {} thing. | "
    "a photo of a {} object. | a photo of the {} texture. | {} texture. | {} | a {} surface. | "
    "a close-up photo of a {} surface. | something {}. | a {} material."
)


@dataclass(frozen=True)
class Batch:
    """B pictures and T texts; picture b belongs to text `target[b]`."""

    pixels: Tensor  # (B, 3, S, S) float32, normalised
    prompts: Tensor  # (T1, L1) token ids: one sentence per class
    captions: Tensor  # (T2, L2) token ids of captions, T1 + T2 = T
    target: Tensor  # (B,) int64 in [0, T)
    ignored: Tensor  # (B, T) bool: names too close to the picture's own to be negatives
    label: Tensor  # (B,) int64 class numbers, -1 for captioned pictures
    prompt_label: Tensor  # (T1,) int64 class number of each prompt
    teacher_probabilities: Tensor  # (B, 1000) float32, zeros for pictures without an answer; (B, 0) without a teacher
    seen: frozenset[int]  # ids of the tokens in texts that have a picture here


class Sampler:
    """Draws batches."""

    def __init__(
        self, corpus: Corpus, recipe: Recipe, seed: int, teacher_answers: tuple[np.ndarray, np.ndarray] | None = None
    ) -> None:
        self.corpus, self.recipe, self.seed, self.teacher_answers = corpus, recipe, seed, teacher_answers
        self.tokenizer = SimpleTokenizer()
        self.groups = list(corpus.groups)
        self.weights = np.array([recipe.group_weights.get(group, 1.0) for group in self.groups])
        self.focused = np.array([group in recipe.focus_groups for group in self.groups])
        self.picture_probabilities = []  # in each group: the weight of a class is the root of its size
        for group in self.groups:
            label = corpus.label[corpus.groups[group]]
            weight = np.where(label < 0, 1.0, 1 / np.sqrt(np.bincount(label + 1)[label + 1]))
            self.picture_probabilities.append(weight / weight.sum())

    def crops(self, progress: float, generator: np.random.Generator) -> tuple[np.ndarray, Tensor]:
        """The numbers (B,) and crops (B, 3, S, S) float32 in [0, 1] of the pictures of a batch."""
        recipe, chosen = self.recipe, self.pictures(progress, generator)
        size = picture_size(recipe, progress)
        crops = [crop(self.corpus.picture(n), size, recipe.smallest_crop, generator) for n in chosen]
        return chosen, recolour(torch.stack(crops), recipe.colour, recipe.grey, generator)

    def draw(self, step: int, progress: float) -> Batch:
        """The batch of a step."""
        recipe, corpus, generator = self.recipe, self.corpus, np.random.default_rng([self.seed, step])
        chosen, pixels = self.crops(progress, generator)
        label = corpus.label[chosen]
        classes, inverse = np.unique(label[label >= 0], return_inverse=True)
        others = np.setdiff1d(np.arange(len(corpus.names)), classes, assume_unique=True)
        room = max(0, min(recipe.texts - len(classes), len(others)))
        shown = np.concatenate([classes, generator.choice(others, room, replace=False)]).astype(int)
        prompts = [self.tokens(self.sentence(number, generator)) for number in shown]
        captioned = np.flatnonzero(label < 0)
        captions = [self.tokens(pick(corpus.captions[chosen[n]], generator)) for n in captioned]
        target = np.empty(len(chosen), dtype=np.int64)
        target[label >= 0] = inverse
        target[captioned] = len(shown) + np.arange(len(captioned))
        ignored = np.zeros((len(chosen), len(shown) + len(captions)), dtype=bool)
        ignored[label >= 0, : len(shown)] = corpus.ambiguous[label[label >= 0]][:, shown]
        with_picture = prompts[: len(classes)] + captions
        taught = torch.zeros(len(chosen), 1000 if self.teacher_answers else 0)
        if self.teacher_answers:
            taught.scatter_(1, *(torch.from_numpy(part[chosen]) for part in self.teacher_answers))
        return Batch(
            pixels=normalised(pixels),
            prompts=pad_tokens(prompts),
            captions=pad_tokens(captions),
            target=torch.from_numpy(target),
            ignored=torch.from_numpy(ignored),
            label=torch.from_numpy(label),
            prompt_label=torch.from_numpy(shown),
            teacher_probabilities=taught,
            seen=frozenset(token for text in with_picture for token in text),
        )

    def pictures(self, progress: float, generator: np.random.Generator) -> np.ndarray:
        """(B,) picture numbers: first the group, then a class-balanced picture in it."""
        boost = 1 + (self.recipe.focus - 1) * progress
        weights = np.where(self.focused, self.weights * boost, self.weights)
        counts = generator.multinomial(self.recipe.batch, weights / weights.sum())
        drawn = [
            generator.choice(self.corpus.groups[group], count, p=probability)
            for group, count, probability in zip(self.groups, counts, self.picture_probabilities, strict=True)
        ]
        return np.concatenate(drawn)

    def sentence(self, number: int, generator: np.random.Generator) -> str:
        """A description of a class, or a class name in a template (the first template most often)."""
        described = self.corpus.described[number]
        if described and generator.random() < self.recipe.described:
            return pick(described, generator)
        names = self.corpus.names[number]
        name = names[0] if generator.random() < 0.5 else pick(names, generator)
        templates = (TEXTURE_TEMPLATES if names[0] in DTD_NAMES else TEMPLATES).split(" | ")
        template = templates[0] if generator.random() < FIRST_TEMPLATE_SHARE else pick(templates, generator)
        return template.format(name)

    def tokens(self, text: str) -> list[int]:
        """Token ids with start and end, at most `caption_tokens` of them."""
        ids = self.tokenizer.encode(text)[: self.recipe.caption_tokens - 2]
        return [self.tokenizer.sot_token_id, *ids, self.tokenizer.eot_token_id]


def pick(texts: Sequence[str], generator: np.random.Generator) -> str:
    """One of the texts, all with the same probability."""
    return texts[int(generator.integers(len(texts)))]


def pad_tokens(texts: list[list[int]]) -> Tensor:
    """Token ids (T, L), L the longest text, zeros after the end token."""
    longest = max((len(text) for text in texts), default=0)
    return torch.tensor([text + [0] * (longest - len(text)) for text in texts], dtype=torch.long)


def random_box(height: int, width: int, smallest: float, generator: np.random.Generator) -> tuple[int, int, int, int]:
    """A crop (top, left, height, width): area uniform in [smallest, 1], aspect log-uniform in [3/4, 4/3]."""
    for _ in range(10):
        area = height * width * generator.uniform(smallest, 1.0)
        aspect = math.exp(generator.uniform(math.log(3 / 4), math.log(4 / 3)))
        tall, wide = round(math.sqrt(area / aspect)), round(math.sqrt(area * aspect))
        if 0 < tall <= height and 0 < wide <= width:
            top = int(generator.integers(0, height - tall + 1))
            left = int(generator.integers(0, width - wide + 1))
            return top, left, tall, wide
    side = min(height, width)
    return (height - side) // 2, (width - side) // 2, side, side


def crop(picture: np.ndarray, size: int, smallest: float, generator: np.random.Generator) -> Tensor:
    """A random resized crop of a uint8 picture (H, W, 3) as uint8 (3, size, size)."""
    height, width = picture.shape[:2]
    top, left, tall, wide = random_box(height, width, smallest, generator)
    cut = torch.from_numpy(np.array(picture[top : top + tall, left : left + wide]))
    return F.interpolate(cut.permute(2, 0, 1)[None], (size, size), mode="bilinear", antialias=True)[0]


def recolour(pixels: Tensor, colour: float, grey: float, generator: np.random.Generator) -> Tensor:
    """Flip half of the pictures and jitter colours; uint8 (B, 3, S, S) to float32 in [0, 1]."""
    count = len(pixels)

    def factor() -> Tensor:
        return torch.from_numpy(generator.uniform(1 - colour, 1 + colour, (count, 1, 1, 1)).astype(np.float32))

    flipped = torch.from_numpy(generator.random(count) < 0.5)[:, None, None, None]
    pixels = torch.where(flipped, pixels.flip(-1), pixels).float().div_(255)
    pixels = pixels.mul_(factor())
    middle = pixels.mean(dim=(1, 2, 3), keepdim=True)
    pixels = pixels.sub_(middle).mul_(factor()).add_(middle)
    luma = (pixels * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdim=True)
    made_grey = torch.from_numpy(generator.random(count) < grey)[:, None, None, None]
    saturation = torch.where(made_grey, torch.zeros(()), factor())
    return pixels.sub_(luma).mul_(saturation).add_(luma).clamp_(0, 1)
