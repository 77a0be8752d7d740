"""Drawings made of bands, lines and squares. Each is ``(rng, size) -> Surface``."""

import math

import numpy as np
from numpy.random import Generator

from tools.textures.colours import apply_tone, band_table, dye_colours, material, mix, rgb, shades
from tools.textures.noise import fractal, grain, lookup, noise_1d, rotate, scatter, smooth, step, streaks, wave
from tools.textures.rendering import Surface
from tools.textures.viewpoint import base_material, blurred_background, plane_coordinates, rotation_limit


def banded(rng: Generator, size: int) -> Surface:
    """Parallel bands of solid colour and different width."""
    count = int(rng.integers(2, 9))
    on = base_material(rng, size, "cloth", "cloth", "paper", "wall", "plastic", turn=rotation_limit(rng))
    across = on.u if rng.random() < 0.5 else on.v
    widths, repeats = rng.uniform(0.4, 1.6, count), rng.uniform(6, 26) / count
    table = band_table(rng, dye_colours(rng, count), widths, soft=int(3 + repeats * 1.5))
    return on.print_colour(lookup(table, across * repeats))


def lined(rng: Generator, size: int) -> Surface:
    """Thin even lines with wide gaps between them."""
    on = base_material(rng, size, "paper", "paper", "cloth", "wall", "wood", turn=rotation_limit(rng))
    across, other = (on.u, on.v) if rng.random() < 0.35 else (on.v, on.u)
    count = rng.uniform(9, 28)
    ground, ink = material(rng, "paper", "paper", "cloth", "wood"), material(rng, "dark", "cloth")
    if np.abs(ground - ink).sum() < 0.8:
        ink = ink * 0.25 if ground.mean() > 0.4 else ink * 0.3 + 0.7
    near = np.abs(across * count - np.round(across * count))
    line = 1 - step(near - rng.uniform(0.04, 0.11), 1.6 * count / size)
    line = line * (0.8 + 0.12 * fractal(rng, size, 30, 1.8))
    colour = mix(ground, ink, np.clip(line, 0, 1))
    if rng.random() < 0.3:  # a margin, as in a notebook
        colour = mix(colour, rgb(0.75, 0.25, 0.25), 1 - step(np.abs(other - other.mean() + 0.3) - 0.004, 0.008))
    return on.print_colour(colour)


def zigzagged(rng: Generator, size: int) -> Surface:
    """Chevron bands that turn sharply up and down."""
    on = base_material(rng, size, "cloth", "cloth", "paper", "wall", turn=rotation_limit(rng))
    columns = rng.uniform(3.5, 9)
    rows, count = columns * rng.uniform(0.7, 1.6), int(rng.choice([2, 2, 3, 4, 6]))
    peak = wave(on.u * columns) * rng.uniform(0.6, 1.2)
    table = band_table(rng, dye_colours(rng, count), rng.uniform(0.7, 1.3, count), soft=12)
    colour = lookup(table, (on.v * rows + peak + rng.uniform(0, 0.1) * smooth(rng, size, 12)) / count)
    if rng.random() < 0.3:  # stitched rather than printed
        ribs = np.sin(on.u * (2 * math.pi * columns * 12)) * np.sin(on.v * (rows * 60))
        return Surface(apply_tone(colour, on.tone + 0.12 * ribs), on.height + 0.5 * ribs, 0.02)
    return on.print_colour(colour)


def chequered(rng: Generator, size: int) -> Surface:
    """Squares of two colours in turn: flags, gingham, tiles, boards."""
    kind = rng.random()
    on = base_material(rng, size, "cloth" if kind < 0.55 else "plastic", turn=math.pi, tilt=0.75)
    squares = rng.uniform(4, 11)
    u, v = on.u * squares, on.v * squares
    a, b = (step(wave(x / 2) - 0.5, 1.6 * squares / size) for x in (u, v))
    light, dark = material(rng, "paper"), material(rng, "dark", "cloth", "leather")
    if rng.random() < 0.2:
        light, dark = dye_colours(rng, 2)
    elif np.abs(light - dark).sum() < 0.6:
        dark = dark * 0.3
    if kind < 0.22:  # gingham
        ribs = np.where((a + b) == 1, np.sin((u + v) * 40), 0).astype(np.float32)
        colour = apply_tone(mix(light, dark, (a + b) / 2), 1 + 0.07 * ribs)
    else:
        colour = mix(light, dark, a + b - 2 * a * b)
    height = on.height
    if kind > 0.75:  # tiles with joints
        joint = np.minimum(wave(u), wave(v))
        height = height + 2.5 * step(joint - 0.06, 0.08)
        colour = apply_tone(colour, 0.7 + 0.3 * step(joint - 0.04, 0.05))
        colour = apply_tone(colour, scatter(rng, u, v).pick(rng, 0.85, 1.1))
    return Surface(apply_tone(colour, on.tone), height, on.gloss)


