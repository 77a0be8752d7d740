"""Drawings of threads, straps, cloth and waffles. Each is ``(rng, size) -> Surface``."""

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tools.textures.colours import apply_tone, dye_colours, material, mix, rgb, shades
from tools.textures.noise import Array, dome, fractal, grain, noise_1d, scatter, smooth, step, wave
from tools.textures.rendering import Surface
from tools.textures.viewpoint import blurred_background, cell_coordinates, plane_coordinates, rotation_limit


def braided(rng: Generator, size: int) -> Surface:
    """Plaits of three strands, each crossing over the next; one alone or several side by side."""
    kind = ("hair", "earth", "leather", "wool", "baked")[int(rng.integers(5))]
    u, v = plane_coordinates(rng, size, tilt=0.35, turn=rotation_limit(rng), warp=0.02)
    columns = rng.uniform(1.2, 4.5)
    column = np.floor(u * columns)
    x, pace = (u * columns - column) * 2 - 1, rng.uniform(0.5, 0.85)
    along, plain = v * columns * pace + 0.31 * column, material(rng, kind)
    strands = dye_colours(rng, 3) if rng.random() < 0.25 else shades(rng, plain, 3, 0.12)
    colour = apply_tone(material(rng, "dark"), np.ones_like(u))
    height = np.full_like(u, -0.5)
    strength = {"leather": 0.03, "baked": 0.05}.get(kind, 0.16)
    swing, half = rng.uniform(0.5, 0.58), rng.uniform(0.38, 0.46)
    for k in range(3):
        phase = (along + k / 3) * (2 * math.pi)
        slope = swing * 2 * math.pi * pace * np.cos(phase) * 0.5
        off = (x - swing * np.sin(phase)) / np.sqrt(1 + slope * slope) / half
        ball = dome(off * off)
        level = ball + 0.75 * np.sin(2 * phase)
        top = (np.abs(off) < 1) & (level > height)
        lines = noise_1d(rng, off * 0.16 + 0.012 * phase) + 0.7 * noise_1d(rng, off * 0.07 + k * 0.3)
        shade = (0.35 + 0.8 * ball) * (1 + strength * lines) * (0.85 + 0.2 * np.sin(2 * phase))
        colour = np.where(top[..., None], apply_tone(strands[k], shade), colour)
        height = np.where(top, level + 0.5 * strength * lines, height)
    gloss = {"hair": 0.25, "leather": 0.4, "baked": 0.3}.get(kind, 0.03)
    return Surface(colour, height * (28 / columns), gloss, occlusion=0.5)


def knitted(rng: Generator, size: int) -> Surface:
    """Columns of V-shaped stitches of yarn, plain, in stripes or with a pattern."""
    u, v, columns = cell_coordinates(rng, size, 6, 18, tilt=0.4, turn=rotation_limit(rng), warp=0.03)
    column = np.floor(u)
    x = (u - column) * 2 - 1
    t = v * rng.uniform(1.0, 1.4) - rng.uniform(0.5, 0.9) * np.abs(x)
    row = np.floor(t)
    lobe, half = t - row, np.abs(np.abs(x) - 0.48) / 0.52
    profile = np.sqrt(np.maximum(4 * lobe * (1 - lobe), 0)) * np.sqrt(np.maximum(1 - half**2.5, 0))
    twist = np.sin((lobe * 2 + np.abs(x)) * (2 * math.pi * 2.2))
    fuzz, colours = fractal(rng, size, 60, 1.6), dye_colours(rng, 3)
    colours[0] = material(rng, "wool", "cloth")
    kind = rng.random()
    if kind < 0.25:  # stripes of rows
        plan = rng.integers(0, 3, 8).repeat(rng.integers(2, 5))
        colour = colours.take(plan[row.astype(np.int32) % len(plan)], axis=0)
    elif kind < 0.45:  # a motif, repeated
        motif = rng.random((8, 5)) < 0.45
        motif = np.concatenate([motif, motif[:, ::-1]], axis=1)
        inked = motif[row.astype(np.int32) % 8, column.astype(np.int32) % 10]
        colour = mix(colours[0], colours[1], inked.astype("f4"))
    else:
        colour = apply_tone(colours[0], 1 + 0.06 * smooth(rng, size, 8))
    shade = np.clip(0.3 + 0.9 * profile, 0, 1.15) + 0.05 * twist * profile + 0.06 * fuzz
    height = profile * (80 / columns) + 0.4 * fuzz + 0.4 * twist
    return Surface(apply_tone(colour, shade), height + 7 * smooth(rng, size, 2), 0.0, occlusion=0.6)


