"""A batch as a function of (corpus, recipe, seed, step, progress).

Every step has its own random generator, so that a resumed run needs no state of a generator.
"""

from dataclasses import dataclass

import numpy as np
import torch
from open_clip import SimpleTokenizer
from torch import Tensor

from rita_demo.training.augment import crop, normalised, recolour
from rita_demo.training.corpus import Corpus
from rita_demo.training.names import DTD_NAMES, FIRST_TEMPLATE_SHARE, TEMPLATES, TEXTURE_TEMPLATES
from rita_demo.training.recipe import Recipe


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
    teacher_probabilities: Tensor  # (B, 1000) float32: the teacher's answers; rows of zeros for pictures without one
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
        self.picture_probabilities = [self.class_balanced(corpus.groups[group]) for group in self.groups]

    def class_balanced(self, pictures: np.ndarray) -> np.ndarray:
        """Probability of each picture in its group: the weight of a class is the root of its size."""
        label = self.corpus.label[pictures]
        count = np.bincount(label + 1)[label + 1]
        weight = np.where(label < 0, 1.0, 1 / np.sqrt(count))
        return weight / weight.sum()

    def draw(self, step: int, progress: float, size: int) -> Batch:
        """The batch of a step, with pictures of `size` pixels."""
        recipe, corpus = self.recipe, self.corpus
        generator = np.random.default_rng([self.seed, step])
        chosen = self.pictures(progress, generator)
        crops = [crop(corpus.picture(n), size, recipe.smallest_crop, generator) for n in chosen]
        pixels = recolour(torch.stack(crops), recipe.colour, recipe.grey, generator)
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
        return Batch(
            pixels=normalised(pixels),
            prompts=pad_tokens(prompts),
            captions=pad_tokens(captions),
            target=torch.from_numpy(target),
            ignored=torch.from_numpy(ignored),
            label=torch.from_numpy(label),
            prompt_label=torch.from_numpy(shown),
            teacher_probabilities=self.teacher_probabilities(chosen),
            seen=frozenset(token for text in with_picture for token in text),
        )

    def teacher_probabilities(self, chosen: np.ndarray) -> Tensor:
        """(B, 1000) probabilities; (B, 0) without a teacher."""
        if self.teacher_answers is None:
            return torch.zeros(len(chosen), 0)
        number, share = (torch.from_numpy(part[chosen]) for part in self.teacher_answers)
        return torch.zeros(len(chosen), 1000).scatter_(1, number, share)

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
        templates = TEXTURE_TEMPLATES if names[0] in DTD_NAMES else TEMPLATES
        template = templates[0] if generator.random() < FIRST_TEMPLATE_SHARE else pick(templates, generator)
        return template.format(name)

    def tokens(self, text: str) -> list[int]:
        """Token ids with start and end, at most `caption_tokens` of them."""
        ids = self.tokenizer.encode(text)[: self.recipe.caption_tokens - 2]
        return [self.tokenizer.sot_token_id, *ids, self.tokenizer.eot_token_id]


def pick(texts: tuple[str, ...], generator: np.random.Generator) -> str:
    """One of the texts, all with the same probability."""
    return texts[generator.integers(len(texts))]


def pad_tokens(texts: list[list[int]]) -> Tensor:
    """Token ids (T, L), L the longest text, zeros after the end token."""
    longest = max((len(text) for text in texts), default=0)
    return torch.tensor([text + [0] * (longest - len(text)) for text in texts], dtype=torch.long)
