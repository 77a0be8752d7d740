"""Drawings of liquids, leaves, hair and fibres. Each is ``(rng, size) -> Surface``."""

import math

import numpy as np
from numpy.random import Generator

from tools.textures.colours import apply_tone, band_table, dye_colours, material, mix, rgb, shades
from tools.textures.noise import fractal, grain, lookup, noise_1d, rotate, smooth, step, streaks
from tools.textures.rendering import Surface
from tools.textures.viewpoint import base_material, blurred_background, plane_coordinates

# transmission of coffee, wine, mud, tea, rust
_LIQUIDS = ((0.62, 0.42, 0.22), (0.6, 0.2, 0.25), (0.45, 0.4, 0.32), (0.7, 0.58, 0.25), (0.5, 0.33, 0.2))


def blotchy(rng: Generator, size: int) -> Surface:
    """Irregular patches of one or two other tones with soft, ragged edges."""
    kind = ("stone", "skin", "leaf", "metal", "paper", "earth", "fruit")[int(rng.integers(7))]
    base, rough = material(rng, kind), fractal(rng, size, 25, 2.0)
    colour = apply_tone(base, 1 + 0.06 * rough + 0.05 * smooth(rng, size, 3))
    scale = rng.uniform(2, 5)
    for k in range(int(rng.integers(2, 4))):
        field = fractal(rng, size, scale * (1 + 0.7 * k), rng.uniform(3.0, 3.8))
        patch = step(field - rng.uniform(0.3, 0.9), rng.uniform(0.3, 1.2))
        factor = np.exp(rng.normal(-0.2, 0.4) + rng.normal(0, 0.1, 3))
        if kind == "skin":
            factor = np.array([0.95, 0.62, 0.58])
        elif rng.random() < 0.3:
            factor = material(rng, "autumn", "earth", "leather", "paper") / (base + 0.05)
        colour = mix(colour, np.clip(base * factor, 0, 1).astype(np.float32), patch * rng.uniform(0.5, 0.95))
    height = rng.uniform(0.03, 0.3) * rough + 6 * smooth(rng, size, 2)
    return Surface(apply_tone(colour, 1 + 0.04 * rough), height, 0.05)


def marbled(rng: Generator, size: int) -> Surface:
    """Polished stone or inked paper: bands and veins drawn out and folded without mixing."""
    angle = rng.uniform(0, math.pi)
    flow = streaks(rng, size, rng.uniform(2.5, 5), rng.uniform(1, 2), angle, 3.4)
    fold = fractal(rng, size, 2.0, 3.0)
    if rng.random() < 0.45:  # paper: floating inks, combed or drawn with a stylus
        u, v = plane_coordinates(rng, size, tilt=0.2)
        colours = dye_colours(rng, int(rng.integers(3, 7)))
        table = band_table(rng, colours[rng.integers(0, len(colours), 24)], rng.gamma(1.5, 1, 24) + 0.1, soft=9)
        comb = 0.05 * np.abs(np.sin(v * rng.uniform(14, 30) + fold)) if rng.random() < 0.5 else 0
        position = u * rng.uniform(0.2, 0.5) + 0.13 * flow + 0.1 * fold + comb
        colour = lookup(table, position.astype("f4"))
        return Surface(apply_tone(colour, 1 + 0.03 * grain(rng, size)), 1.5 * smooth(rng, size, 2), 0.1)
    base = material(rng, "paper", "stone", "leaf", "skin", "dark", "fruit", "paper")
    vein = np.clip(base * 0.3 if base.mean() > 0.5 else base * 0.4 + 0.6, 0, 1)
    colour = mix(base, (base + vein) / 2, np.clip(0.5 + 0.3 * flow + 0.15 * fold, 0, 1) * 0.6)
    strength = np.clip(0.55 + 0.4 * fractal(rng, size, 3, 2.5), 0, 1)
    for scale, sharp in ((rng.uniform(3, 5), rng.uniform(9, 16)), (rng.uniform(7, 11), 14)):
        bent = streaks(rng, size, scale, scale * 0.4, angle + rng.normal(0, 0.3), 2.4)
        colour = mix(colour, vein, np.exp(-np.abs(bent + 0.5 * flow) * sharp) * strength)
    return Surface(colour, 2 * smooth(rng, size, 1.5), rng.uniform(0.1, 0.5))


