"""The square of a picture, every step on the whole picture in memory."""

import numpy as np
from PIL import Image, ImageOps


def square_of(image: Image.Image, side: int | None = None) -> np.ndarray:
    """(side, side, 3) uint8 of a picture of any mode; None: the size of its central square."""
    image.load()
    rgb = _rgb(ImageOps.exif_transpose(image))
    width, height = rgb.size
    own = min(width, height)
    left, top = (width - own) // 2, (height - own) // 2
    rgb = rgb.crop((left, top, left + own, top + own))
    return np.array(rgb.resize((side or own, side or own), Image.Resampling.BICUBIC))


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith(("I", "F")):
        return Image.fromarray(_levels(np.asarray(image))).convert("RGB")
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        if np.asarray(rgba)[..., 3].min() == 255:
            return rgba.convert("RGB")
        return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
    return image.convert("RGB")


def _levels(values: np.ndarray) -> np.ndarray:
    whites = [255, 1023, 4095, 16383, 65535] if values.dtype.kind in "iu" else [1, 255, 1023, 4095, 16383, 65535]
    values = values.astype(np.float64)
    low, high = float(values.min()), float(values.max())
    enough = [white for white in whites if low >= 0 and high <= white]
    scaled = values * 255.0 / enough[0] if enough else (values - low) * (255.0 / max(high - low, 1e-12))
    return np.rint(scaled).astype(np.uint8)
