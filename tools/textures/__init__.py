"""Labelled pictures of DTD's 47 texture words (Cimpoi et al. 2014), drawn from a seed: no download, no licence. A drawing is
a function ``(rng, size) -> Surface`` that has the name of its class; light, lens and sensor are the same for all classes."""

import zlib
from collections.abc import Callable

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from tools.textures import bands, cloth, dots, flow, relief, worn_surfaces
from tools.textures.rendering import Surface, shade, simulate_camera

_DRAWINGS: dict[str, Callable[[Generator, int], Surface]] = {
    name.replace("_", "-"): function
    for module in (bands, cloth, dots, flow, relief, worn_surfaces)
    for name, function in vars(module).items()
    if not name.startswith("_") and getattr(function, "__module__", "") == module.__name__
}
CLASSES: tuple[str, ...] = tuple(sorted(_DRAWINGS))
#: Those of a split; no two splits share one.
SEEDS = {"train": range(0, 1_000_000), "val": range(1_000_000, 1_100_000), "test": range(2_000_000, 2_100_000)}


def draw(class_name: str, seed: int, size: int = 224) -> NDArray[np.uint8]:
    """Picture ``seed`` (0 or more) of one of :data:`CLASSES`: (size, size, 3) uint8, the same on every call. Another size is
    another picture."""
    rng = Generator(PCG64([zlib.crc32(class_name.encode()), seed]))
    return simulate_camera(rng, shade(rng, _DRAWINGS[class_name](rng, size)))
