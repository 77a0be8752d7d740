"""The views of one picture: boxes, crops and, where the settings ask for it, AugMix."""

import torch
from torch import Tensor

from rita_demo.records import ViewSet
from rita_demo.settings import Settings
from rita_demo.views.augmix import augmix
from rita_demo.views.boxes import draw_boxes
from rita_demo.views.crops import crop


def make_views(pixels: Tensor, settings: Settings, side: int) -> ViewSet:
    """Draw ``settings.views`` views of a square (method.md row 2); view 0 is the whole square.

    With ``settings.views_augmix`` the crops (not view 0) are rounded to 8 bit and mixed. Without it the result
    is differentiable with respect to ``pixels``.

    Args:
        pixels: (3, H, W) float in [0, 1], H = W.
        side: the model's input side in pixels.

    Returns:
        A :class:`ViewSet` of torch tensors: ``boxes`` (N, 4) and ``flipped`` (N,) on the CPU,
        ``pixels`` (N, 3, side, side) float32 in [0, 1] on the device of ``pixels``.
    """
    boxes, flipped = draw_boxes(settings.views, settings.view_seed, settings.view_scale)
    views = crop(pixels.float(), boxes, flipped, side)
    if settings.views_augmix and len(views) > 1:
        crops = views[1:].detach().mul(255).round().byte().permute(0, 2, 3, 1).cpu().numpy()
        mixed = torch.from_numpy(augmix(crops, settings.view_seed, first=1)).permute(0, 3, 1, 2)
        views = torch.cat([views[:1], mixed.to(views)])
    return ViewSet(
        boxes=torch.from_numpy(boxes), flipped=torch.from_numpy(flipped), seed=settings.view_seed, pixels=views
    )
