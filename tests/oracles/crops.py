"""Crops with Pillow, one channel at a time: a fractional box, antialiased."""

import numpy as np
from PIL import Image

F = np.ndarray


def crop_one(pixels: F, box: F, flipped: bool, side: int) -> F:
    """(3, H, W) floats in [0, 1] and a box (left, top, right, bottom) in shares -> (3, side, side). Pillow's filter
    uses pixels just outside the box, so the edge of a crop differs from cutting before resizing. Its cubic filter can
    leave [0, 1]; the result is not clipped."""
    height, width = pixels.shape[1:]
    edges = tuple(np.asarray(box, dtype=float) * [width, height, width, height])
    channels = []
    for channel in pixels:
        image = Image.fromarray(np.ascontiguousarray(channel, dtype=np.float32), mode="F")
        resized = image.resize((side, side), Image.Resampling.BICUBIC, box=edges, reducing_gap=None)
        channels.append(np.asarray(resized, dtype=float))
    out = np.stack(channels)
    return out[:, :, ::-1] if flipped else out


def crop_all(pixels: F, boxes: F, flipped: F, side: int) -> F:
    """(N, 3, side, side)."""
    return np.stack([crop_one(pixels, b, bool(f), side) for b, f in zip(boxes, flipped)])
