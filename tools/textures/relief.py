"""Drawings of knobs, hollows and cells. Each is ``(rng, size) -> Surface``."""

import math

import numpy as np
from numpy.random import Generator

from tools.textures.colours import apply_tone, material, mix, rgb
from tools.textures.noise import Array, cell_key, dome, fractal, rotate, scatter, smooth, step, voronoi
from tools.textures.rendering import Surface
from tools.textures.viewpoint import blurred_background, cell_coordinates, plane_coordinates


def bubbly(rng: Generator, size: int) -> Surface:
    """Foam, soap bubbles or gas in a drink: thin rims and points of light."""
    u, v = plane_coordinates(rng, size, tilt=0.4, turn=0.3, warp=0.02)
    if rng.random() < 0.35:  # foam: crowded round cells of two sizes, each with a shining dome
        base = material(rng, "paper", "brass", "sky", "icing", "leaf", "stone")
        count = rng.uniform(4, 9)
        large, tiny = (voronoi(rng, u * count, v * count, 0.95), voronoi(rng, u * count * 3, v * count * 3))
        in_large = large.pick(rng) < rng.uniform(0.45, 0.95)
        x, y = np.where(in_large, large.dx, tiny.dx), np.where(in_large, large.dy, tiny.dy)
        wall = np.where(in_large, large.second - large.first, (tiny.second - tiny.first) * 0.6)
        glint = np.exp(-((x + 0.16) ** 2 + (y + 0.2) ** 2) * 130)
        tone = 0.6 + 0.35 * y + 0.5 * np.exp(-wall * 9) * (1 - y)
        colour = mix(apply_tone(base, np.clip(tone, 0.2, 1.3)), rgb(1, 1, 1), np.clip(glint, 0, 1))
        return Surface(colour, np.sqrt(np.minimum(wall, 0.6)) * (60 / count), 0.5, occlusion=0.5, ambient=0.6)
    names = (("dark", "sky"), ("brass", "autumn"), ("dark", "leaf"), ("sky", "gem"), ("gem", "dark"))
    colour = blurred_background(rng, size, 3, *names[int(rng.integers(len(names)))])
    film, count = np.clip(material(rng, "paper") * 1.05, 0, 1), rng.uniform(2, 6)
    for k in (2, 1, 0):
        scale, move = count * (1.8**k), rng.uniform(0, 40)
        cells = scatter(rng, u * scale + 0.5 * v * scale + move, v * scale - 0.5 * u * scale, 0.3)
        radius = cells.pick(rng, 0.12, 0.35)
        x = (cells.dx - 0.5 * cells.dy) / (1.12 * radius)
        y, reach = (cells.dy + 0.5 * cells.dx) / (1.12 * radius), cells.first / radius
        shown = (1 - step(reach - 1, min(7 * scale / size, 0.6))) * (cells.pick(rng) < (0.75 if k else 0.55))
        rim = np.clip(reach, 0, 1) ** 5
        glint = np.exp(-((x + 0.4) ** 2 + (y + 0.45) ** 2) * 30)
        glint = glint + 0.6 * np.exp(-((x - 0.4) ** 2 + (y - 0.5) ** 2) * 14)
        inner = apply_tone(colour, 0.85 + np.clip(0.3 * y, -0.25, 0.35))
        light = np.clip(rim * (0.45 - 0.3 * y - 0.1 * x) + glint, 0, 1)
        hue = np.stack([np.sin(4 * y + p + 2 * x) for p in (0, 2, 4)], -1).astype("f4")
        bubble = mix(inner, film, light) + rng.uniform(0, 0.15) * hue * rim[..., None]
        colour = mix(colour, np.clip(bubble, 0, 1), np.clip(shown, 0, 1))
    return Surface(colour)


def bumpy(rng: Generator, size: int) -> Surface:
    """Rounded knobs and warts, crowded or apart, on skin, plastic, plaster or fruit."""
    u, v, count = cell_coordinates(rng, size, 6, 16, tilt=0.4, warp=0.03)
    regular = rng.random() < 0.25
    cells, crowd = voronoi(rng, u, v, 0.15 if regular else 0.85), rng.uniform(0.35, 0.62)
    radius = crowd if regular else cells.pick(rng, crowd * 0.6, crowd * 1.2)
    setting = dome((cells.first / radius) ** 2)
    setting = setting * setting * (3 - 2 * setting) if rng.random() < 0.5 else setting
    base = material(rng, "fruit", "fruit", "skin", "cloth", "stone", "sky", "leather")
    rough = fractal(rng, size, 25, 2.2)
    tone = 1 + 0.05 * rough + 0.05 * smooth(rng, size, 4)
    tip = np.clip(base * rng.uniform(0.8, 1.5) + rng.uniform(-0.1, 0.1), 0, 1).astype("f4")
    colour = apply_tone(mix(base, tip, setting * 0.7), tone)
    tall = 224 / count * crowd * rng.uniform(0.5, 0.9)
    height = tall * setting * (1 if regular else cells.pick(rng, 0.6, 1)) + 0.1 * rough
    return Surface(colour, height + 9 * smooth(rng, size, 1.5), rng.uniform(0.02, 0.6), occlusion=0.7)