def grid(rng: Generator, size: int) -> Surface:
    """Straight bars crossing at right angles: graph paper, grilles, joints, window frames."""
    kind, count = rng.random(), rng.uniform(4, 11)
    u, v = plane_coordinates(rng, size, tilt=0.7, turn=rotation_limit(rng))
    u, v = u * count, v * count * float(rng.choice([1.0, 1.0, 0.75, 1.3]))
    width = rng.uniform(0.03, 0.07) if kind < 0.25 else rng.uniform(0.08, 0.22)
    near = 0.5 - np.maximum(wave(u + 0.5), wave(v + 0.5)) * 0.5
    bar = 1 - step(near - width, 1.5 * count / size)
    rough = fractal(rng, size, 14, 2.2)
    if kind < 0.25:  # ruled paper
        ground, ink = material(rng, "paper"), material(rng, "cloth", "dark") * 0.8
        return Surface(apply_tone(mix(ground, ink, bar), 1 + 0.02 * rough), 0.2 * rough, 0.02)
    if kind < 0.55:  # tiles
        tone = scatter(rng, u, v).pick(rng, 0.92, 1.06)
        tile = apply_tone(material(rng, "paper", "stone", "cloth", "sky"), tone)
        colour = mix(tile, material(rng, "stone", "dark"), bar)
        return Surface(colour, 3 * step(near - width, 0.12) + 0.15 * rough, rng.uniform(0.1, 0.7))
    far = blurred_background(rng, size, 3, "dark", "leaf", "sky")
    round_bar = np.sqrt(np.maximum(1 - (near / width) ** 2, 0))
    steel = apply_tone(material(rng, "metal", "wood", "dark", "paper"), 1 + 0.06 * rough)
    return Surface(mix(far, steel, bar), 11 * width * 10 * round_bar * bar, 0.4, occlusion=0.2)


def grooved(rng: Generator, size: int) -> Surface:
    """Parallel furrows cut or pressed into wood, metal, rubber or sand."""
    round_about = rng.random() < 0.15
    u, v = plane_coordinates(rng, size, tilt=0.6, turn=math.pi, centred=round_about)
    kind = ("wood", "metal", "stone", "earth", "dark")[int(rng.integers(5))]
    metal = kind == "metal"
    if kind == "earth":
        v = v + 0.03 * smooth(rng, size, 4)
    if round_about:
        v = np.hypot(u + rng.normal(0, 0.3), v + rng.normal(0, 0.3))
    count = rng.uniform(6, 18) * (1.6 if round_about else 1)
    profile = step(wave(v * count) - rng.uniform(0.15, 0.7) / 2, rng.uniform(0.12, 0.9))
    rough = fractal(rng, size, 20, 2.1) if kind != "wood" else streaks(rng, size, 40, 1.5, 0)
    colour = apply_tone(material(rng, kind), 1 + (0.03 if metal else 0.09) * rough)
    depth = 190 / count * rng.uniform(0.2, 0.45)
    floor = 0.4 + 0.6 * profile if rng.random() < 0.6 else 0.85 + 0.15 * profile
    height = depth * profile + rough * (0.1 if metal else 0.4)
    return Surface(apply_tone(colour, floor), height, 0.6 if metal else 0.12)