def swirly(rng: Generator, size: int) -> Surface:
    """Ribbons of colour wound up by several whirls."""
    u, v = plane_coordinates(rng, size, tilt=0.2, centred=True)
    for _ in range(int(rng.integers(4, 8))):
        x, y = u - rng.uniform(-0.5, 0.5), v - rng.uniform(-0.5, 0.5)
        reach = rng.uniform(0.1, 0.25)
        angle = float(rng.choice([-1, 1])) * rng.uniform(4, 8) * np.exp(-(x * x + y * y) / reach**2)
        cos, sin = np.cos(angle), np.sin(angle)
        u, v = u + x * (cos - 1) - y * sin, v + x * sin + y * (cos - 1)
    u, v = u.astype("f4"), v.astype("f4")
    count = int(rng.integers(3, 7))
    colours = dye_colours(rng, count) if rng.random() < 0.7 else shades(rng, material(rng, "cloth"), count, 0.7)
    repeats = rng.uniform(5, 10) / count
    table = band_table(rng, colours, rng.uniform(0.5, 1.5, count), soft=int(rng.integers(8, 60)))
    position = v * repeats + 0.02 * smooth(rng, size, 3)
    lines, strokes = noise_1d(rng, v * 0.7, 0.8), rng.uniform(0, 0.12)
    relief = np.sin(position * (2 * math.pi * count)) if rng.random() < 0.4 else 0 * lines
    colour = apply_tone(lookup(table, position), 1 + strokes * lines)
    return Surface(colour, 1.5 * relief + 6 * strokes * lines, rng.uniform(0.05, 0.4))


def spiralled(rng: Generator, size: int) -> Surface:
    """Turns winding outward from one centre: shell, rope coil, lollipop, staircase."""
    u, v = plane_coordinates(rng, size, tilt=0.5, centred=True)
    u, v = u + rng.normal(0, 0.12), v + rng.normal(0, 0.12)
    reach = np.hypot(u, v * rng.uniform(0.85, 1.15)) + 1e-3
    angle = np.arctan2(v, u) * rng.choice([-1.0, 1.0]).item() / (2 * math.pi)
    arms = int(rng.choice([1, 1, 1, 2, 4]))
    log = rng.random() < 0.5
    outward = np.log(reach) * rng.uniform(1.1, 2.2) if log else reach * rng.uniform(6, 12)
    turns = outward + angle * arms + 20
    within = turns - np.floor(turns)
    tube = np.sqrt(np.maximum(4 * within * (1 - within), 0))
    wide, kind = (reach / 1.6 if log else 0.07) * 90, rng.random()
    rough = fractal(rng, size, 16, 2.2)
    if kind < 0.35:  # shell: growth lines across the tube
        base = material(rng, "earth", "skin", "paper", "stone", "wood")
        lines = noise_1d(rng, (turns - within + angle + within * 0.15) * 1.3, 0.5)
        colour = apply_tone(base, (0.6 + 0.5 * tube) * (1 + 0.12 * lines + 0.05 * rough))
        return Surface(colour, tube * wide + 0.6 * lines, 0.25, occlusion=0.8)
    if kind < 0.6:  # rope: slanting strands
        base = material(rng, "earth", "wool", "metal", "leaf")
        strands = np.sin((angle * 70 + turns * 0 + within * 2.2) * (2 * math.pi / 1.5) * (0.4 + reach))
        colour = apply_tone(base, (0.45 + 0.6 * tube) * (1 + 0.13 * strands + 0.05 * rough))
        return Surface(colour, tube * wide + strands, 0.05, occlusion=0.8)
    colours = dye_colours(rng, int(rng.integers(2, 5)))
    table = band_table(rng, colours, rng.uniform(0.5, 1.5, len(colours)), soft=25)
    colour = apply_tone(lookup(table, turns), 1 + 0.05 * rough)
    relief = tube * wide * 0.5 if kind < 0.8 else rough * 0.3
    return Surface(colour, relief + 4 * smooth(rng, size, 1.5), rng.uniform(0, 0.5))