def pitted(rng: Generator, size: int) -> Surface:
    """Shallow uneven dents, far apart and of many sizes, in stone, metal or old bone."""
    u, v = plane_coordinates(rng, size, tilt=0.4, warp=0.01)
    ragged = fractal(rng, size, 22, 2.3)
    hollow = np.zeros_like(ragged)
    for count in (rng.uniform(5, 8), rng.uniform(10, 15), rng.uniform(22, 30)):
        pits = scatter(rng, *rotate(u, v, rng.uniform(0, 3), count), 0.55)
        radius = pits.pick(rng, -0.05, 0.3) + 0.035 * ragged
        pit = dome((pits.first / np.maximum(radius, 0.02)) ** 2)
        hollow = np.maximum(hollow, pit * np.maximum(radius, 0) * (170 / count))
    base = material(rng, "stone", "metal", "earth", "paper", "stone")
    colour = mix(base, base * rgb(0.5, 0.42, 0.36), np.clip(hollow * 0.12, 0, 1))
    colour = apply_tone(colour, 1 + 0.06 * ragged)
    height = -0.8 * hollow + 0.5 * ragged + 6 * smooth(rng, size, 2)
    return Surface(colour, height, rng.uniform(0.02, 0.3), occlusion=0.9)


def porous(rng: Generator, size: int) -> Surface:
    """Sponge, bread, pumice or coral: open dark holes of all sizes with thin walls between."""
    u, v = plane_coordinates(rng, size, tilt=0.3, warp=0.03)
    count, ragged = rng.uniform(7, 13), fractal(rng, size, 18, 2.3)
    wide = voronoi(rng, u * count, v * count, 0.95)
    big = 0.42 * wide.pick(rng, 0.4, 1.05) + 0.05 * ragged - wide.first
    fine = scatter(rng, u * count * 2.7, (v + u) * count * 2.3, 0.5)
    small = (0.34 * fine.pick(rng, 0.3, 1) + 0.04 * ragged - fine.first) / 2.5
    tiny = (fractal(rng, size, 45, 3.3) - 1.3) * 0.04
    depth = np.clip(np.maximum(np.maximum(big, small), tiny) * 7, 0, 1)
    base = material(rng, "baked", "paper", "stone", "earth", "cloth", "stone")
    colour = apply_tone(mix(base, base * rgb(0.42, 0.34, 0.28), depth * 0.9), 1 + 0.05 * ragged)
    height = -rng.uniform(7, 12) * np.sqrt(depth) * (9 / count) + 0.4 * ragged
    return Surface(colour, height + 5 * smooth(rng, size, 2), 0.02, occlusion=0.9)


def honeycombed(rng: Generator, size: int) -> Surface:
    """Six-sided cells with thin walls: wax, honey, aluminium, paper."""
    x, y, count = cell_coordinates(rng, size, 5, 12, tilt=0.55, warp=rng.uniform(0, 0.012))
    to_wall, key_u, key_v = _hexagon(x, y)
    floor_wall, _, _ = _hexagon(x + rng.normal(0, 0.13), y + rng.normal(0, 0.13))
    thick = rng.uniform(0.035, 0.09)
    wall = 1 - step(to_wall - thick, 2.5 * count / size)
    wax = rng.random() < 0.65
    base = material(rng, "brass", "baked") if wax else material(rng, "metal", "paper", "cloth")
    chance = scatter(rng, key_u + 0.5, key_v + 0.5, 0)
    filled = (chance.pick(rng) < rng.uniform(0, 0.6)) & wax
    side = np.clip(0.22 + 0.75 * (1 - floor_wall / 0.3), 0.16, 0.8)
    cell = apply_tone(base * rgb(1.0, 0.85 if wax else 1, 0.6 if wax else 1), side)
    honey = apply_tone(rgb(0.75, 0.42, 0.06) * rng.uniform(0.7, 1.2), chance.pick(rng, 0.7, 1.2))
    cell = mix(cell, honey, 0.85 * filled.astype("f4"))
    rough = fractal(rng, size, 25, 2.1)
    colour = mix(cell, apply_tone(base, 1.08 + 0.08 * rough), wall)
    dent = (7 - 4.5 * filled.astype("f4")) * step(to_wall - thick, 0.12)
    return Surface(colour, -dent + 0.3 * rough, np.where(filled, 0.7, 0.1).astype("f4"), occlusion=0.4)