def _over_under(u: Array, v: Array, thick: float, period: int = 2) -> tuple[Array, NDArray[np.bool_], Array, Array]:
    """Two families of strands on unit squares: height, whether the u-strand is on top, cover, position across a strand.
    ``thick``: half width of a strand (0.5 leaves no gap). ``period``: the u-strand is above in one of so many squares."""
    fu, fv = u - np.floor(u) - 0.5, v - np.floor(v) - 0.5
    hump_u, hump_v = np.cos(fu * math.pi), np.cos(fv * math.pi)
    lane_u, lane_v = np.abs(fv) / thick, np.abs(fu) / thick  # across the strand along u / along v
    sign = 2 * ((np.floor(u) + np.floor(v)) % period < 0.5).astype("f4") - 1
    high_u = np.where(lane_u < 1, 0.5 * dome(lane_u * lane_u) + 0.6 * sign * hump_u * hump_v, -1)
    high_v = np.where(lane_v < 1, 0.5 * dome(lane_v * lane_v) - 0.6 * sign * hump_u * hump_v, -1)
    top = high_u > high_v
    cover = ((lane_u < 1) | (lane_v < 1)).astype("f4")
    return np.maximum(high_u, high_v), top, cover, np.where(top, fv, fu)


def woven(rng: Generator, size: int) -> Surface:
    """Warp and weft going over and under: linen, straw, cane, canvas, rugs."""
    u, v = plane_coordinates(rng, size, tilt=0.5, turn=math.pi if rng.random() < 0.4 else 0.15, warp=0.015)
    coarse = rng.random() < 0.55
    count = rng.uniform(7, 14) if coarse else rng.uniform(16, 28)
    u, v = u * count, v * count * rng.uniform(0.7, 1.3)
    period = 2 if rng.random() < 0.7 else 3
    height, upper, cover, lane = _over_under(u, v, rng.uniform(0.42, 0.5), period)
    lines = noise_1d(rng, lane * 0.35 + np.where(upper, np.floor(v), np.floor(u)) * 0.17)
    weft = material(rng, "earth", "wool", "cloth", "paper", "wood")
    warp = weft * rng.uniform(0.75, 1.1) if rng.random() < 0.6 else material(rng, "wool", "cloth")
    each = np.where(upper, scatter(rng, v, v * 0).pick(rng, 0.82, 1.12), scatter(rng, u, u * 0).pick(rng, 0.82, 1.12))
    shade = each * (0.55 + 0.45 * np.clip(height + 0.2, 0, 1)) * (1 + 0.1 * lines)
    colour = apply_tone(mix(warp, weft, upper.astype("f4")), shade * (0.25 + 0.75 * cover))
    relief = np.maximum(height, -0.4) * (75 / count) + 0.35 * lines
    return Surface(colour, relief + 5 * smooth(rng, size, 2), 0.12 if coarse else 0.02, occlusion=0.7)


def interlaced(rng: Generator, size: int) -> Surface:
    """Separate bands that pass over and under each other in turn: knots, trellis, guilloche."""
    curly = rng.random() < 0.6
    turn = rotation_limit(rng) if curly else math.pi
    u, v, count = cell_coordinates(rng, size, 2.5, 5, tilt=0.35, turn=turn, warp=0.01)
    if curly:  # bands swing around each other
        swing = rng.uniform(0.12, 0.2)
        u, v = u + swing * np.sin(v * (2 * math.pi)), v + swing * np.sin(u * (2 * math.pi))
    u, v = u + v, v - u
    thick = rng.uniform(0.22, 0.36)
    height, upper, cover, lane = _over_under(u, v, thick)
    kind = ("wood", "brass", "leather", "stone", "cloth", "earth")[int(rng.integers(6))]
    band = material(rng, kind)
    other = band if rng.random() < 0.55 else material(rng, kind, "cloth")
    colour = mix(other, band, upper.astype("f4"))
    across = np.abs(lane) / thick
    if rng.random() < 0.5:  # edged bands, as in carvings and ribbons
        colour = apply_tone(colour, 1 - 0.45 * np.exp(-(((across - 0.72) / 0.1) ** 2)))
    fibres = noise_1d(rng, lane * 0.3 + np.where(upper, np.floor(v), np.floor(u)) * 0.2)
    colour = apply_tone(colour, 1 + 0.07 * fibres)
    rough = fractal(rng, size, 20, 2.2)
    ground = material(rng, "dark", "stone", "leaf", kind) * 0.5
    colour = mix(apply_tone(ground, 1 + 0.1 * rough), colour, cover)
    relief = np.where(cover > 0, 1 + height, 0) * (36 / count) + 0.3 * rough
    return Surface(colour, relief, 0.45 if kind == "brass" else 0.1, occlusion=0.8)