def smeared(rng: Generator, size: int) -> Surface:
    """Paint, ink or grease dragged sideways in long streaks of unequal thickness."""
    u, v = plane_coordinates(rng, size, tilt=0.3, warp=0.03)
    if rng.random() < 0.5:  # a curved stroke
        v = v + rng.normal(0, 0.5) * (u - float(u.mean())) ** 2
    bristles = noise_1d(rng, v * 0.16, 0.6) + 0.7 * noise_1d(rng, v * 0.33 + 0.2, 0.8)
    start, count = fractal(rng, size, 1.8, 2.6) + 0.45 * bristles, int(rng.integers(2, 6))
    colours = dye_colours(rng, count)
    ground = material(rng, "paper", "paper", "stone", "wood", "sky")
    band = 0.5 + 0.16 * (noise_1d(rng, v * 0.13, 0) * 2.2 + start)
    colour = lookup(band_table(rng, colours, rng.uniform(0.5, 1.5, count), soft=110), band)
    thin = step(start + 0.4 * smooth(rng, size, 3) + rng.uniform(-0.3, 1.1), rng.uniform(0.4, 1.2))
    colour = mix(ground, apply_tone(colour, 1 + 0.09 * bristles), thin * rng.uniform(0.75, 1))
    return Surface(colour, thin * (1.1 * bristles + 1.5 * start), rng.uniform(0.1, 0.6) * thin, occlusion=0.4)


def stained(rng: Generator, size: int) -> Surface:
    """Cloth, paper, wood or concrete with spilt marks: pale inside, dark along the rim."""
    on = base_material(rng, size, "cloth", "paper", "wall", "wall", "wood")
    ground = material(rng, "paper", "paper", "stone", "cloth", "wood")
    if ground.mean() < 0.45:
        ground = ground * 0.5 + 0.4
    colour, ragged = np.broadcast_to(ground, (size, size, 3)), fractal(rng, size, 6, 2.5)
    liquid = rgb(*_LIQUIDS[int(rng.integers(len(_LIQUIDS)))])
    axis = np.linspace(-0.5, 0.5, size, dtype=np.float32)
    for _ in range(int(rng.integers(2, 6))):
        x = axis[None] - rng.uniform(-0.4, 0.4)
        y = (axis[:, None] - rng.uniform(-0.4, 0.4)) * rng.uniform(0.6, 1.4)
        radius, cup = rng.uniform(0.06, 0.34), rng.random() < 0.25
        inside = radius - np.hypot(x, y) + (0.004 if cup else 0.2 * radius) * ragged
        body = step(inside, 0.015) * (0.0 if cup else rng.uniform(0.25, 0.8))
        rim = np.exp(-((np.maximum(inside, -3 * inside) / (0.012 + 0.03 * radius)) ** 2))
        mark = np.clip(body * (0.8 + 0.2 * ragged) + rng.uniform(0.3, 0.6) * rim, 0, 1)
        colour = mix(colour, colour * liquid, mark)
    return on.print_colour(colour)


def veined(rng: Generator, size: int) -> Surface:
    """A leaf: strong middle rib, side veins leaving it at an angle, a fine net between."""
    u, v = plane_coordinates(rng, size, tilt=0.3, warp=0.03, centred=True)
    u, v = u * rng.uniform(0.7, 1.3), v * rng.uniform(0.7, 1.3)
    u = u + rng.uniform(-0.25, 0.25) + 0.12 * v * v
    side = np.abs(u)
    slope, count = rng.uniform(0.5, 1.2), rng.uniform(4, 8)
    along = (v + slope * side - rng.uniform(0.2, 0.6) * side * side) * count + 0.37 * (u > 0).astype("f4")
    to_vein = np.abs(along - np.round(along)) / (count * math.hypot(1, slope))
    rib = 1 - step(side - 0.018 + 0.008 * v, 0.012)
    branch = 1 - step(to_vein - (0.010 - 0.010 * side), 0.010)
    second = (side * 1.3 - 0.5 * v) * count * 3.2 + 0.4 * np.sin(along * 9)
    twig = 1 - step(np.abs(second - np.round(second)) / (count * 4) - 0.0025, 0.008)
    ragged = fractal(rng, size, 22, 3.3)
    net = np.exp(-np.abs(ragged) * 7)
    blade = material(rng, "leaf", "leaf", "leaf", "autumn", "gem")
    vein = np.clip(blade * rng.uniform(1.2, 1.7) + 0.12, 0, 1)
    if rng.random() < 0.2:
        vein = rgb(0.55, 0.12, 0.2)
    tissue = apply_tone(blade, 0.95 + 0.07 * ragged + 0.06 * smooth(rng, size, 4))
    colour = mix(tissue, vein, np.clip(0.22 * net + 0.35 * twig, 0, 1))
    colour = mix(colour, vein, np.maximum(rib, 0.8 * branch))
    quilt = 4 * np.minimum(to_vein * count, 0.4) * 2 + 0.5 * ragged - net
    height = (1 if rng.random() < 0.5 else -1) * (3 * rib + 2 * branch + twig) + quilt
    return Surface(colour, height + 6 * smooth(rng, size, 1.5), rng.uniform(0.05, 0.35), occlusion=0.5)


