"""The views, drawn with PIL one after another."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from rita_demo.settings import Settings
from rita_demo.views.augmix import augmix
from rita_demo.views.boxes import draw_boxes


def cut_views(square: np.ndarray, settings: Settings, side: int) -> list[Image.Image]:
    """Definition 2: N views (side, side) of a square (H, H, 3) uint8, the same boxes as the engine's."""
    picture = Image.fromarray(square)
    boxes, mirrored = draw_boxes(settings.views, settings.view_seed, settings.view_scale)
    views = []
    for number, (box, mirror) in enumerate(zip(boxes, mirrored)):
        left, top, right, bottom = (float(edge) * picture.width for edge in box)
        view = picture.resize((side, side), Image.Resampling.BICUBIC, (left, top, right, bottom))
        if mirror:
            view = ImageOps.mirror(view)
        if settings.views_augmix and number > 0:
            mixed = augmix(np.asarray(view)[None], settings.view_seed, first=number)[0]
            view = Image.fromarray((mixed * 255).round().astype(np.uint8))
        views.append(view)
    return views


def view_weights(settings: Settings) -> Tensor:
    """The mass (N,) of the views: uniform, or in proportion to the area of the square that a view hides or shows."""
    if settings.view_weight == "uniform":
        return torch.full((settings.views,), 1 / settings.views)
    parts = hidden_fraction(settings)
    if settings.view_weight == "shown":
        mass = torch.tensor([1 - part for part in parts])
    else:
        mass = torch.tensor([max(part, 0.001) for part in parts])
    return mass / mass.sum()


def hidden_fraction(settings: Settings) -> list[float]:
    """The fraction of the square's area that each of the N views hides; 0 for view 0."""
    boxes, _ = draw_boxes(settings.views, settings.view_seed, settings.view_scale)
    return [1 - (right - left) * (low - top) for left, top, right, low in boxes.tolist()]


def to_tensor(views: list[Image.Image]) -> Tensor:
    """(N, 3, side, side) float32 in [0, 1]."""
    stacked = np.stack([np.asarray(view, np.float32) / 255 for view in views])
    return torch.from_numpy(stacked).permute(0, 3, 1, 2).contiguous()
