"""Drawings of cracked, worn, creased and furry surfaces. Each is ``(rng, size) -> Surface``."""

import math

import numpy as np
from numpy.random import Generator

from tools.textures.colours import apply_tone, dye_colours, material, mix, rgb
from tools.textures.noise import Array, fractal, grain, ripples, rotate, smooth, step, streaks, voronoi
from tools.textures.rendering import Surface
from tools.textures.viewpoint import blurred_background, plane_coordinates


def cracked(rng: Generator, size: int) -> Surface:
    """Dried mud, old paint, glaze or asphalt with dark crooked gaps; sometimes broken glass."""
    if rng.random() < 0.1:  # glass: sharp bright lines from one point, joined by crooked rings
        far = blurred_background(rng, size, 3, "dark", "sky", "stone", "leaf") * 0.7
        u, v = plane_coordinates(rng, size, tilt=0.4, centred=True)
        u, v = u + rng.normal(0, 0.15), v + rng.normal(0, 0.15)
        reach, rays = np.hypot(u, v) + 1e-3, int(rng.integers(9, 20))
        sector = np.arctan2(v, u) * (rays / (2 * math.pi)) + 64
        sector = sector + 0.35 * np.sin(sector * 2.1)
        whole = np.floor(sector)
        within = sector - whole
        ray = np.minimum(within, 1 - within) * reach * (2 * math.pi / rays)
        jump, here = rng.uniform(0, 1, (2, 128)).astype("f4"), whole.astype(int) % 128
        turn = (
            np.log(reach) * rng.uniform(1.2, 2) + jump[0].take(here) * 2 + (within - 0.5) * (jump[1].take(here) - 0.5)
        )
        ring = np.abs(turn - np.round(turn)) * reach * 0.5
        shard = rng.uniform(0.8, 1.25, 4096).astype("f4")
        tone = shard.take((here * 31 + np.round(turn).astype(int) * 7) % 4096)
        line = np.maximum(1 - step(ray - 0.0015, 0.007), 0.8 * (1 - step(ring - 0.001, 0.007)))
        line = np.maximum(line, np.exp(-((reach / 0.045) ** 2)))
        return Surface(mix(apply_tone(far, tone), rgb(0.92, 0.95, 0.97), line * 0.85))
    u, v = plane_coordinates(rng, size, tilt=0.55)
    u = u + 0.02 * fractal(rng, size, 5, 2.9)
    count = rng.uniform(2.5, 6.5)
    v = v + 0.02 * fractal(rng, size, 6, 2.9)
    plates = voronoi(rng, u * count, v * count * rng.uniform(0.7, 1.3), 1.0)
    gap = (plates.second - plates.first) * (1 / count)
    wide = rng.uniform(0.006, 0.03) * (1 + 0.4 * smooth(rng, size, 3))
    crack = 1 - step(gap - wide, 0.012)
    parts = voronoi(rng, u * count * 2.6, v * count * 2.6, 1.0)
    hair = (parts.second - parts.first) * (1 / (count * 2.6))
    fine = (1 - step(hair - wide * 0.18, 0.008)) * (plates.pick(rng) < 0.7) * rng.uniform(0.3, 1)
    base = material(rng, "earth", "earth", "stone", "paper", "cloth", "wood")
    rough = fractal(rng, size, 30, 2.0)
    tone = plates.pick(rng, 0.85, 1.1) * (1 + 0.05 * rough)
    below = base * 0.18 if rng.random() < 0.75 else material(rng, "stone", "wood", "earth") * 0.6
    colour = mix(apply_tone(base, tone), below, np.maximum(crack, fine * 0.7))
    curl = np.exp(-np.maximum(gap - wide, 0) * 30) * rng.uniform(0, 5)
    height = (1 - crack) * (5 + curl) - 1.5 * fine + rng.uniform(0.1, 0.5) * rough
    return Surface(colour, height, rng.uniform(0, 0.15), occlusion=0.8)


def striped(rng: Generator, size: int) -> Surface:
    """The forking, tapering stripes of a zebra or a tiger on short fur."""
    angle, count = rng.uniform(0, math.pi), rng.uniform(5, 15)
    field = ripples(rng, size, count, angle, rng.uniform(0.3, 0.7), width=0.22)
    hairs = streaks(rng, size, 90, 22, angle + rng.normal(0, 0.4))
    light, dark = rgb(0.93, 0.9, 0.84), rgb(0.08, 0.07, 0.07)
    kind, balance = rng.random(), rng.normal(0, 0.15)
    if kind < 0.35:  # tiger, or tabby
        furs = (rgb(0.85, 0.55, 0.22), rgb(0.72, 0.6, 0.45), rgb(0.8, 0.62, 0.3))
        light, balance = furs[int(rng.integers(3))], 0.45
    elif kind < 0.43:
        light, dark = dye_colours(rng, 2)
    ink = step(field + 0.12 * hairs - balance, rng.uniform(0.25, 0.5))
    colour = apply_tone(mix(light, dark, ink), 1 + 0.12 * smooth(rng, size, 2) + 0.06 * hairs)
    return Surface(colour, rng.uniform(3, 14) * smooth(rng, size, 1.5) + 0.35 * hairs, 0.03)


