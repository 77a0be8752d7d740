"""What is measured: one picture, one vocabulary, one full memory, and the work on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

import torch
from torch.nn import functional as F

from rita_demo import method, views
from rita_demo.crossing import outside
from rita_demo.data.samples import sample
from rita_demo.data.vocabularies import vocabulary
from rita_demo.engine import Engine
from rita_demo.records import CacheState, Glance, Picture, TextBank, Trace
from rita_demo.settings import Settings
from rita_demo.vlm import Backbone, PromptSet, build_prompts

PICTURE = "motorcycle"
_NUMBER = count()  # one for all scenes: they share the engine, and what it remembers


def class_names(count: int) -> tuple[str, ...]:
    """The first names of Caltech101 and ImageNet together, each once."""
    both = dict.fromkeys([*vocabulary("caltech101").names, *vocabulary("imagenet").names])
    return tuple(both)[:count]


def full_memory(K: int, J: int, bank: TextBank, device: torch.device) -> CacheState:
    """A memory with every place taken: the most work a memory can make. Its views are random."""
    generator = torch.Generator().manual_seed(0)
    empty = method.empty(K, J, bank.hand.shape[1], bank.key, device)
    drawn = F.normalize(torch.randn(empty.features.shape, generator=generator), dim=-1)
    return replace(
        empty,
        features=drawn.to(device),
        entropy=torch.full_like(empty.entropy, 0.5),
        born=torch.zeros_like(empty.born),
        view=torch.zeros_like(empty.view),
        count=torch.full_like(empty.count, J),
        pictures=J * K,
    )


@dataclass(frozen=True)
class Scene:
    """One configuration. ``backbone`` is the engine's own model."""

    engine: Engine
    backbone: Backbone
    settings: Settings
    classes: int
    picture: Picture

    @classmethod
    def of(
        cls, backbone: Backbone, engine: Engine, settings: Settings, classes: int, side: int
    ) -> Scene:
        """The usual picture as a square of ``side`` pixels."""
        picture = sample(PICTURE).load(square="model", side=side)
        return cls(engine, backbone, settings, classes, picture)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return class_names(self.classes)

    @cached_property
    def bank(self) -> TextBank:
        return self.engine.classes(self.names, self.settings)

    @cached_property
    def prompts(self) -> PromptSet:
        return build_prompts(self.backbone, self.names, self.settings)

    @cached_property
    def pixels(self) -> torch.Tensor:
        """(3, H, H) float in [0, 1] on the device."""
        on_device = torch.from_numpy(self.picture.pixels).to(self.backbone.device)
        return on_device.permute(2, 0, 1).float() / 255

    @cached_property
    def view_pixels(self) -> torch.Tensor:
        return self.cut()

    @cached_property
    def glance(self) -> Glance:
        return self.engine.look(self.picture, self.settings)

    @cached_property
    def memory(self) -> CacheState:
        """A full memory as the method takes it (tensors)."""
        return full_memory(self.classes, self.settings.slots, self.bank, self.backbone.device)

    @cached_property
    def cache(self) -> CacheState:
        """The same as the engine takes it (arrays)."""
        return outside(self.memory)

    @cached_property
    def trace(self) -> Trace:
        return self.engine.decide(self.glance, self.bank, self.cache, self.settings)[0]

    @cached_property
    def fresh(self) -> Callable[[], Picture]:
        """The same picture under a new key each time: nothing is remembered of it, by no scene."""
        return lambda: replace(self.picture, key=f"{self.picture.key}-{next(_NUMBER)}")

    # --- the work
    def cut(self) -> torch.Tensor:
        """Views of the square (N, 3, side, side)."""
        drawn = views.make_views(self.pixels, self.settings, self.backbone.side).pixels
        assert drawn is not None  # just made
        return drawn

    def encode(self) -> torch.Tensor:
        """Features of the views (N, D)."""
        return self.backbone.encode_views(self.view_pixels)

    def floor(self) -> None:
        """What no prompt update can avoid: views once, prompts forward, backward, forward again."""
        self.encode()
        context = self.prompts.context.clone().requires_grad_()
        self.backward(self.prompts.encode(context), context)
        with torch.no_grad():
            self.prompts.encode(context + 1e-3)

    @staticmethod
    def backward(features: torch.Tensor, context: torch.Tensor) -> None:
        torch.autograd.grad(features, context, torch.ones_like(features))

    def image(self) -> Trace:
        """From a decoded square to a verdict, with the prompt update."""
        glance = self.engine.look(self.fresh(), self.settings)
        return self.engine.decide(glance, self.bank, self.cache, self.settings)[0]

    def decision(self) -> Trace:
        """From features and updated prompts to a verdict."""
        return self.engine.decide(
            self.glance, self.bank, self.cache, self.settings, self.trace.tuning
        )[0]

    def tensors(self) -> dict[str, Any]:
        """What the stages of the method take: views x, prompts z, their weights, zbar."""
        device = self.backbone.device
        x, z = (torch.from_numpy(a).to(device) for a in (self.glance.features, self.bank.features))
        weight = torch.from_numpy(self.bank.weight).to(device)
        return {"x": x, "z": z, "weight": weight, "zbar": method.text_mean(z, weight)}
