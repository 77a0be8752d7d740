"""From a decoded picture of any mode to the central square.

A file of 200 kB may hold 64 million pixels of 4 bytes. A step over the whole picture (alpha, 64 bit numbers) would need as
much memory again, so each step works on a band of rows. The result equals that of the whole picture to the last bit:
colours are converted pixel by pixel, and PIL resizes rows before columns.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import numpy as np
from PIL import Image, ImageOps

from rita_demo.records.errors import PictureError

BAND = 1 << 20  # pixels


def upright_size(image: Image.Image, orientation: int) -> tuple[int, int]:
    """Width and height of a picture that is turned by its EXIF orientation, 1 to 8."""
    return image.size if orientation < 5 else (image.height, image.width)


def whole_picture(image: Image.Image, orientation: int) -> np.ndarray:
    """The whole upright picture, (H, W, 3) uint8. Raises as :func:`central_square`, whose squares are cut from it."""
    return np.array(_converter(image, [])(_upright(image, orientation, (0, 0, *upright_size(image, orientation)))))


def central_square(image: Image.Image, orientation: int, side: int, notes: list[str]) -> np.ndarray:
    """The central square of the upright picture, (side, side, 3) uint8. Appends a sentence for each step to ``notes``.
    Raises PictureError: a brightness that is not a number. PIL raises further errors for modes it cannot convert."""
    width, height = upright_size(image, orientation)
    shorter = min(width, height)
    left, top = (width - shorter) // 2, (height - shorter) // 2
    convert = _converter(image, notes)
    narrow = Image.new("RGB", (side, shorter))  # resized along the rows only
    for first, band in _bands(image, orientation, (left, top, left + shorter, top + shorter)):
        strip = convert(band)
        if shorter != side:
            # PIL's bicubic filter widens when it shrinks: the antialiasing of CLIP's training
            strip = strip.resize((side, strip.height), Image.Resampling.BICUBIC)
        narrow.paste(strip, (0, first))
    if width != height:
        notes.append(f"Of {width} x {height} pixels the middle {shorter} x {shorter} are used.")
    if shorter != side:
        how = "enlarged" if shorter < side else "made smaller"
        notes.append(f"The square was {how} from {shorter} to {side} pixels a side.")
        narrow = narrow.resize((side, side), Image.Resampling.BICUBIC)
    return np.array(narrow)


Box = tuple[int, int, int, int]  # left, top, right, bottom


def _bands(image: Image.Image, orientation: int, box: Box) -> Iterator[tuple[int, Image.Image]]:
    """(first row, rows) of a part of the upright picture, from its top to its bottom, in the mode of the file."""
    left, top, right, bottom = box
    rows = max(1, BAND // (right - left))
    for first in range(top, bottom, rows):
        yield first - top, _upright(image, orientation, (left, first, right, min(first + rows, bottom)))


def _upright(image: Image.Image, orientation: int, box: Box) -> Image.Image:
    """A part of the upright picture: as it lies in the file, then turned."""
    left, top, right, bottom = box
    if orientation >= 5:  # rows and columns are exchanged
        left, top, right, bottom = top, left, bottom, right
    if orientation in (2, 3, 7, 8):  # columns run backwards
        left, right = image.width - right, image.width - left
    if orientation in (3, 4, 6, 7):  # rows run backwards
        top, bottom = image.height - bottom, image.height - top
    part = image.crop((left, top, right, bottom))
    with suppress(Exception):  # EXIF that cannot be written again: the part is turned before that
        part.getexif()[0x0112] = orientation
        ImageOps.exif_transpose(part, in_place=True)
    return part


def _converter(image: Image.Image, notes: list[str]) -> Callable[[Image.Image], Image.Image]:
    """The function that makes a part of a picture RGB."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return lambda band: band
    if image.mode.startswith(("I", "F")):  # the range of all values counts, also outside the square
        values = (np.asarray(band) for _, band in _bands(image, 1, (0, 0, *image.size)))
        scale = scale_to_uint8(values, notes, image.info.get("stated", 0))
        return lambda band: Image.fromarray(scale(np.asarray(band))).convert("RGB")
    if image.mode == "CMYK":
        notes.append("Converted from print colours (CMYK); colours may differ a little.")
    if not image.has_transparency_data:
        return lambda band: band.convert("RGB")

    def on_white(band: Image.Image) -> Image.Image:
        rgba = (band.convert("LA") if band.mode == "La" else band).convert("RGBA")  # PIL converts La to no other mode
        if np.asarray(rgba)[..., 3].min() == 255:  # opaque after all: copy exactly
            return rgba.convert("RGB")
        if (said := "Transparent parts were put on white.") not in notes:
            notes.append(said)
        return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")

    return on_white