def potholed(rng: Generator, size: int) -> Surface:
    """A road: grey broken asphalt, a ragged hole with gravel, mud or standing water."""
    axis = (np.arange(size, dtype=np.float32) + 0.5) / size - 0.5
    depth = 1 / (1.15 + axis[:, None] * rng.uniform(0.5, 1.2))
    x, y = axis[None] * depth, (axis[:, None] + 0.5) * depth * 1.4
    ragged, grit = fractal(rng, size, 5, 2.8), grain(rng, size)
    stones = fractal(rng, size, 45, 1.8)
    road = material(rng, "earth") if rng.random() < 0.3 else material(rng, "stone") * rng.uniform(0.55, 1.0)
    inside = np.full((size, size), -9, np.float32)
    for k in range(int(rng.integers(1, 4))):
        smallest, largest, spread = (0.06, 0.16, 0.45) if k else (0.2, 0.34, 0.12)
        radius = rng.uniform(smallest, largest)
        dx = x - rng.normal(0, spread)
        dy = (y - float(y.mean()) - rng.normal(0, spread)) * rng.uniform(1.1, 1.7)
        inside = np.maximum(inside, radius - np.hypot(dx, dy) + 0.16 * radius * ragged)
    hole = step(inside, 0.02)
    floor = apply_tone(material(rng, "earth", "stone") * 0.65, 0.9 + 0.16 * stones)
    colour = mix(apply_tone(road, 1 + 0.09 * stones + 0.06 * grit + 0.05 * ragged), floor, hole)
    colour = apply_tone(colour, 1 - 0.3 * np.exp(-np.abs(inside) * 40))
    cracks = np.exp(-np.abs(fractal(rng, size, 4, 2.3)) * 22) * np.exp(-np.abs(inside) * 5)
    colour = apply_tone(colour, 1 - 0.5 * cracks * (1 - hole))
    bowl = np.clip(inside / 0.14, 0, 1)
    height = -15 * np.sqrt(bowl) + stones * (0.7 + 1.2 * bowl) - 2 * cracks
    gloss: float | Array = 0.02
    if rng.random() < 0.45:  # rain water reflects the sky
        water = step(inside - rng.uniform(0.02, 0.06), 0.02)
        colour = mix(colour, blurred_background(rng, size, 3, "sky", "earth") * rng.uniform(0.5, 0.9), water * 0.85)
        height, gloss = height * (1 - water) - 6 * water, 0.02 + 0.25 * water
    return Surface(colour, height, gloss, occlusion=0.6)


def wrinkled(rng: Generator, size: int) -> Surface:
    """Old skin, crumpled paper or unironed cloth."""
    kind = rng.random()
    u, v = plane_coordinates(rng, size, tilt=0.3, warp=0.03)
    if kind < 0.35:  # sheets of flat pieces at angles to each other, with sharp creases between
        height = np.zeros_like(u)
        for count, tall in ((rng.uniform(2, 3.5), 20), (rng.uniform(4.5, 7), 9), (11.0, 3.5)):
            cells = voronoi(rng, *rotate(u, v, rng.uniform(0, 3), count), 1.0)
            # continuous, with creases where two points are equally near
            facets = (cells.second - cells.first) + 0.6 * np.abs(cells.first - 0.45) * cells.pick(rng, -1, 1)
            height += facets * (tall / math.sqrt(count))
        base = material(rng, "paper", "paper", "earth", "metal", "cloth")
        fibres = fractal(rng, size, 40, 1.9)
        return Surface(apply_tone(base, 1 + 0.02 * fibres), height + 0.1 * fibres, 0.08, occlusion=0.5)
    if kind < 0.7:  # skin: deep bent furrows in one direction, and small plump patches between crossing lines
        angle = rng.uniform(0, math.pi)
        furrow = np.sqrt(np.abs(ripples(rng, size, rng.uniform(4, 8), angle, rng.uniform(0.4, 0.9), 0.35)) + 0.02)
        count, height = rng.uniform(7, 12), 6 * furrow
        for k, stretch in enumerate((1.7, 1.3)):
            many = count * 1.9**k
            patch = voronoi(rng, u * many, v * many / stretch, 1.0)
            height += np.sqrt(np.minimum(patch.second - patch.first, 0.5)) * (38 / many)
        base = material(rng, "skin", "skin", "stone", "leather", "skin", "fruit")
        colour = mix(base, base * rgb(0.72, 0.5, 0.42), np.clip(1.0 - 0.75 * furrow, 0, 0.6))
        spots = 1 + 0.06 * smooth(rng, size, 9) + 0.03 * grain(rng, size)
        return Surface(apply_tone(colour, spots), height, 0.12, occlusion=0.7)
    angle, height = rng.uniform(0, math.pi), np.zeros_like(u)
    for k, tall in enumerate((10, 6, 4, 2)):
        scale = rng.uniform(1.4, 2.2) * 1.8**k
        crease = streaks(rng, size, scale, scale * 0.45, angle + rng.normal(0, 0.7), 3.4)
        height += np.sqrt(crease * crease + 0.02) * (-1 if k % 2 else 1) * tall
    threads = grain(rng, size) * 0.04
    colour = apply_tone(material(rng, "cloth", "paper", "wool", "sky"), 1 + threads)
    return Surface(colour, 0.6 * height + threads, 0.03, occlusion=0.4)
