"""Viewpoint, perspective and waviness of a pattern, and the material it is printed on."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from tools.textures.colours import material
from tools.textures.noise import Array, fractal, grain, lookup, rotate, smooth, streaks
from tools.textures.rendering import Surface


def plane_coordinates(
    rng: Generator, size: int, *, tilt: float = 0.5, turn: float = math.pi, warp: float = 0.0, centred: bool = False
) -> tuple[Array, Array]:
    """Coordinates u, v (S, S) on a plane seen from a random viewpoint, in widths of the picture. ``tilt``: strongest
    foreshortening, 0 to 0.9. ``turn``: largest rotation, radians. ``warp``: size of a soft distortion, widths. ``centred``:
    keep (0, 0) in the middle."""
    axis = (np.arange(size, dtype=np.float32) + 0.5) / size - 0.5
    depth = 1 + rng.uniform(-tilt, tilt) * axis[None] + rng.uniform(-tilt, tilt) * axis[:, None]
    u, v = rotate(axis[None] / depth, axis[:, None] / depth, rng.uniform(-turn, turn))
    if warp:
        cells = rng.uniform(2, 4)
        u, v = u + warp * smooth(rng, size, cells), v + warp * smooth(rng, size, cells)
    return (u, v) if centred else (u + rng.uniform(2, 9), v + rng.uniform(2, 9))


def cell_coordinates(rng: Generator, size: int, fewest: float, most: float, **view: Any) -> tuple[Array, Array, float]:
    """Coordinates as :func:`plane_coordinates`, in cells, and the number of cells per width, ``fewest`` to ``most``."""
    u, v = plane_coordinates(rng, size, **view)
    count = rng.uniform(fewest, most)
    return u * count, v * count, count


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
        return BaseMaterial(u, v, rng.uniform(2, 9) * smooth(rng, size, 2.0), np.ones_like(u), rng.uniform(0.25, 0.7))
    if kind == "wood":
        rings = streaks(rng, size, 30, 1.2, 0.0)
        return BaseMaterial(u, v, 0.25 * rings, 1 + 0.09 * rings, 0.15)
    rough = fractal(rng, size, 12, 2.3)
    if kind == "wall":
        worn = 1 + 0.06 * rough + 0.06 * smooth(rng, size, 4)
        return BaseMaterial(u, v, rng.uniform(0.2, 0.9) * rough, worn, 0.05)
    bend = rng.uniform(0, 5) * smooth(rng, size, 1.5)
    return BaseMaterial(u + 0.004 * bend, v, bend + 0.1 * rough, 1 + 0.02 * rough, 0.04)


def blurred_background(rng: Generator, size: int, count: int, *materials: str) -> Array:
    """(S, S, 3): an out-of-focus background of ``count`` colours of the named materials."""
    colours = np.array([material(rng, *materials) for _ in range(count)])
    position = 0.5 + 0.22 * smooth(rng, size, rng.uniform(1.5, 4))
    table = np.array([np.interp(np.linspace(0, 1, 64), np.linspace(0, 1, count), part) for part in colours.T]).T
    return lookup(table.astype(np.float32), np.clip(position, 0, 0.99))