def _hexagon(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Distance to the wall of the hexagonal cell (0 to 0.5) and two integers that identify it."""
    tall = math.sqrt(3)
    ax, ay = np.round(x), np.round(y / tall) * tall
    bx, by = np.floor(x) + 0.5, (np.floor(y / tall) + 0.5) * tall
    first = (x - ax) ** 2 + (y - ay) ** 2 < (x - bx) ** 2 + (y - by) ** 2
    cx, cy = np.where(first, ax, bx), np.where(first, ay, by)
    px, py = np.abs(x - cx), np.abs(y - cy)
    return 0.5 - np.maximum(px, 0.5 * px + 0.5 * tall * py), np.round(cx * 2), np.round(cy * 2 / tall)


def scaly(rng: Generator, size: int) -> Surface:
    """Rows of overlapping scales: fish, snake, dragon, cone or roof."""
    u, v, count = cell_coordinates(rng, size, 6, 14, tilt=0.5, turn=math.pi, warp=0.03)
    v = v * rng.uniform(1.2, 2.0)
    pointed = rng.uniform(0, 0.9) if rng.random() < 0.6 else 0.0
    height, depth, key = np.zeros_like(u), np.full_like(u, -1), np.zeros(u.shape, np.int32)
    for back in (0, 1):  # the tips of the row above lie over the row that starts here
        row = np.floor(v) - back
        shifted = u + 0.5 * (row % 2)
        column = np.floor(shifted)
        x, y = shifted - column - 0.5, v - row
        half = np.sqrt(np.maximum(1 - np.maximum(y / 1.9, 0) ** 2, 0)) * (0.62 - 0.1 * pointed * y)
        inside = (np.abs(x) < half) & (y < 1.9)
        height = np.where(inside, (1 - (x / np.maximum(half, 0.05)) ** 2) * 0.5 + 0.32 * y, height)
        depth = np.where(inside, y, depth)
        key = np.where(inside, cell_key(column.astype(np.int32), row.astype(np.int32)), key)
    base = material(rng, "fruit", "leaf", "metal", "earth", "stone", "autumn", "gem", "cloth")
    each = rng.uniform(0.72, 1.2, 4096).astype("f4").take(key)
    patches = np.clip(0.5 + 0.7 * smooth(rng, size, 4), 0, 1)
    colour = apply_tone(mix(base, material(rng, "dark", "earth", "paper"), patches * 0.45), each)
    colour = apply_tone(colour, 0.62 + 0.25 * np.clip(depth, 0, 1.6))
    height = height * (90 / count) + 16 * smooth(rng, size, 1.5) + 0.2 * fractal(rng, size, 40, 2.0)
    return Surface(colour, height, rng.uniform(0.1, 0.9), 0.8)


def crystalline(rng: Generator, size: int) -> Surface:
    """Flat facets meeting in sharp edges: quartz, amethyst, ice, sugar."""
    u, v = plane_coordinates(rng, size, tilt=0.4)
    count, stretch = rng.uniform(3.5, 9), rng.uniform(1, 2.4)
    big = voronoi(rng, u * count, v * count / stretch, 1.0)
    small = voronoi(rng, (u + 0.2 * v) * count * 2.1, v * count * 2.1 / stretch, 1.0)
    tilt_x, tilt_y = rng.normal(0, 1, (2, 4096)).astype("f4")
    plane = big.of(tilt_x) * big.dx + big.of(tilt_y) * big.dy
    ridge = np.abs(big.dx * big.of(tilt_y) - big.dy * big.of(tilt_x)) * 0.9
    minor = small.of(tilt_y) * small.dx + small.of(tilt_x) * small.dy
    height = (plane - ridge) * (34 / count * 4) + minor * (11 / count * 4)
    facing = big.of(rng.normal(0, 1, 4096).astype("f4")) * 0.16
    split = np.sign(big.dx * big.of(tilt_y) - big.dy * big.of(tilt_x)) * 0.12
    facing = facing + split + small.of(rng.normal(0, 0.09, 4096).astype("f4"))
    base, veil = material(rng, "gem"), fractal(rng, size, 8, 2.4)
    edge = 1 - step(big.second - big.first - 0.05, 0.08)
    edge = np.maximum(edge, 0.5 * (1 - step(small.second - small.first - 0.04, 0.06)))
    colour = apply_tone(base, 0.72 + facing * 1.9 + 0.07 * veil)
    colour = mix(colour, np.clip(base * 0.4 + 0.66, 0, 1), edge * 0.45)
    colour = mix(np.clip(colour, 0, 1), rgb(0.98, 0.98, 1), np.clip(facing * 4 - 0.75, 0, 1) * 0.8)
    return Surface(colour, height, rng.uniform(0.5, 1.0), occlusion=0.5, ambient=0.4)
