"""Drawings made of spots on a ground. Each is ``(rng, size) -> Surface``."""

import math

import numpy as np
from numpy.random import Generator

from tools.textures.colours import apply_tone, dye_colours, material, mix, rgb
from tools.textures.noise import Array, dome, fractal, grain, random_grid, scatter, smooth, step, streaks, wave
from tools.textures.rendering import Surface
from tools.textures.viewpoint import base_material, cell_coordinates, plane_coordinates, rotation_limit


def dotted(rng: Generator, size: int) -> Surface:
    """Round spots of several sizes and colours, loosely spread."""
    on = base_material(rng, size, "cloth", "paper", "plastic", "wall")
    colours = dye_colours(rng, int(rng.integers(2, 6)))
    colour, inks = np.broadcast_to(colours[0], (size, size, 3)), colours[1:]
    count, largest = rng.uniform(5, 15), rng.uniform(0.15, 0.26)
    for _ in range(int(rng.integers(1, 3))):
        spots = random_grid(rng, on.u, on.v, count, 0.5)
        radius = spots.pick(rng, largest * (0.35 if len(inks) > 1 else 0.7), largest)
        shown = spots.pick(rng) < rng.uniform(0.6, 1)
        dot = (1 - step(spots.first - radius, 1.8 * count / size)) * shown
        colour = mix(colour, spots.of(inks[rng.integers(0, len(inks), 4096)]), dot)
        count *= rng.uniform(1.1, 1.7)
    return on.print_colour(colour)


def polka_dotted(rng: Generator, size: int) -> Surface:
    """Equal discs in staggered rows on one plain colour."""
    on = base_material(rng, size, "cloth", "cloth", "cloth", "paper", "plastic")
    count = rng.uniform(3, 9)
    u, v = on.u * count, on.v * count * rng.uniform(0.9, 1.1)
    if rng.random() < 0.85:  # staggered
        u, v = u + v, v - u
        count *= 1.4
    dot = 1 - step(scatter(rng, u, v, 0.0).first - rng.uniform(0.2, 0.36), 1.8 * count / size)
    ground, ink = material(rng, "cloth", "leather", "wool"), material(rng, "paper")
    if rng.random() < 0.4:
        ground, ink = dye_colours(rng, 2)
    if np.abs(ground - ink).sum() < 0.5:
        ground = ground * 0.35
    return on.print_colour(mix(ground, ink, dot))


def flecked(rng: Generator, size: int) -> Surface:
    """Small irregular chips of other colours in stone, wool or paper."""
    kind = ("stone", "wool", "paper", "leaf", "cloth")[int(rng.integers(5))]
    u, v = plane_coordinates(rng, size, tilt=0.3, warp=0.01)
    rough, base = fractal(rng, size, 40, 1.9), material(rng, kind)
    colour = apply_tone(base, 1 + 0.07 * rough)
    for count in (rng.uniform(9, 14), rng.uniform(16, 24), rng.uniform(28, 40)):
        flecks = random_grid(rng, u, v, count, 0.6)
        x, y = flecks.rotated(rng)
        shape = np.abs(x) * flecks.pick(rng, 0.8, 2.2) + np.abs(y) * flecks.pick(rng, 0.8, 1.2)
        edge = flecks.pick(rng, 0.1, 0.34) + 0.05 * rough
        fleck = (1 - step(shape - edge, 2 * count / size)) * (flecks.pick(rng) < 0.75)
        inks = np.array([base * 0.25, base * 1.6 + 0.1, material(rng, "stone", "cloth", "dark")])
        colour = mix(colour, flecks.of(np.clip(inks, 0, 1).astype("f4")[rng.integers(0, 3, 4096)]), fleck * 0.9)
    height = (0.15 if kind == "stone" else 0.5) * rough + 3 * smooth(rng, size, 2)
    return Surface(colour, height, {"stone": 0.35, "leaf": 0.2}.get(kind, 0.03))


