"""Random fields and cell patterns for the drawings. All arrays are float32; frequencies are cycles per picture."""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image
from scipy import fft

Array = NDArray[np.floating[Any]]
_TABLE = 64  # cells repeat after this many in each direction


@lru_cache(maxsize=4)
def _frequencies(size: int) -> tuple[Array, Array, Array]:
    """fx, fy and their length, cycles per picture, each (S, S//2+1)."""
    fy, fx = np.meshgrid(fft.fftfreq(size, 1 / size), fft.rfftfreq(size, 1 / size), indexing="ij")
    return fx.astype("f4"), fy.astype("f4"), np.hypot(fx, fy).astype("f4")


def _realise(rng: Generator, size: int, gain: Array) -> Array:
    """A random field (S, S) of mean 0 and deviation 1 with the given amplitude spectrum."""
    white = rng.standard_normal((size, size // 2 + 1, 2), dtype=np.float32).view(np.complex64)
    spectrum = white[..., 0] * gain
    spectrum[0, 0] = 0
    field = np.asarray(fft.irfft2(spectrum, s=(size, size)), dtype=np.float32)
    return field * np.float32(1 / (float(field.std()) + 1e-9))


def fractal(rng: Generator, size: int, scale: float, slope: float = 2.7) -> Array:
    """Cloud-like noise: features of about 1/scale of the picture, finer ones weaker by f^-slope."""
    return _realise(rng, size, (1 + (_frequencies(size)[2] / scale) ** 2) ** (-slope / 2))


def grain(rng: Generator, size: int) -> Array:
    """White noise, deviation 1."""
    return rng.standard_normal((size, size), dtype=np.float32)


def ripples(rng: Generator, size: int, frequency: float, angle: float, spread: float, width: float = 0.2) -> Array:
    """Wavy stripes that fork: noise around one frequency and one direction (radians)."""
    fx, fy, length = _frequencies(size)
    along, across = rotate(fx, fy, angle)
    radial = (length - frequency) / (width * frequency)
    direction = across / (np.abs(along) + 1e-6)
    return _realise(rng, size, np.exp(-(radial**2) - np.minimum(direction / spread, 9) ** 2))


def streaks(rng: Generator, size: int, across: float, along: float, angle: float, slope: float = 2.0) -> Array:
    """Strands: fine (frequency ``across``) in one direction, long (``along``) in the other."""
    fx, fy, _ = _frequencies(size)
    a, b = rotate(fx, fy, angle)
    a, b = a / across, b / along
    return _realise(rng, size, (1 + a * a + b * b) ** (-slope / 2))


def smooth(rng: Generator, size: int, cells: float) -> Array:
    """Very soft noise of about ``cells`` bumps per picture, deviation about 0.7; cheap."""
    count = math.ceil(cells) + 3
    coarse = Image.fromarray(rng.standard_normal((count, count), dtype=np.float32))
    return np.asarray(coarse.resize((size, size), Image.Resampling.BICUBIC, box=(1.0, 1.0, 1.0 + cells, 1.0 + cells)))


def noise_1d(rng: Generator, position: Array, roughness: float = 1.0) -> Array:
    """1-D noise of period 1 at any positions (S, S), about [-1, 1]: parallel lines."""
    table = rng.uniform(-1, 1, 512).astype(np.float32)
    soft = max(int(5 * (1 - roughness)), 0) * 2 + 1
    table = np.convolve(np.tile(table, 3), np.full(soft, 1 / math.sqrt(soft), np.float32), "same")[512:1024]
    place = position * np.float32(512)
    below = np.floor(place)
    index, rise = below.astype(np.int32) & 511, np.roll(table, -1) - table
    return table.take(index) + rise.take(index) * (place - below)


def lookup(table: NDArray, position: Array) -> NDArray:
    """Rows of a table (L, ...) at positions of period 1."""
    return table.take((position * len(table)).astype(np.int32) % len(table), axis=0)


def rotate(u: Array, v: Array, angle: float, scale: float = 1.0) -> tuple[Array, Array]:
    """Coordinates rotated by an angle in radians, and times a scale."""
    cos, sin = math.cos(angle) * scale, math.sin(angle) * scale
    return u * cos + v * sin, v * cos - u * sin


def wave(x: Array) -> Array:
    """Triangle wave of period 1: 0 at whole numbers, 1 halfway."""
    return 1 - np.abs(2 * (x - np.floor(x)) - 1)


def step(x: Array, soft: float) -> Array:
    """0 below -soft/2, 1 above soft/2, a straight ramp between: an antialiased edge."""
    return np.clip(x * (1 / soft) + 0.5, 0, 1)


def dome(squared: Array) -> Array:
    """Height of a half sphere of radius 1 over squared distance from its centre; 0 outside."""
    return np.sqrt(np.maximum(1 - squared, 0))


@dataclass(frozen=True)
class Cells:
    """Offset to the cell's point, distances to the nearest two points (in cells), and the cell's key; all (S, S)."""

    dx: Array
    dy: Array
    first: Array
    second: Array
    key: NDArray[np.int32]

    def of(self, values: NDArray) -> NDArray:
        """Per-cell values (4096, ...) at every pixel."""
        return values.take(self.key, axis=0)

    def pick(self, rng: Generator, low: float = 0.0, high: float = 1.0) -> Array:
        """One uniform random number per cell, at every pixel."""
        return self.of(rng.uniform(low, high, _TABLE**2).astype(np.float32))

    def rotated(self, rng: Generator) -> tuple[Array, Array]:
        """dx, dy, each cell turned by its own random angle."""
        angles = rng.uniform(0, 2 * math.pi, _TABLE**2)
        cos, sin = self.of(np.cos(angles).astype("f4")), self.of(np.sin(angles).astype("f4"))
        return self.dx * cos + self.dy * sin, self.dy * cos - self.dx * sin


def cell_key(column: NDArray[np.int32], row: NDArray[np.int32]) -> NDArray[np.int32]:
    """The number of a unit square, 0 to 4095."""
    return ((row & 63) << 6) | (column & 63)


def scatter(rng: Generator, u: Array, v: Array, jitter: float = 0.4) -> Cells:
    """One point per unit square, at most jitter/2 from its middle. The cell of a pixel is its square; ``second`` is zero.
    Shapes of radius up to 0.5 - jitter/2 stay inside their square."""
    left, top = np.floor(u), np.floor(v)
    key = cell_key(left.astype(np.int32), top.astype(np.int32))
    shift = rng.uniform(0.5 - jitter / 2, 0.5 + jitter / 2, (2, _TABLE**2)).astype(np.float32)
    dx, dy = u - left - shift[0].take(key), v - top - shift[1].take(key)
    return Cells(dx, dy, np.sqrt(dx * dx + dy * dy), np.zeros_like(dx), key)


def random_grid(rng: Generator, u: Array, v: Array, count: float, jitter: float) -> Cells:
    """Scattered points, about ``count`` per width, on a randomly rotated and shifted grid."""
    u, v = rotate(u, v, rng.uniform(0, math.pi), count)
    move = rng.uniform(0, 40)
    return scatter(rng, u + move, v + move, jitter)


def voronoi(rng: Generator, u: Array, v: Array, jitter: float = 0.9) -> Cells:
    """Cells around jittered points (Worley 1996): nearest of the 3 x 3 neighbouring squares."""
    left, top = np.floor(u), np.floor(v)
    fu, fv = u - left, v - top
    column, row = left.astype(np.int32), top.astype(np.int32)
    shift = rng.uniform(0.5 - jitter / 2, 0.5 + jitter / 2, (2, _TABLE**2)).astype(np.float32)
    first = np.full_like(u, 9)
    second, dx, dy = first.copy(), first.copy(), first.copy()
    key = np.zeros(u.shape, np.int32)
    for j, i in product((-1, 0, 1), repeat=2):
        here = cell_key(column + i, row + j)
        x, y = fu - shift[0].take(here) - i, fv - shift[1].take(here) - j
        d = x * x + y * y
        nearer = d < first
        np.minimum(second, np.maximum(d, first), out=second)
        np.minimum(first, d, out=first)
        for kept, value in ((dx, x), (dy, y), (key, here)):
            np.copyto(kept, value, where=nearer)
    return Cells(dx, dy, np.sqrt(first), np.sqrt(second), key)