def to_uint8(values: np.ndarray, notes: list[str], stated: float = 0, white: int = 0) -> np.ndarray:
    """Values (H, W) or (H, W, C) of any real type as uint8, see :func:`scale_to_uint8`; uint8 stays as it is."""
    if values.dtype == np.uint8:
        return values
    bands = np.array_split(values, min(len(values), 1 + values.size // BAND))
    scale = scale_to_uint8(bands, notes, stated, white)
    return np.concatenate([scale(band) for band in bands])


def alpha_to_uint8(values: np.ndarray) -> np.ndarray:
    """Opacity (H, W) of any real type as uint8, of 0 to the end of the smallest range that holds it."""
    largest = float(values.max())
    bits = (white_level(largest, values.dtype) or int(largest)).bit_length()
    return to_uint8(values, [], white=2**bits - 1)


def scale_to_uint8(
    bands: Iterable[np.ndarray], notes: list[str], stated: float = 0, white: int = 0
) -> Callable[[np.ndarray], np.ndarray]:
    """The function that maps brightness or colours to uint8, over the range of the values of the whole picture in
    ``bands``. ``stated``: a value that may occur by the file's own word; ``white``: the value of white, where it is
    known. Appends a sentence on the range to ``notes``. Raises PictureError: a value is NaN or infinite."""
    low, high, dtype = np.inf, float(stated), np.dtype(np.uint8)
    for band in bands:
        dtype = band.dtype
        if dtype.kind == "f" and not np.isfinite(band).all():
            raise PictureError("Expected brightness values, but some are not numbers.", "Use a PNG or JPEG photograph.")
        low, high = min(low, float(band.min())), max(high, float(band.max()))
    white = (white or white_level(high, dtype)) if low >= 0 else 0
    if white:
        how = f"from 0-{white}" if white in (1, 255) else f"from {white.bit_length()} bit"
        usual = white in (1, 255, 65535) or (dtype.kind in "iu" and white == np.iinfo(dtype).max)
        notes.append(f"Brightness was scaled to 8 bit {how}{'' if usual else f', as no value is above {high:g}'}.")
        return lambda values: np.rint(values.astype(np.float64) * 255.0 / white).astype(np.uint8)
    notes.append("Brightness was scaled to 8 bit from its own range.")
    scale = 255.0 / max(high - low, 1e-12)
    return lambda values: np.rint((values.astype(np.float64) - low) * scale).astype(np.uint8)


def white_level(high: float, dtype: np.dtype) -> int:
    """The value of white for values from 0 to ``high``: the largest one of 8, 10, 12, 14 or 16 bit, as cameras and
    microscopes store them, or of 24 bit or the whole type where a quarter of it is used; 1 for floats up to 1. 0: the values
    have a range of their own."""
    ends = [2**bits - 1 for bits in (8, 10, 12, 14, 16)]
    if dtype.kind == "f":
        ends = [1, *ends]
    else:
        largest = int(np.iinfo(dtype).max)
        ends = [end for end in (*ends, 2**24 - 1, 2**32 - 1) if end < largest] + [largest]
    white = next((end for end in ends if high <= end), 0)
    return white if white <= 65535 or high >= white / 4 else 0