def meshed(rng: Generator, size: int) -> Surface:
    """Thin wires or strings crossing into small openings, with a distant background."""
    u, v, count = cell_coordinates(rng, size, 5, 13, tilt=0.6, turn=0.2)
    if rng.random() < 0.65:  # diamonds
        u, v = u * 0.9 + v * 0.6, u * 0.9 - v * 0.6
    bend = rng.uniform(0.0, 0.13)
    u, v = u + bend * np.sin(v * (2 * math.pi)), v + bend * np.sin(u * (2 * math.pi))
    height, _, cover, _ = _over_under(u, v, rng.uniform(0.09, 0.17))
    palette = ("leaf", "sky", "dark") if rng.random() < 0.5 else ("dark", "stone", "cloth")
    far = blurred_background(rng, size, 4, *palette)
    wire = material(rng, "metal", "metal", "paper", "dark", "cloth", "brass")
    if np.abs(far.mean(axis=(0, 1)) - wire).sum() < 0.5:
        far = far * 0.35
    colour = mix(far, apply_tone(wire, 1 + 0.07 * fractal(rng, size, 40, 1.8)), cover)
    relief = np.where(cover > 0, 1 + height, 0) * (14 / count * 3)
    return Surface(colour, relief, 0.5 * cover, occlusion=0.1, ambient=0.45)


def lacelike(rng: Generator, size: int) -> Surface:
    """White threads: rosettes joined by a fine net, with open holes over a plain ground."""
    u, v = plane_coordinates(rng, size, tilt=0.35, warp=0.015)
    count = rng.uniform(2.2, 4.5)
    cells = scatter(rng, u * count, v * count, 0.0)
    angle, reach = np.arctan2(cells.dy, cells.dx), cells.first
    petals = int(rng.choice([5, 6, 8, 10, 12]))
    thin = rng.uniform(0.012, 0.02) * max(count / 3, 0.9)
    flower = rng.uniform(0.2, 0.27) + rng.uniform(0.05, 0.09) * np.cos(petals * angle)
    lines = [reach - flower, reach - flower * 0.62, reach - 0.07, reach - 0.42]
    threads = np.abs(lines).min(axis=0)
    spokes = np.abs(np.sin(angle * (petals / 2))) * reach * (2 / petals)
    threads = np.where((reach > 0.06) & (reach < 0.42), np.minimum(threads, spokes), threads)
    net = 24 / count * 2
    mesh = np.minimum(wave((u + v) * net * count / 5), wave((u - v) * net * count / 5))
    mesh = mesh * (2.5 / (net * count / 5) * count / 5)
    threads = np.where(reach > 0.44, np.minimum(threads, mesh), threads)
    solid = (reach < flower) & (np.cos(petals * angle) > 0.1) & (reach > flower * 0.66)
    lace = np.maximum(1 - step(threads - thin, 2 * count / size), 0.92 * solid.astype("f4"))
    ground = material(rng, "dark", "cloth", "skin", "leather", "sky", "wood")
    white = material(rng, "paper")
    if rng.random() < 0.15:
        ground, white = white, material(rng, "dark")
    elif ground.mean() > 0.6:
        ground = ground * 0.5
    rough = grain(rng, size)
    colour = mix(apply_tone(ground, 1 + 0.05 * smooth(rng, size, 4)), apply_tone(white, 1 + 0.06 * rough), lace)
    return Surface(colour, 2.2 * lace + 3 * smooth(rng, size, 2) + 0.1 * rough, 0.03, occlusion=0.6)


