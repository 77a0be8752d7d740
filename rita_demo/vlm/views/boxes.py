"""The box of every view, drawn with numpy so that CPU and GPU get the same boxes."""

import math

import numpy as np

from rita_demo.settings import Settings

TRIES = 10  # draws of a box until one fits, as in torchvision's RandomResizedCrop
LOG_RATIO = math.log(3 / 4), math.log(4 / 3)  # of width and height


def draw_boxes(n: int, seed: int, min_scale: float = 0.08) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of random resized crops of a square, and which of them are mirrored (method.md row 2).

    The rule is that of torchvision's ``RandomResizedCrop``: area uniform from ``min_scale`` to 1, width : height
    log-uniform from 3/4 to 4/3, position uniform; after ten boxes that do not fit, the whole square; mirrored with
    probability 1/2. Edges are real numbers, not whole pixels. View 0 is the whole square, not mirrored. The first n
    views of a seed are the same for every larger n. Returns ``boxes`` (n, 4) float32: left, top, right, bottom as
    fractions of the side, in [0, 1]; ``flipped`` (n,) bool.

    Args:
        n: number of views, at least 1.
        seed: seed of numpy's PCG64.
        min_scale: smallest fraction of the square's area, in (0, 1]."""
    generator = np.random.Generator(np.random.PCG64(seed))
    boxes = np.zeros((n, 4))
    flipped = np.zeros(n, dtype=bool)
    boxes[0] = 0, 0, 1, 1
    for view in range(1, n):
        boxes[view] = _draw(generator, min_scale)
        flipped[view] = generator.random() < 0.5
    return boxes.astype(np.float32), flipped


def view_boxes(settings: Settings, n: int | None = None, seed: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """:func:`draw_boxes` as the settings say, for every place that cuts views or looks at them: the views of RITA, those
    of an attacker, the boxes of stored views. ``n``, ``seed``: others than the settings' own."""
    n, seed = settings.views if n is None else n, settings.view_seed if seed is None else seed
    return draw_boxes(n, seed, settings.view_scale)


def area_fractions(boxes: np.ndarray) -> np.ndarray:
    """The fraction of the square's area in each box (n, 4): (n,) float32 in (0, 1]."""
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return (width * height).astype(np.float32)


def _draw(generator: np.random.Generator, min_scale: float) -> tuple[float, float, float, float]:
    for _ in range(TRIES):
        area = generator.uniform(min_scale, 1.0)
        shape = math.exp(generator.uniform(*LOG_RATIO))
        width, height = math.sqrt(area * shape), math.sqrt(area / shape)
        if width <= 1 and height <= 1:
            left, top = generator.uniform(0, 1 - width), generator.uniform(0, 1 - height)
            return left, top, left + width, top + height
    return 0.0, 0.0, 1.0, 1.0
