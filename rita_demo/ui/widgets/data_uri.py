"""Pictures as data URIs, lossless for attacked pictures, small for the rest; the views as one JPEG, and the magnified perturbation."""

import base64
import io
import re
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from markupsafe import Markup
from PIL import Image

from rita_demo.records.json_value import JsonValue

COLUMNS = 8  # of the sprite (not of the page, which fits as many as it can)


def lossless_uri(pixels: np.ndarray) -> str:
    """(H, W, 3) uint8 -> a lossless WebP as data URI: half the size of a PNG, and faster."""
    return _uri(Image.fromarray(np.ascontiguousarray(pixels)), "webp", lossless=True, method=2)


def jpeg_uri(pixels: np.ndarray, side: int | None = None, quality: int = 85) -> str:
    """(H, W, 3) uint8 -> a JPEG as data URI, at most ``side`` pixels wide: for thumbnails only."""
    image = Image.fromarray(np.ascontiguousarray(pixels))
    if side is not None and image.width > side:
        image = image.resize((side, round(side * image.height / image.width)), Image.Resampling.LANCZOS)
    return _uri(image, "jpeg", quality=quality)


def data_uri(file: Path, kind: str) -> str:
    """A file as data URI; ``kind``: its media type."""
    return f"data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"


def image_bytes(uri: JsonValue) -> bytes:
    """The file in an untrusted data URI; b"" if there is none."""
    _, _, code = str(uri).partition(";base64,")
    try:
        return base64.b64decode(code, validate=True)
    except ValueError:
        return b""


def _uri(image: Image.Image, kind: str, **options: Any) -> str:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def thumbnail_html(pixels: np.ndarray | None, file: str = "") -> str:
    """HTML of a thumbnail, 48 pixels wide; of one that is not here what its ``file`` is called, a question mark if that is
    not known either."""
    if pixels is not None:
        return f'<img src="{jpeg_uri(pixels)}" alt="" width="48" height="48">'
    if not file:
        return Markup("<span class='blank'>?</span>")
    # its folder is its class, which the name may begin with: "accordion/image_0012", "banded_0012"
    path = PurePosixPath(file)
    name = path.stem if path.stem.startswith(path.parent.name) else f"{path.parent.name}/{path.stem}"
    broken = re.sub("([/_-])", "\\1&#8203;", escape(name))  # a line may end after a sign that joins two words
    return Markup(f"<span class='blank named'>{broken}</span>")


def crop_uri(pixels: np.ndarray, box: tuple[float, ...], side: int) -> str:
    """A ``box`` (left, top, right, bottom as fractions) of (H, H, 3) uint8 as data URI, ``side`` pixels wide."""
    edges = tuple(edge * pixels.shape[0] for edge in box or (0, 0, 1, 1))
    image = Image.fromarray(np.ascontiguousarray(pixels))
    return _uri(image.resize((side, side), Image.Resampling.BILINEAR, box=edges), "jpeg", quality=85)


def tiled(views: np.ndarray, columns: int) -> np.ndarray:
    """``views`` (N, s, s, 3) uint8 side by side in rows of ``columns``, as one picture. Empty cells are grey."""
    count, high, wide = views.shape[:3]
    rows = -(-count // columns)
    sheet = np.full((rows * columns, high, wide, 3), 128, np.uint8)
    sheet[:count] = views
    sheet = sheet.reshape(rows, columns, high, wide, 3).transpose(0, 2, 1, 3, 4)
    return sheet.reshape(rows * high, columns * wide, 3)


def magnified_perturbation(clean_pixels: np.ndarray, attacked_pixels: np.ndarray, gain: float = 20) -> np.ndarray:
    """What the attack added, (H, W, 3) uint8: mid-grey 128 is no change, ``gain`` levels per level, signed."""
    change = np.asarray(attacked_pixels, np.float32) - np.asarray(clean_pixels, np.float32)
    return np.clip(np.rint(128 + gain * change), 0, 255).astype(np.uint8)


def sprite_value(views: np.ndarray | None, element_id: str) -> str:
    """``views`` (N, s, s, 3) uint8 as one JPEG in rows of ``COLUMNS``, which takes 2 ms where 64 PNGs take a second: a style rule for the grid ``element_id``; ""
    without ``views``. They are sent apart from the buttons (:func:`grid_value`): half a megabyte that no selection
    changes. (As a variable the browser would read its address again for each crop at every change of a button.)"""
    return (
        ""
        if views is None
        else f"<style>#{element_id} .crop {{ background-image: url({jpeg_uri(tiled(views, COLUMNS))}) }}</style>"
    )