def cobwebbed(rng: Generator, size: int) -> Surface:
    """Silk: spokes from a centre joined by sagging rings of thin bright thread, torn in places."""
    colour = blurred_background(rng, size, 4, "dark", "dark", "leaf", "sky", "stone", "wood")
    colour = colour * (0.75 if rng.random() < 0.7 else 0.4)
    web, torn = np.zeros((size, size), np.float32), smooth(rng, size, 3)
    for k in range(int(rng.integers(1, 3))):
        u, v = plane_coordinates(rng, size, tilt=0.5, warp=0.012, centred=True)
        away = 0.6 if k else 0.25
        u, v = u + rng.normal(0, away), v + rng.normal(0, away)
        reach, angle = np.hypot(u, v) + 1e-4, np.arctan2(v, u)
        spokes = int(rng.integers(14, 28))
        sector = angle * (spokes / (2 * math.pi)) + 0.25 * np.sin(angle * 3 + k) + 64
        within, thin = sector - np.floor(sector), rng.uniform(0.0022, 0.0042)
        to_spoke = np.minimum(within, 1 - within) * reach * (2 * math.pi / spokes)
        sag = 1 + rng.uniform(0.08, 0.22) * 4 * within * (1 - within)
        offset = rng.uniform(0, 0.5, 128).astype("f4").take(np.floor(sector).astype(int) % 128)
        rings = rng.uniform(14, 26)
        turn = reach * sag * rings + offset
        to_ring, soft = np.abs(turn - np.round(turn)) / rings, 1.6 / size
        ring = (1 - step(to_ring - thin * 0.7, soft)) * (reach > 0.03) * (torn > -0.8)
        drops = 0.65 + 0.35 * noise_1d(rng, within * 0.3 + offset * 5, 1)
        web = np.maximum(web, np.maximum(1 - step(to_spoke - thin, soft), 0.85 * ring * drops))
    return Surface(mix(colour, rgb(0.95, 0.96, 1.0), web * np.clip(0.75 + 0.4 * smooth(rng, size, 2), 0.25, 1)))


def fibrous(rng: Generator, size: int) -> Surface:
    """Long thin strands lying side by side: husk, muscle, splintered wood, rope ends."""
    angle, relief = rng.uniform(0, math.pi), np.zeros((size, size), np.float32)
    for k in range(3):
        bend = angle + rng.normal(0, 0.12 + 0.08 * k)
        strands = streaks(rng, size, rng.uniform(20, 45), rng.uniform(0.8, 2.5), bend, 1.6)
        relief = np.maximum(relief, strands) if k else strands
    base = material(rng, "wood", "earth", "hair", "leaf", "skin", "autumn")
    tone = np.clip(0.55 + 0.28 * relief + 0.08 * smooth(rng, size, 4), 0.1, 1.3)
    colour = mix(apply_tone(base, tone), np.clip(base * 1.5, 0, 1), np.clip(relief - 1, 0, 0.6))
    return Surface(colour, relief * rng.uniform(1.2, 2.6), 0.12, occlusion=1.0)


def matted(rng: Generator, size: int) -> Surface:
    """Tangled hair or grass in clumps: strands in every direction, pressed together."""
    base = material(rng, "hair", "earth", "wool", "leaf", "hair")
    colour = np.broadcast_to(base * 0.35, (size, size, 3))
    clumps = fractal(rng, size, 4, 2.6)
    height = 2.5 * clumps
    u, v = plane_coordinates(rng, size, tilt=0.2)
    bend_u, bend_v = smooth(rng, size, 3), smooth(rng, size, 3)
    for k in range(5):
        across, _ = rotate(u, v, rng.uniform(0, math.pi))
        across = across + rng.uniform(0.04, 0.12) * bend_u + 0.03 * smooth(rng, size, 7)
        lock = noise_1d(rng, across * rng.uniform(0.25, 0.5), 0.9)
        fine = np.sin(across * (2 * math.pi * rng.uniform(40, 60)))
        lies = step(lock + 0.6 * bend_v - rng.uniform(0.1, 0.5), 0.3)
        colour = mix(colour, apply_tone(base, np.clip(0.55 + 0.12 * k + 0.15 * fine + 0.1 * clumps, 0.1, 1.4)), lies)
        height = height + lies * (1.2 + 0.5 * fine)
        bend_u, bend_v = bend_v, -bend_u
    return Surface(colour, height, 0.08, occlusion=1.0)
