"""Viewpoint, perspective and waviness of a pattern, and the material it is printed on."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from rita_demo.data.textures.noise import Array, fractal, grain, lookup, smooth, streaks
from rita_demo.data.textures.rendering import Surface


def plane_coordinates(
    rng: Generator, size: int, *, tilt: float = 0.5, turn: float = math.pi, warp: float = 0.0, centred: bool = False
) -> tuple[Array, Array]:
    """Coordinates u, v (S, S) on a plane seen from a random viewpoint, in widths of the picture.

    Args:
        tilt: strongest foreshortening, 0 to 0.9.  turn: largest rotation, radians.
        warp: size of a soft distortion, widths.  centred: keep (0, 0) in the middle.
    """
    axis = (np.arange(size, dtype=np.float32) + 0.5) / size - 0.5
    a, b = (float(value) for value in rng.uniform(-tilt, tilt, 2))
    depth = 1 + a * axis[None] + b * axis[:, None]
    x, y = axis[None] / depth, axis[:, None] / depth
    angle = rng.uniform(-turn, turn)
    cos, sin = math.cos(angle), math.sin(angle)
    u, v = x * cos + y * sin, y * cos - x * sin
    if warp:
        cells = rng.uniform(2, 4)
        u = u + warp * smooth(rng, size, cells)
        v = v + warp * smooth(rng, size, cells)
    if not centred:
        u, v = u + float(rng.uniform(2, 9)), v + float(rng.uniform(2, 9))
    return u, v


def rotation_limit(rng: Generator) -> float:
    """Largest rotation in radians: 0.12 in 60 % of the pictures, else any."""
    return 0.12 if rng.random() < 0.6 else math.pi


@dataclass(frozen=True)
class BaseMaterial:
    """A material to print on: coordinates, relief and brightness factor (S, S), and gloss."""

    u: Array
    v: Array
    height: Array
    tone: Array
    gloss: float

    def print_colour(self, colour: Array) -> Surface:
        """The surface with a print (S, S, 3) on it."""
        return Surface(colour * self.tone[..., None], self.height, self.gloss)


def base_material(rng: Generator, size: int, *kinds: str, turn: float = math.pi, tilt: float = 0.45) -> BaseMaterial:
    """A sheet of cloth, paper, wall, plastic or wood with its own relief and grain."""
    kind = kinds[int(rng.integers(len(kinds)))]
    u, v = plane_coordinates(rng, size, tilt=tilt, turn=turn)
    if kind == "cloth":
        angle, strength = rng.uniform(0, math.pi), rng.uniform(0.5, 5)
        folds = streaks(rng, size, rng.uniform(2, 4), rng.uniform(0.7, 1.5), angle, 3.5)
        weave = 0.05 * grain(rng, size)
        u, v = u + folds * (0.0025 * strength), v - folds * (0.002 * strength)
        return BaseMaterial(u, v, folds * strength + 3 * weave, 1 + weave, 0.03)
    if kind == "plastic":
        bulge = rng.uniform(2, 9) * smooth(rng, size, 2.0)
        return BaseMaterial(u, v, bulge, np.ones_like(u), rng.uniform(0.25, 0.7))
    if kind == "wood":
        rings = streaks(rng, size, 30, 1.2, 0.0)
        return BaseMaterial(u, v, 0.25 * rings, 1 + 0.09 * rings, 0.15)
    rough = fractal(rng, size, 12, 2.3)
    if kind == "wall":
        worn = 1 + 0.06 * rough + 0.06 * smooth(rng, size, 4)
        return BaseMaterial(u, v, rng.uniform(0.2, 0.9) * rough, worn, 0.05)
    bend = rng.uniform(0, 5) * smooth(rng, size, 1.5)
    return BaseMaterial(u + 0.004 * bend, v, bend + 0.1 * rough, 1 + 0.02 * rough, 0.04)


def blurred_background(rng: Generator, size: int, colours: Array) -> Array:
    """(S, S, 3): an out-of-focus background in the given colours (N, 3)."""
    position = 0.5 + 0.22 * smooth(rng, size, rng.uniform(1.5, 4))
    table = np.array([np.interp(np.linspace(0, 1, 64), np.linspace(0, 1, len(colours)), c) for c in colours.T]).T
    return lookup(table.astype(np.float32), np.clip(position, 0, 0.99))


def band_table(rng: Generator, colours: Array, widths: Array, soft: int = 5) -> Array:
    """A periodic table (2048, 3) of bands: colour i has relative width i; edges softened."""
    ends = np.cumsum(widths) / np.sum(widths)
    table = colours[np.searchsorted(ends, (np.arange(2048) + 0.5) / 2048) % len(colours)]
    around = np.concatenate([table[-soft:], table, table[:soft]])
    sums = np.cumsum(np.concatenate([np.zeros((1, 3)), around]), axis=0)
    wide = 2 * soft + 1
    return ((sums[wide:] - sums[:-wide]) / wide).astype(np.float32)
