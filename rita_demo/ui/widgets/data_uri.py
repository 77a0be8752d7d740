"""Pictures as data URIs: lossless for attacked pictures, small for the rest."""

import base64
import io

import numpy as np
from PIL import Image


def png_uri(pixels: np.ndarray) -> str:
    """(H, W, 3) uint8 -> a PNG as data URI, lossless; little compressed, for speed."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def jpeg_uri(pixels: np.ndarray, side: int | None = None, quality: int = 85) -> str:
    """(H, W, 3) uint8 -> a JPEG as data URI, at most ``side`` pixels wide: for thumbnails only."""
    image = Image.fromarray(np.ascontiguousarray(pixels))
    if side is not None and image.width > side:
        image = image.resize((side, round(side * image.height / image.width)), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def thumbnail_html(pixels: np.ndarray | None) -> str:
    """HTML of a thumbnail, 48 pixels wide; a question mark if there is none."""
    if pixels is None:
        return "<span class='blank'>?</span>"
    return f'<img src="{jpeg_uri(pixels)}" alt="" width="48" height="48">'
