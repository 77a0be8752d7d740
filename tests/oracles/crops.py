"""Crops one at a time with Pillow: a fractional box, antialiased, one float channel after the other."""

from __future__ import annotations

import numpy as np
from PIL import Image

F = np.ndarray


def crop_one(pixels: F, box: F, flipped: bool, side: int, *, cubic: bool = True) -> F:
    """(3, H, W) floats in [0, 1] and a box (left, top, right, bottom) in shares -> (3, side, side).

    Pillow's filter may look at pixels just outside the box (never outside the picture): near the edge
    of a crop it differs from "cut first, resize then".  Pillow's cubic may leave [0, 1]; no clipping here.
    """
    height, width = pixels.shape[1:]
    edges = tuple(np.asarray(box, dtype=float) * [width, height, width, height])
    how = Image.Resampling.BICUBIC if cubic else Image.Resampling.BILINEAR
    channels = []
    for channel in pixels:
        image = Image.fromarray(np.ascontiguousarray(channel, dtype=np.float32), mode="F")
        resized = image.resize((side, side), how, box=edges, reducing_gap=None)
        channels.append(np.asarray(resized, dtype=float))
    out = np.stack(channels)
    return out[:, :, ::-1] if flipped else out


def crop_all(pixels: F, boxes: F, flipped: F, side: int, *, cubic: bool = True) -> F:
    """(N, 3, side, side)."""
    return np.stack(
        [crop_one(pixels, b, bool(f), side, cubic=cubic) for b, f in zip(boxes, flipped)]
    )