def freckled(rng: Generator, size: int) -> Surface:
    """Skin with soft brown spots of all sizes, denser here and there, over a rounded form."""
    u, v = plane_coordinates(rng, size, tilt=0.3, warp=0.02)
    base, flush = material(rng, "skin"), np.clip(smooth(rng, size, 3) * 0.3, 0, 0.5)
    colour = mix(apply_tone(base, 1 + 0.03 * fractal(rng, size, 50, 1.8)), base * rgb(0.95, 0.7, 0.66), flush)
    spot = base * rgb(0.68, 0.48, 0.36) * rng.uniform(0.75, 1.1)
    density = np.clip(0.6 + 0.5 * smooth(rng, size, 3), 0.1, 1)
    ragged = 0.06 * fractal(rng, size, 30, 2.3)
    for count in (rng.uniform(7, 10), rng.uniform(13, 18), rng.uniform(24, 34)):
        spots = random_grid(rng, u, v, count, 0.75)
        radius = spots.pick(rng, -0.06, 0.3) * density + ragged
        colour = mix(colour, spot, np.clip((1 - step(spots.first - radius, 0.22)) * spots.pick(rng, 0.3, 0.95), 0, 1))
    pores, form = grain(rng, size), rng.uniform(14, 32) * smooth(rng, size, 1.6)
    return Surface(colour, form + 0.12 * pores, 0.12, occlusion=0.2, ambient=0.5)


def sprinkled(rng: Generator, size: int) -> Surface:
    """Sugar rods, pearls or seeds strewn over icing, cream or bread."""
    kind = rng.random()
    bread = kind > 0.75
    u, v = plane_coordinates(rng, size, tilt=0.6)
    swell = fractal(rng, size, 3, 3.0)
    base = material(rng, "baked") if bread else material(rng, "icing")
    rough = fractal(rng, size, 14, 2.2)
    colour = apply_tone(base, 1 + (0.09 if bread else 0.02) * rough)
    height = 2.5 * swell + (0.6 if bread else 0.1) * rough
    inks = np.array([[0.95, 0.87, 0.68], [0.9, 0.8, 0.6]], "f4") if bread else dye_colours(rng, 6)
    inks = np.clip(inks * 1.1 + 0.08, 0, 1)
    long = 0.0 if 0.45 < kind < 0.75 else (0.1 if bread else 0.22)
    count, scattered, thick = rng.uniform(6, 11), rng.uniform(0.3, 0.6), 0.1 if long else 0.16
    for _ in range(3):
        grains = random_grid(rng, u, v, count, 0.35)
        x, y = grains.rotated(rng)
        over = np.maximum(np.abs(x) - long, 0)
        ball = dome((over * over + y * y) / thick**2) * (grains.pick(rng) < scattered)
        there = step(ball - 0.15, 0.4)
        colour = mix(colour, grains.of(inks[rng.integers(0, len(inks), 4096)]), there)
        height = height * (1 - 0.5 * there) + ball * (thick * 190 / count)
    return Surface(colour, height, 0.15 if bread else 0.35, occlusion=0.7)


def studded(rng: Generator, size: int) -> Surface:
    """Rows of shining metal knobs, cones or pyramids on leather, wood or cloth."""
    u, v, count = cell_coordinates(rng, size, 4, 9, tilt=0.55)
    if rng.random() < 0.4:
        u = u + 0.5 * np.floor(v)
    studs = scatter(rng, u, v, 0.03)
    flat, radius = rng.random(), rng.uniform(0.26, 0.42)
    reach: Array = studs.first / radius
    if flat < 0.3:  # pyramids
        reach = np.maximum(np.abs(studs.dx), np.abs(studs.dy)) / radius
        setting: Array = np.maximum(1 - reach, 0) * 1.1
    elif flat < 0.5:  # cones
        setting = np.maximum(1 - reach, 0) * 1.7
    else:
        setting = dome(reach * reach) * rng.uniform(0.7, 1.1)
    there, skin = 1 - step(reach - 1, 0.12), fractal(rng, size, 45, 1.8)
    ground = apply_tone(material(rng, "leather", "leather", "leather", "wood", "cloth"), 1 + 0.07 * skin)
    colour = mix(ground, material(rng, "metal", "metal", "brass"), there)
    height = 0.35 * skin * (1 - there) + setting * (radius * 224 / count * 0.75) + 4 * smooth(rng, size, 1.5)
    return Surface(colour, height, 0.1 + 1.6 * there, occlusion=0.8, ambient=0.25)


