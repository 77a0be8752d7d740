"""The input of the benchmark: one picture, one vocabulary, one full cache; and the functions to time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import torch
from torch.nn import functional as F

from rita_demo import method
from rita_demo.data.samples import sample
from rita_demo.data.vocabularies import vocabulary
from rita_demo.engine.conversion import to_numpy
from rita_demo.engine.engine import Engine
from rita_demo.records import CacheState, ClassPrompts, EncodedViews, Picture, Trace
from rita_demo.settings import Settings
from rita_demo.views.view_set import make_views
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.prompts import PromptSet, build_prompts

PICTURE = "motorcycle"
_NUMBER = count()  # shared by all fixtures, which share the engine and its cached results


def class_names(count: int) -> tuple[str, ...]:
    """The first names of Caltech101 and ImageNet together, each once."""
    both = dict.fromkeys([*vocabulary("caltech101").names, *vocabulary("imagenet").names])
    return tuple(both)[:count]


@dataclass(frozen=True)
class BenchFixture:
    """One configuration: ``backbone`` is the engine's own model, ``side`` the side of the square in pixels."""

    backbone: Backbone
    engine: Engine
    settings: Settings
    classes: int
    side: int

    @cached_property
    def picture(self) -> Picture:
        return sample(PICTURE).load(square="model", side=self.side)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return class_names(self.classes)

    @cached_property
    def class_prompts(self) -> ClassPrompts:
        return self.engine.encode_classes(self.names, self.settings)

    @cached_property
    def prompts(self) -> PromptSet:
        return build_prompts(self.backbone, self.names, self.settings)

    @cached_property
    def view_pixels(self) -> torch.Tensor:
        return self.cut_views()

    @cached_property
    def encoded_views(self) -> EncodedViews:
        return self.engine.encode_views(self.picture, self.settings)

    @cached_property
    def cache_tensors(self) -> CacheState:
        """A full cache as tensors, for the method: it takes the most time. Its unit features are random."""
        K, J, prompts, device = self.classes, self.settings.slots, self.class_prompts, self.backbone.device
        empty = method.empty(K, J, prompts.template_features.shape[1], prompts.key, device)
        drawn = torch.randn(empty.features.shape, generator=torch.Generator().manual_seed(0))
        return replace(
            empty,
            features=F.normalize(drawn, dim=-1).to(device),
            entropy=torch.full_like(empty.entropy, 0.5),
            born=torch.zeros_like(empty.born),
            view=torch.zeros_like(empty.view),
            count=torch.full_like(empty.count, J),
            pictures=J * K,
        )

    @cached_property
    def cache(self) -> CacheState:
        """The same as arrays, for the engine."""
        return to_numpy(self.cache_tensors)

    @cached_property
    def trace(self) -> Trace:
        return self.engine.decide(self.encoded_views, self.class_prompts, self.cache, self.settings)[0]

    def new_picture(self) -> Picture:
        """The picture with a new key at every call, so that the engine has no cached result for it."""
        return replace(self.picture, key=f"{self.picture.key}-{next(_NUMBER)}")

    def cut_views(self) -> torch.Tensor:
        """Views of the square (N, 3, side, side)."""
        pixels = torch.from_numpy(self.picture.pixels).to(self.backbone.device).permute(2, 0, 1).float() / 255
        drawn = make_views(pixels, self.settings, self.backbone.side).pixels
        assert drawn is not None
        return drawn

    def encode(self) -> torch.Tensor:
        """Features of the views (N, D)."""
        return self.backbone.encode_views(self.view_pixels)

    def floor(self) -> None:
        """The work of every prompt update: views once, prompts forward, backward, forward again."""
        self.encode()
        context = self.prompts.context.clone().requires_grad_()
        self.backward(self.prompts.encode(context), context)
        with torch.no_grad():
            self.prompts.encode(context + 1e-3)

    @staticmethod
    def backward(features: torch.Tensor, context: torch.Tensor) -> None:
        torch.autograd.grad(features, context, torch.ones_like(features))

    def image(self) -> Trace:
        """From a decoded square to the decision, with the prompt update."""
        encoded_views = self.engine.encode_views(self.new_picture(), self.settings)
        return self.engine.decide(encoded_views, self.class_prompts, self.cache, self.settings)[0]

    def decision(self) -> Trace:
        """From features and updated prompts to the decision."""
        tuning = self.trace.tuning
        return self.engine.decide(self.encoded_views, self.class_prompts, self.cache, self.settings, tuning)[0]
