"""Render a surface as a photograph: light, shadow, lens and sensor."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from scipy import ndimage

from tools.textures.noise import Array, smooth

_REFERENCE_SIDE = 224  # heights are pixels of a picture of this side


@dataclass(frozen=True)
class Surface:
    """The result of a drawing. The ranges are 0 to 1."""

    colour: Array  # (S, S, 3) float32, sRGB-like, before light
    height: Array | None = None  # (S, S) float32 towards the viewer, in pixels of a 224 px picture; None: flat
    gloss: float | Array = 0.1  # from matt to wet or polished; a number or (S, S)
    occlusion: float = 0.5  # darkness of hollows
    ambient: float = 0.35  # ambient light


def _cast_shadow(height: Array, lamp: tuple[float, float, float], scale: float) -> Array:
    """(S, S) in [0, 1]: strength of the shadow that higher parts towards the lamp cast."""
    norm, cover = math.hypot(lamp[0], lamp[1]), np.zeros_like(height)
    for reach in (2, 5, 9):
        shift = [round(reach * scale * lamp[axis] / norm) for axis in (1, 0)]  # down and right
        here = tuple(slice(max(-by, 0), -by if by > 0 else None) for by in shift)
        there = tuple(slice(max(by, 0), by if by < 0 else None) for by in shift)
        raised = height[there] - height[here] - reach * (lamp[2] / norm) * 0.8
        np.maximum(cover[here], raised, out=cover[here])
    return np.minimum(cover * 0.35, 1)


def shade(rng: Generator, surface: Surface) -> Array:
    """Linear light (S, S, 3): lambert and Blinn-Phong on the height's normals, soft shadows."""
    albedo = np.clip(surface.colour, 0, 1)
    albedo *= albedo
    azimuth = rng.normal(-math.pi / 2, 0.9)  # the light comes mostly from above, 30 to 65 degrees high
    high = math.radians(rng.uniform(30, 65))
    lamp = (math.cos(high) * math.cos(azimuth), math.cos(high) * math.sin(azimuth), math.sin(high))
    if surface.height is None:
        return albedo
    height = surface.height
    scale = height.shape[0] / _REFERENCE_SIDE
    # central differences, per pixel of a 224 px picture; borders repeat
    gy, gx = np.empty_like(height), np.empty_like(height)
    np.subtract(height[2:], height[:-2], out=gy[1:-1])
    np.subtract(height[:, 2:], height[:, :-2], out=gx[:, 1:-1])
    gy[0], gy[-1], gx[:, 0], gx[:, -1] = gy[1], gy[-2], gx[:, 1], gx[:, -2]
    gy, gx = gy * (0.5 * scale), gx * (0.5 * scale)
    inverse = 1 / np.sqrt(gx * gx + gy * gy + 1)
    facing = np.maximum((lamp[2] - gx * lamp[0] - gy * lamp[1]) * inverse, 0) / lamp[2]
    facing *= 1 - 0.75 * _cast_shadow(height, lamp, scale)
    hollow = ndimage.uniform_filter(height, max(3, round(11 * scale))) - height
    open_sky = 1 - surface.occlusion * np.clip(hollow * 0.25, -0.15, 0.9)
    light = (surface.ambient + (1 - surface.ambient) * np.minimum(facing, 1.7)) * open_sky
    half = np.array([lamp[0], lamp[1], lamp[2] + 1]) / math.sqrt(2 + 2 * lamp[2])
    shine = np.maximum(((float(half[2]) - gx * float(half[0]) - gy * float(half[1])) * inverse), 0)
    for _ in range(4 if np.mean(surface.gloss) < 0.45 else 6):
        shine = shine * shine
    return albedo * light[..., None] + (shine * surface.gloss * 0.6)[..., None]


def simulate_camera(rng: Generator, light: Array) -> NDArray[np.uint8]:
    """uint8 (S, S, 3): uneven light, vignette, white balance, exposure, focus and sensor noise."""
    size = light.shape[0]
    axis = np.linspace(-1, 1, size, dtype=np.float32)
    field = 1 + rng.normal(0, 0.12) * axis[None] + rng.normal(0, 0.12) * axis[:, None]
    field = field + rng.uniform(0, 0.12) * smooth(rng, size, 2.0)
    field = field - rng.uniform(0, 0.22) * (axis[None] ** 2 + axis[:, None] ** 2)
    balance = np.exp(rng.normal(0, 0.035, 3) + rng.normal(0, 0.16)).astype(np.float32)
    picture = np.sqrt(np.maximum(light * np.maximum(field, 0.1)[..., None] * balance, 0))
    if rng.random() < 0.06:
        picture = np.repeat(picture.mean(axis=2, keepdims=True), 3, axis=2)
    picture = (picture - 0.5) * rng.uniform(0.85, 1.15) + 0.5 + rng.uniform(0, 0.04)
    image = Image.fromarray((np.clip(picture, 0, 1) * 255).astype(np.uint8))
    blur = rng.uniform(-0.3, 1.0) * size / _REFERENCE_SIDE
    if blur > 0.1:
        image = image.filter(ImageFilter.GaussianBlur(blur))
    sensor = rng.standard_normal((size, size, 3), dtype=np.float32) * rng.uniform(0.5, 5)
    return np.clip(np.asarray(image) + sensor, 0, 255).astype(np.uint8)
