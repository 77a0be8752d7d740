"""The real engine around a model of two layers, made in 50 ms and never trained.

It takes every picture for the class ``truth``; the colours at 4 x 4 places move the features a little, so that crops
differ. A faint grating in magenta and green columns turns them to the class ``wrong``: pictures have none, and the
gradient leads an attacker there. What the attacker sees is the whole square, with columns one pixel wide; a crop shows
them wider. ``spread`` says how much smaller crops may be that are still fooled: with 1 all are, and the defence fails.
"""

import time
from collections.abc import Generator
from functools import cache
from typing import Any

import torch
from open_clip import SimpleTokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.attacks.loop.request import AttackProgress
from rita_demo.engine.engine import Engine
from rita_demo.records import AttackTrace
from rita_demo.vlm.own_model import own_model
from rita_demo.vlm.prompts import TEMPLATES

SIDE, WIDTH, PLACES, TEMPERATURE = 32, 48, 4, 0.05
SMALLEST = 0.28  # side of a crop with the recommended settings, as a fraction of the square's
MAGENTA = torch.tensor([1.0, -2.0, 1.0]).view(3, 1, 1)
TOKENIZER = SimpleTokenizer()


@cache
def random_weights() -> tuple[Tensor, Tensor, Tensor]:
    """Of words (tokens, WIDTH), of the text (WIDTH, WIDTH) and of colours (3 PLACES^2, WIDTH): the same in every model."""
    random, scale = torch.Generator().manual_seed(0), WIDTH**-0.5
    words = torch.randn(TOKENIZER.vocab_size, WIDTH, generator=random)
    words[TOKENIZER(list(TEMPLATES)).unique()] *= 0.1  # a name counts more than what is around it
    text = torch.randn(WIDTH, WIDTH, generator=random) * scale
    return words, text, torch.randn(3 * PLACES**2, WIDTH, generator=random) * scale


class ToyModel(nn.Module):
    """Two layers for pictures and two for text."""

    def __init__(self, truth: str, wrong: str, spread: float) -> None:
        super().__init__()
        words, text, colours = random_weights()
        self.words, self.text = nn.Embedding.from_pretrained(words), nn.Parameter(text)
        self.colours = nn.Parameter(colours)
        with torch.no_grad():
            right, fooled = self.encode_text(TOKENIZER([f"a photo of a {name}." for name in (truth, wrong)]))
        self.register_buffer("right", right)
        self.register_buffer("turn", fooled - right)
        smallest = 1 - spread * (1 - SMALLEST)
        self.register_buffer("bands", (torch.arange(SIDE // 2 + 1) >= int(smallest * SIDE / 2)).float())

    def encode_image(self, pixels: Tensor) -> Tensor:
        """(B, 3, SIDE, SIDE) -> (B, WIDTH)."""
        colours = F.adaptive_avg_pool2d(pixels, PLACES).flatten(1) @ self.colours
        waves = torch.fft.rfft((pixels * MAGENTA).sum(1).mean(1)) / SIDE  # (B, SIDE // 2 + 1), along the columns
        wide = F.relu((waves.abs().square() * self.bands).sum(1) - 0.014**2)  # pictures stay below
        grating = 20 * waves[:, -1].real + 1000 * wide  # about 1 for one of 4/255
        return self.right + grating[:, None] * self.turn + colours

    def encode_text(self, tokens: Tensor) -> Tensor:
        """(B, T) -> (B, WIDTH)."""
        written = (tokens != 0)[..., None]
        return torch.tanh((self.words(tokens) * written).sum(1)) @ self.text + 0.2  # all a little alike, as CLIP's are


class ToyEngine(Engine):
    """The engine of a :class:`ToyModel`. ``step_seconds``: what a step of an attack takes longer."""

    def __init__(
        self, truth: str = "motorbike", wrong: str = "crab", spread: float = 0.3, step_seconds: float = 0.0, **more: Any
    ) -> None:
        plain = {"name": "toy", "side": SIDE, "temperature": TEMPERATURE, "mean": (0.0,) * 3, "std": (1.0,) * 3}
        super().__init__(own_model(ToyModel(truth, wrong, spread), TOKENIZER, device="cpu", **(plain | more)))
        self.step_seconds = step_seconds

    def attack_steps(self, *request: Any, **more: Any) -> Generator[AttackProgress, None, AttackTrace]:
        steps = super().attack_steps(*request, **more)
        while True:
            try:
                progress = next(steps)
            except StopIteration as end:
                return end.value
            time.sleep(self.step_seconds)
            yield progress