def perforated(rng: Generator, size: int) -> Surface:
    """Clean round holes in regular rows through metal, leather or board."""
    u, v, count = cell_coordinates(rng, size, 6, 15, tilt=0.6, turn=rotation_limit(rng))
    if rng.random() < 0.6:
        v = v * 1.155
        u = u + 0.5 * np.floor(v)
    holes = scatter(rng, u, v, 0.0)
    y = holes.dy / (1 if rng.random() < 0.7 else 0.6)
    reach, radius = np.sqrt(holes.dx**2 + y * y), rng.uniform(0.2, 0.36)
    hole = 1 - step(reach - radius, 2 * count / size)
    kind = ("metal", "metal", "metal", "leather", "paper", "cloth")[int(rng.integers(6))]
    brushed = streaks(rng, size, 60, 2, rng.uniform(0, 3)) if kind == "metal" else grain(rng, size)
    plate = apply_tone(material(rng, kind), 1 + 0.04 * brushed)
    through = material(rng, "dark") if rng.random() < 0.95 else material(rng, "sky")
    colour = mix(plate, apply_tone(through, np.clip(1.2 * (holes.dy / radius + 0.9), 0.4, 1.6)), hole)
    height = 3.5 * step(reach - radius, 0.16) + 7 * smooth(rng, size, 1.5) + 0.1 * brushed
    return Surface(colour, height, (0.55 if kind == "metal" else 0.1) * (1 - hole), occlusion=0.3)


def paisley(rng: Generator, size: int) -> Surface:
    """Bent teardrops with nested outlines and petals, and small flowers between them."""
    on = base_material(rng, size, "cloth", "cloth", "cloth", "paper")
    colours, count = dye_colours(rng, 5), rng.uniform(2.2, 4.2)
    buds, soft = random_grid(rng, on.u, on.v, count * 3, 0.3), 8 * (count * 3) / size
    reach = buds.first / (0.26 + 0.09 * np.cos(5 * np.arctan2(buds.dy, buds.dx)))  # flowers of five petals
    colour = mix(colours[0], colours[2], 1 - step(reach - 1, soft))
    colour = mix(colour, colours[4], 1 - step(reach - 0.35, soft))
    for share in (1.0, 0.8):
        drops = random_grid(rng, on.u, on.v, count, 0.16 * share)
        x, y = drops.rotated(rng) if rng.random() < 0.5 else (drops.dx, drops.dy)
        side = np.where(drops.pick(rng) < 0.5, 1, -1).astype("f4")
        y = y / 0.42
        bent = x * side - 0.17 * (y + 0.35) * np.abs(y + 0.35)
        width = 0.30 * np.sqrt(np.maximum(1 - y * y, 1e-4)) * np.clip(0.78 - 0.62 * y, 0.05, 1)
        inside = np.hypot(bent / (width + 0.02), np.maximum(np.abs(y) - 0.5, 0) * 1.6)
        angle = np.arctan2(bent, 0.25 * (y + 0.3))
        petals = inside * (1 + 0.05 * np.cos(angle * 22))
        shown = drops.pick(rng) < (0.95 if share == 1 else 0.3)
        for k, limit in enumerate((1.0, 0.86, 0.66, 0.4, 0.22)):
            ring = (1 - step(petals - limit, 9 * count / size)) * shown
            colour = mix(colour, colours[1 + (k * 2 + k // 2) % 4 if k else 1], ring)
        beads = (np.abs(inside - 0.76) < 0.05) & (wave(angle * (14 / math.pi)) > 0.5) & shown
        colour = mix(colour, colours[0], beads.astype("f4"))
    return on.print_colour(colour)
