"""Labelled pictures of DTD's 47 texture words (Cimpoi et al. 2014), drawn from a seed: no download, no licence.

``draw("knitted", 7)`` is always the same picture. A drawing is a function ``(rng, size) -> Surface`` that has the name
of its class; light, lens and sensor are the same for all classes.
"""

import zlib
from collections.abc import Callable

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from rita_demo.records.errors import DataError, check_known
from tools.textures import bands, cloth, dots, flow, relief, worn_surfaces
from tools.textures.rendering import Surface, shade, simulate_camera

_MODULES = (bands, cloth, dots, flow, relief, worn_surfaces)
_DRAWINGS: dict[str, Callable[[Generator, int], Surface]] = {
    name.replace("_", "-"): function
    for module in _MODULES
    for name, function in vars(module).items()
    if not name.startswith("_") and getattr(function, "__module__", "") == module.__name__
}
CLASSES: tuple[str, ...] = tuple(sorted(_DRAWINGS))
_SEEDS = {"train": range(0, 1_000_000), "val": range(1_000_000, 1_100_000), "test": range(2_000_000, 2_100_000)}
SPLITS: tuple[str, ...] = tuple(_SEEDS)
SMALLEST, LARGEST = 32, 1024


def draw(class_name: str, seed: int, size: int = 224) -> NDArray[np.uint8]:
    """Picture ``seed`` of a class: (size, size, 3) uint8, the same on every call. Another size is another picture.

    Args:
        class_name: one of :data:`CLASSES`. seed: 0 or more. size: side, 32 to 1024 pixels.

    Raises:
        DataError: unknown class, negative seed or a size out of range.
    """
    if class_name not in _DRAWINGS:
        raise DataError(f"No drawing is called {str(class_name)[:60]!r}.", f"Choose from: {', '.join(CLASSES)}.")
    if seed < 0 or not SMALLEST <= size <= LARGEST:
        wanted = f"a seed of 0 or more and a size from {SMALLEST} to {LARGEST} pixels"
        raise DataError(f"A drawing needs {wanted}; got seed {seed} and size {size}.")
    rng = Generator(PCG64([zlib.crc32(class_name.encode()), seed]))
    return simulate_camera(rng, shade(rng, _DRAWINGS[class_name](rng, size)))


def seeds(split: str) -> range:
    """The seeds of ``train``, ``val`` or ``test``; the splits share no seed."""
    check_known("split", split, _SEEDS, DataError)
    return _SEEDS[split]
