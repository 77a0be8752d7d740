"""Labelled pictures of DTD's 47 texture words, drawn from a seed: no download, no licence.

``draw("knitted", 7)`` is always the same picture. Every class has a drawing that returns a
:class:`~rita_demo.data.textures.light.Surface`; light, lens and sensor are the same for all, so that
only the surface tells the class. ``python -m rita_demo.data.textures sheet.png`` shows them.

Words: Cimpoi et al. 2014, "Describing Textures in the Wild".
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from rita_demo.data.textures import bands, cloth, dots, flow, ground, relief
from rita_demo.data.textures.light import Surface, lit, photographed
from rita_demo.errors import DataError

__all__ = ["CLASSES", "SPLITS", "Drawn", "draw", "samples", "seeds"]

_DRAWINGS: dict[str, Callable[[Generator, int], Surface]] = {
    "banded": bands.banded,
    "blotchy": flow.blotchy,
    "braided": cloth.braided,
    "bubbly": relief.bubbly,
    "bumpy": relief.bumpy,
    "chequered": bands.chequered,
    "cobwebbed": flow.cobwebbed,
    "cracked": ground.cracked,
    "crosshatched": bands.crosshatched,
    "crystalline": relief.crystalline,
    "dotted": dots.dotted,
    "fibrous": flow.fibrous,
    "flecked": dots.flecked,
    "freckled": dots.freckled,
    "frilly": cloth.frilly,
    "gauzy": cloth.gauzy,
    "grid": bands.grid,
    "grooved": bands.grooved,
    "honeycombed": relief.honeycombed,
    "interlaced": cloth.interlaced,
    "knitted": cloth.knitted,
    "lacelike": cloth.lacelike,
    "lined": bands.lined,
    "marbled": flow.marbled,
    "matted": flow.matted,
    "meshed": cloth.meshed,
    "paisley": dots.paisley,
    "perforated": dots.perforated,
    "pitted": relief.pitted,
    "pleated": bands.pleated,
    "polka-dotted": dots.polka_dotted,
    "porous": relief.porous,
    "potholed": ground.potholed,
    "scaly": relief.scaly,
    "smeared": flow.smeared,
    "spiralled": flow.spiralled,
    "sprinkled": dots.sprinkled,
    "stained": flow.stained,
    "stratified": bands.stratified,
    "striped": bands.striped,
    "studded": dots.studded,
    "swirly": flow.swirly,
    "veined": flow.veined,
    "waffled": relief.waffled,
    "woven": cloth.woven,
    "wrinkled": ground.wrinkled,
    "zigzagged": bands.zigzagged,
}
CLASSES: tuple[str, ...] = tuple(_DRAWINGS)
_SEEDS = {
    "train": range(0, 1_000_000),
    "val": range(1_000_000, 1_100_000),
    "test": range(2_000_000, 2_100_000),
}
SPLITS: tuple[str, ...] = tuple(_SEEDS)
SMALLEST, LARGEST = 32, 1024


@dataclass(frozen=True)
class Drawn:
    """A picture with its true answer; ``pixels`` is (size, size, 3) uint8."""

    name: str
    seed: int
    pixels: NDArray[np.uint8]


def draw(class_name: str, seed: int, size: int = 224) -> NDArray[np.uint8]:
    """The picture number ``seed`` of a class: (size, size, 3) uint8, the same on every call.

    The size belongs to the seed: another size is another picture of the same kind.

    Args:
        class_name: one of :data:`CLASSES`.  seed: 0 or more.  size: side, 32 to 1024 pixels.

    Raises:
        DataError: unknown class, negative seed or a size out of range.
    """
    if class_name not in _DRAWINGS:
        raise DataError(
            f"No drawing is called {str(class_name)[:60]!r}.", f"Choose from: {', '.join(CLASSES)}."
        )
    if seed < 0 or not SMALLEST <= size <= LARGEST:
        raise DataError(
            f"A drawing needs a seed of 0 or more and a size from {SMALLEST} to {LARGEST} pixels; "
            f"got seed {seed} and size {size}."
        )
    rng = Generator(PCG64([zlib.crc32(class_name.encode()), seed]))
    surface = _DRAWINGS[class_name](rng, size)
    return photographed(rng, lit(rng, surface))


def seeds(split: str) -> range:
    """The seeds that belong to ``train``, ``val`` or ``test``; no seed belongs to two."""
    if split not in _SEEDS:
        raise DataError(f"The split is one of {', '.join(_SEEDS)}; got {str(split)[:60]!r}.")
    return _SEEDS[split]


def samples(split: str, per_class: int, size: int = 224) -> Iterator[Drawn]:
    """The first ``per_class`` pictures of every class of a split, class after class within a seed."""
    chosen = seeds(split)[: max(per_class, 0)]
    if len(chosen) < per_class:
        raise DataError(f"The split {split!r} has {len(chosen)} seeds per class; got {per_class}.")
    return (Drawn(name, seed, draw(name, seed, size)) for seed in chosen for name in CLASSES)
