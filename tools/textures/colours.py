"""Colours of materials and dyes."""

import colorsys

import numpy as np
from numpy.random import Generator

from tools.textures.noise import Array

_MATERIALS: dict[str, str] = {
    "skin": "f1c9a5 e6b98f d9a066 ffdbc0 b97a4e 8d5524 f3d2bf",
    "stone": "8c8880 a39e93 6e6a66 b8b2a6 5a5652 c9c1b1 7d7468 9a8f85",
    "wood": "6b4423 8b5a2b a0703c c69c6d d8b487 4a2f1b 9c7a54",
    "metal": "b8bcc2 8f949a d0d3d6 6f7479 a8a394 7c848c",
    "brass": "c9a24c b08d3a d9bd73 a8763a",
    "earth": "c9ad84 b08d5b d8c3a0 8e6b46 a9744f 6f5339 bfa58a",
    "leaf": "4a7c2a 6b9a3a 2f5a2a 8fae4b 3d6b35 7f9440",
    "autumn": "b5651d c98a2b 9c3b1b d9a441 7d4a22",
    "leather": "5a3420 7b4a2a 2b2320 8f2b22 1f2a44 3a3330 a8693a e2d6c4",
    "baked": "c98a3c d9a04e b8742c e0b268 a5642a",
    "paper": "f6f2e8 ede4cf fbfaf6 e4d8bd f1ead8 dcd6cc",
    "hair": "2a1c14 4a3020 7a5230 b08850 d8b878 8a3f1c 6b6560",
    "wool": "d9cfc0 8a8580 a8483c 3c5a7a 6f7f5a c89a4a e8e2d6 4a4650 b06a80 2f6f6a",
    "cloth": "f2ede4 c23b3b 2c4a8a 2f7a5a e0b040 7a4a8a e58aa0 4aa0b8 333338 d8c8b0 e07a3a 8aa86a",
    "icing": "f4b8c8 fbf4ea 6a3c22 f2e0a0 c8e4f0 4a2a18 f6d0dc e8a0b4",
    "gem": "8a5ab8 b890d8 5aa870 d8e4ec e8b8c0 4a90b8 a8d0e0 d0d4d8 6a4a90 c8a860 3aa890",
    "fruit": "6a9a3a c8c040 e08a2a 8ab050 4a7a3a a04a5a 7a6a9a",
    "dark": "0c0d12 15181a 101a14 1a1420 0a1020 20180f",
    "sky": "8ab4dc b8d0e8 d8e0e8 6a94c0 e8e8e8",
}


def rgb(red: float, green: float, blue: float) -> Array:
    """One colour (3,) float32, each part in [0, 1]."""
    return np.array([red, green, blue], np.float32)


def material(rng: Generator, *names: str) -> Array:
    """A random colour (3,) of one of the named materials, slightly varied."""
    codes = _MATERIALS[names[int(rng.integers(len(names)))]].split()
    colour = rgb(*(part / 255 for part in bytes.fromhex(codes[int(rng.integers(len(codes)))])))
    return np.clip(colour + (rng.normal(0, 0.025, 3) + rng.normal(0, 0.03)), 0.01, 1).astype(np.float32)


def shades(rng: Generator, base: Array, count: int, contrast: float = 0.3) -> Array:
    """(count, 3): darker to lighter variants of a colour with small changes of hue."""
    factors = np.linspace(1 - contrast, 1 + contrast, count)[:, None]
    return np.clip(base * factors + rng.normal(0, 0.02, (count, 3)), 0, 1).astype(np.float32)


def dye_colours(rng: Generator, count: int) -> Array:
    """(count, 3) matching colours; neighbours differ in brightness."""
    mood = rng.random()
    if mood < 0.2:  # light and dark of one material
        light, dark = material(rng, "paper"), material(rng, "dark", "leather", "cloth")
        rows = [light if i % 2 else dark * (1 + 0.15 * i) for i in range(count)]
    elif mood < 0.5:  # independent colours of cloth and wool
        rows = [material(rng, "cloth", "wool", "cloth", "paper") for _ in range(count)]
    else:
        rows = []  # hues at steady steps around the colour wheel, alternately light and dark
        pastel, hue, pace = mood > 0.85, rng.random(), float(rng.choice([0.04, 0.08, 0.33, 0.5, 0.21]))
        for i in range(count):
            strength = rng.uniform(0.15, 0.35) if pastel else rng.uniform(0.3, 0.78)
            value = rng.uniform(0.75, 1.0) if (i % 2 or pastel) else rng.uniform(0.25, 0.65)
            rows.append(rgb(*colorsys.hsv_to_rgb((hue + i * pace) % 1, strength, value)))
    colours = np.array(rows, np.float32)
    for i in range(1, count):
        if np.abs(colours[i] - colours[i - 1]).sum() < 0.45:
            bright = colours[i - 1].mean() > 0.5
            colours[i] = colours[i] * (0.35 if bright else 0.5) + (0 if bright else 0.5)
    return np.clip(colours, 0, 1)


def mix(a: Array, b: Array, share: Array) -> Array:
    """Colour a where ``share`` (S, S) is 0, b where it is 1; colours (3,) or (S, S, 3)."""
    return a + (b - a) * share[..., None]


def apply_tone(base: Array, tone: Array) -> Array:
    """A colour (3,) or (S, S, 3) times a brightness factor (S, S)."""
    return base * tone[..., None]


def band_table(rng: Generator, colours: Array, widths: Array, soft: int = 5) -> Array:
    """A periodic table (2048, 3) of bands: colour i has relative width i; edges softened."""
    ends = np.cumsum(widths) / np.sum(widths)
    table = colours[np.searchsorted(ends, (np.arange(2048) + 0.5) / 2048) % len(colours)]
    around = np.concatenate([table[-soft:], table, table[:soft]])
    sums, wide = np.cumsum(np.concatenate([np.zeros((1, 3)), around]), axis=0), 2 * soft + 1
    return ((sums[wide:] - sums[:-wide]) / wide).astype(np.float32)
