"""AugMix (Hendrycks et al. 2020, algorithm 1) at severity 1, on crops.

Each crop is mixed with three chains of one to three changes of its colours or shape. AugMix is not differentiable
(equalize, posterize): attacks that differentiate through the views leave it out, and their threat model says so."""

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageOps

SEVERITY = 1.0
CHAINS = 3
LONGEST = 3  # changes in a chain

Operation = Callable[[Image.Image, np.random.Generator], Image.Image]


def augmix(views: np.ndarray, seed: int, first: int = 0) -> np.ndarray:
    """Mix every view with three chains of changed copies of it. The random numbers of a view depend on ``seed`` and its
    index alone, so that more views do not change the earlier ones. Returns (N, H, W, 3) float32 in [0, 1].

    Args:
        views: (N, H, W, 3) uint8.
        seed: the setting ``view_seed``.
        first: index of ``views[0]`` among all views."""
    mixed = np.empty(views.shape, dtype=np.float32)
    for place, view in enumerate(views):
        generator = np.random.default_rng([seed, first + place])
        share = generator.dirichlet(np.ones(CHAINS))
        kept = generator.beta(1.0, 1.0)
        total = kept * view.astype(np.float32)
        for weight in share:
            changed = Image.fromarray(view)
            for _ in range(generator.integers(1, LONGEST + 1)):
                changed = OPERATIONS[generator.integers(len(OPERATIONS))](changed, generator)
            total += (1 - kept) * weight * np.asarray(changed, dtype=np.float32)
        mixed[place] = np.clip(total / 255, 0, 1)
    return mixed


def _level(generator: np.random.Generator, largest: float) -> float:
    """Strength of a change: at severity 1, uniform from 1 to 10 % of the largest one."""
    return generator.uniform(0.1, SEVERITY) / 10 * largest


def _signed(generator: np.random.Generator, largest: float) -> float:
    level = _level(generator, largest)
    return level if generator.random() < 0.5 else -level


def _affine(image: Image.Image, matrix: tuple[float, ...]) -> Image.Image:
    return image.transform(image.size, Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)


OPERATIONS: tuple[Operation, ...] = (
    lambda image, generator: ImageOps.autocontrast(image),
    lambda image, generator: ImageOps.equalize(image),
    lambda image, generator: ImageOps.posterize(image, 4 - int(_level(generator, 4))),
    lambda image, generator: image.rotate(int(_signed(generator, 30)), Image.Resampling.BILINEAR),
    lambda image, generator: ImageOps.solarize(image, 256 - int(_level(generator, 256))),
    # shear along x and y, shift along x and y
    lambda image, generator: _affine(image, (1, _signed(generator, 0.3), 0, 0, 1, 0)),
    lambda image, generator: _affine(image, (1, 0, 0, _signed(generator, 0.3), 1, 0)),
    lambda image, generator: _affine(image, (1, 0, int(_signed(generator, image.width / 3)), 0, 1, 0)),
    lambda image, generator: _affine(image, (1, 0, 0, 0, 1, int(_signed(generator, image.height / 3)))),
)
