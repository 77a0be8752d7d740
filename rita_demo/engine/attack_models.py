"""What an attacker differentiates: the model with one view, random crops, or a defence as a whole. Built here because
it needs the model, the views and the method at once; these folders do not import each other."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rita_demo.attacks.loop.request import SampledLogits
from rita_demo.defences.contract import DefenceInput
from rita_demo.settings import Settings
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.views.boxes import area_fractions, view_boxes
from rita_demo.vlm.views.crops import crop, resize_squares

WHOLE_SQUARE_BOX = (np.array([[0.0, 0.0, 1.0, 1.0]], np.float32), np.array([False]))  # box, mirrored


class AttackerModels(NamedTuple):
    """``sampled``: what an attacker differentiates; None: the model with one view. ``second``: another surrogate, for every
    second restart of ``adaptive``. ``judge``: what judges its finished restarts."""

    sampled: SampledLogits | None = None
    second: SampledLogits | None = None
    judge: SampledLogits | None = None


ONE_VIEW = AttackerModels()


@dataclass(frozen=True)
class SingleViewLogits:
    """Plain CLIP's logits ``cos / tau`` (B, K) of pixels (B, 3, H, W), with the resize of view 0. ``template_features``
    (K, D): plain CLIP's prompt of every class."""

    model: Backbone
    template_features: Tensor

    def __call__(self, pixels: Tensor) -> Tensor:
        if self.model.graphs.enabled:
            view_zero = resize_squares(pixels, self.model.side)
        else:
            view_zero = torch.stack([crop(square, *WHOLE_SQUARE_BOX, self.model.side)[0] for square in pixels])
        return self.model.encode_pixels(view_zero) @ self.template_features.T / self.model.temperature

    def recorded(self, key: Hashable, step: Callable[..., Sequence[Tensor]], *inputs: Tensor) -> tuple[Tensor, ...]:
        """``step(self, *inputs)``, which a GPU records (:class:`~rita_demo.process.gpu.CudaGraphs`)."""

        def with_templates(template_features: Tensor, *inputs: Tensor) -> Sequence[Tensor]:
            return step(replace(self, template_features=template_features), *inputs)

        return self.model.graphs.run(key, with_templates, self.template_features, *inputs)


def random_crop_logits(model: Backbone, template_features: Tensor, settings: Settings) -> SampledLogits:
    """Plain CLIP's logits on ``attack_views`` fresh crops, (B, n, K). Crops are drawn like the defence's views, without
    view 0 and without AugMix, which has no gradient."""

    def sampled_logits(pixels: Tensor, seeds: Sequence[int]) -> Tensor:
        count = settings.attack_views
        crops = [_random_views(p, s, settings, model.side, count + 1)[0][1:] for p, s in zip(pixels, seeds)]
        features = model.encode_pixels(torch.cat(crops))
        return (features @ template_features.T / model.temperature).reshape(len(pixels), count, -1)

    return sampled_logits


def defence_logits(
    model: Backbone,
    logits: Callable[[DefenceInput], Tensor],
    inputs: DefenceInput,
    sees: str = "views",
    count: int | None = None,
) -> SampledLogits:
    """A defence's own logits (B, 1, K) on ``count`` fresh views (None: ``attack_views``): the whole square and crops, or
    only the whole square where the defence ``sees`` the picture alone. ``logits``: (K,) of an input of the defence.
    ``inputs``: everything but the views; the cache does not change."""
    count = 1 if sees == "picture" else count or inputs.settings.attack_views

    def answer(square: Tensor, seed: int) -> Tensor:
        views, shown = _random_views(square, seed, inputs.settings, model.side, count)
        seen = replace(
            inputs,
            views=model.encode_pixels(views),
            area_fraction=shown.to(square.device),
            draw_views=lambda first: views[:first],
            encode_images=model.encode_pixels,
            seed=seed,
        )
        return logits(seen)

    return lambda pixels, seeds: torch.stack([*map(answer, pixels, seeds)])[:, None]


def _random_views(square: Tensor, seed: int, settings: Settings, side: int, count: int) -> tuple[Tensor, Tensor]:
    """Fresh views, and the fraction of the square's area that each shows."""
    boxes, flipped = view_boxes(settings, count, seed)
    return crop(square, boxes, flipped, side), torch.from_numpy(area_fractions(boxes))