def pleated(rng: Generator, size: int) -> Surface:
    """Sharp parallel folds of cloth or paper, each overlapping the next; sometimes a fan."""
    u, v = plane_coordinates(rng, size, tilt=0.25, turn=0.25 if rng.random() < 0.75 else 1.5, centred=True)
    if rng.random() < 0.3:  # a fan
        position = np.arctan2(u, v + rng.uniform(0.5, 1.1)) * rng.uniform(8, 16)
    else:
        position = (u + rng.uniform(0, 0.03) * smooth(rng, size, 2.5) * (1 + 2 * v)) * rng.uniform(6, 14)
    position = position + 0.12 * smooth(rng, size, 6) + 50
    within, turn_at = position - np.floor(position), rng.uniform(0.72, 0.92)
    ridge = np.minimum(within / turn_at, (1 - within) / (1 - turn_at))
    base = material(rng, "cloth", "cloth", "paper", "wool")
    each = scatter(rng, position, np.zeros_like(position)).pick(rng, 0.93, 1.05)
    cloth = 1 + 0.04 * grain(rng, size) + 0.03 * smooth(rng, size, 5)
    colour = apply_tone(base, each * cloth * (0.55 + 0.45 * step(1 - within - 0.08, 0.16)))
    fall = 3 * smooth(rng, size, 2)
    return Surface(colour, ridge * rng.uniform(5, 11) + fall, 0.12, occlusion=0.8)


def stratified(rng: Generator, size: int) -> Surface:
    """Layers of rock, wavy and worn, hard ones standing out over soft ones."""
    _, v = plane_coordinates(rng, size, tilt=0.3, turn=0.35 if rng.random() < 0.8 else 1.6)
    bend = rng.uniform(0.02, 0.1) * smooth(rng, size, rng.uniform(1, 2.5))
    rough = fractal(rng, size, 9, 2.1)
    depth = (v + bend + 0.006 * rough) * rng.uniform(0.35, 0.8)
    count = int(rng.integers(14, 40))
    rock = shades(rng, material(rng, "stone", "earth", "earth"), count, 0.35)
    rock[rng.random(count) < 0.3] = material(rng, "earth", "stone", "autumn")
    rng.shuffle(rock)
    colour = lookup(band_table(rng, rock, rng.gamma(1.2, 1, count) + 0.15, soft=3), depth)
    ledges = noise_1d(rng, depth, 0.2) + 0.6 * noise_1d(rng, depth * 1.7 + 0.3, 0.9)
    cracks = streaks(rng, size, 14, 5, math.pi * 0.02 * rng.normal())
    height = 4 * ledges + 1.3 * rough + 0.6 * np.minimum(cracks, 0)
    return Surface(apply_tone(colour, 1 + 0.09 * rough + 0.05 * ledges), height, 0.02, occlusion=0.9)


def crosshatched(rng: Generator, size: int) -> Surface:
    """A drawing shaded by crossing sets of strokes, or cloth and leather with crossed scratches."""
    u, v = plane_coordinates(rng, size, tilt=0.15, turn=0.3)
    count = rng.uniform(24, 42)
    drawing = rng.random() < 0.7
    tone = 0.5 + 0.32 * fractal(rng, size, rng.uniform(1.5, 4), 3.0)
    if drawing and rng.random() < 0.5:
        tone = 0.5 + 0.5 * np.minimum(0.5 - tone, 0) + 0.25 * smooth(rng, size, 3)
    first, spread = rng.uniform(0, math.pi), rng.uniform(0.9, 1.6)
    ink = np.zeros_like(u)
    for k in range(4 if drawing else 2):
        angle = first + spread * (k % 2) + 0.3 * (k // 2) + rng.normal(0, 0.05)
        across, along = rotate(u, v, angle)
        across = (across + 0.004 * smooth(rng, size, 5)) * (count * (1 + 0.2 * (k // 2)))
        along = along * rng.uniform(3, 7) + 0.3 * np.floor(across)
        stroke = scatter(rng, across, along, 0.0).pick(rng, -0.2, 0.2)
        dark = np.clip((0.85 - 0.2 * k if drawing else 0.75) - tone + stroke, 0, 0.5)
        line = 1 - step(wave(across + 0.1 * stroke) - dark, 3 * count / size)
        ink = np.maximum(ink, line * (0.75 + stroke))
    rough = fractal(rng, size, 40, 1.9)
    ground = material(rng, "paper", "paper", "paper", "earth", "sky")
    pen = material(rng, "dark", "dark", "leather", "wool") * 0.7
    if not drawing:
        ground, pen = material(rng, "leather", "wool", "metal", "cloth"), material(rng, "dark", "paper")
    colour = mix(apply_tone(ground, 1 + 0.04 * rough), pen, np.clip(ink, 0, 1) * (0.9 if drawing else 0.5))
    return Surface(colour, 0.25 * rough - (0 if drawing else 1.2) * ink, 0.03, occlusion=0.2)