def gauzy(rng: Generator, size: int) -> Surface:
    """Thin translucent veils in long soft folds, light and fine threads showing through."""
    base = np.clip(material(rng, "paper", "paper", "sky", "cloth", "icing") * 0.55 + 0.4, 0, 1)
    colour = blurred_background(rng, size, 3, "sky", "leaf", "stone", "wood", "dark") * 0.8 + 0.06
    u, v = plane_coordinates(rng, size, tilt=0.15, turn=0.7, centred=True)
    relief, fine = np.zeros_like(u), rng.uniform(45, 70)
    for k in range(3):
        flare = u * (1 + rng.uniform(-0.5, 0.5) * v) + 0.06 * smooth(rng, size, 1.5)
        folds = 1.2 * noise_1d(rng, flare * rng.uniform(0.05, 0.09) + 0.3 * k, 0.0)
        folds = folds + 0.35 * np.sin(flare * rng.uniform(25, 70)) + 0.25 * smooth(rng, size, 3)
        crease = np.exp(-np.abs(folds) * 3.5)
        hem = 1.0 if k == 0 else step(u * rng.normal() + v * rng.normal() + 0.25 + 0.02 * folds, 0.012)
        net = np.sin((v + rng.uniform(-0.3, 0.3) * u) * (6.28 * fine))
        net = np.sin((flare + 0.01 * folds) * (2 * math.pi * fine)) * net
        veil = np.clip(0.26 + 0.1 * folds + 0.38 * crease, 0.08, 0.85) * (1 + rng.uniform(0.05, 0.22) * net) * hem
        colour = mix(colour, base * rng.uniform(0.92, 1.08), veil)
        relief = relief + folds * hem
    return Surface(colour, relief * rng.uniform(0.7, 2), 0.02, occlusion=0.1, ambient=0.6)


def frilly(rng: Generator, size: int) -> Surface:
    """Tiers of ruffles: each gathered at the top and waving at its hem, over the next."""
    u, v = plane_coordinates(rng, size, tilt=0.25, turn=0.5, centred=True)
    tiers = int(rng.integers(3, 7))
    base = material(rng, "cloth", "icing", "paper", "cloth", "leaf")
    edge = np.clip(base * rng.uniform(0.7, 1.35), 0, 1)
    colour, height = apply_tone(base * 0.45, np.ones_like(u)), np.zeros_like(u)
    cloth = fractal(rng, size, 30, 2.0)
    for k in range(tiers):  # from the lowest tier, which lies behind, to the top one
        hem = 0.62 - (k + 0.25) * 1.2 / tiers + 0.03 * smooth(rng, size, 2)
        phase = u * rng.uniform(5, 10) + 0.35 * smooth(rng, size, 5)
        ripple = np.sin(phase * (2 * math.pi)) + 0.4 * np.sin(phase * 11 + 1)
        reach = hem + 0.14 / tiers * ripple - v
        down = np.clip(1 - reach / (1.5 / tiers), 0, 1)
        fold = np.sin(phase * (2 * math.pi) + 2.2 * down) * (0.25 + down)
        inside, border = step(reach, 2.5 / size), np.exp(-np.maximum(reach, 0) * 45)
        tier = mix(apply_tone(base, 0.82 + 0.2 * down + 0.05 * cloth + 0.1 * fold), edge, border * 0.8)
        colour = mix(colour, tier, inside)
        height = height * (1 - inside) + inside * (5 * fold + 9 * down + 3 * k + 2 * border)
    return Surface(colour, height + 0.07 * cloth, 0.06, occlusion=0.8)


def waffled(rng: Generator, size: int) -> Surface:
    """Square pockets between raised ridges: waffles, cones, towels."""
    u, v, count = cell_coordinates(rng, size, 4, 9, tilt=0.6, warp=0.008)
    food = rng.random() < 0.7
    ridge_width, ridge = rng.uniform(0.3, 0.55), np.maximum(wave(u + 0.5), wave(v + 0.5))
    ridge = step(ridge - (1 - ridge_width * 0.5), rng.uniform(0.15, 0.35))
    rough = fractal(rng, size, 25, 2.2)
    base = material(rng, "baked") if food else material(rng, "paper", "cloth", "wool")
    brown = np.clip(0.35 + 0.35 * smooth(rng, size, 4) + 0.1 * rough, 0, 1)
    if food:
        colour = mix(base * 1.15, base * rgb(0.62, 0.48, 0.34), brown * (0.35 + 0.65 * ridge))
    else:
        colour = apply_tone(base, 1 + 0.06 * grain(rng, size))
    height = ridge * (224 / count * rng.uniform(0.2, 0.34)) + rough * 0.5
    gloss: float | Array = 0.12 if food else 0.0
    if food and rng.random() < 0.3:  # syrup in some pockets
        wet = (1 - ridge) * (scatter(rng, u + 0.5, v + 0.5, 0).pick(rng) < 0.5)
        colour = mix(colour, rgb(0.42, 0.18, 0.04), wet * 0.75)
        height, gloss = height - 0.5 * rough * wet, 0.12 + 0.35 * wet
    return Surface(apply_tone(colour, 1 + 0.05 * rough), height, gloss, occlusion=0.8)
