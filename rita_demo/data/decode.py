"""From a decoded picture of any mode to the central square, in horizontal strips.

A file of 200 kB may hold 64 million pixels of 4 bytes. A step over the whole picture (rotation, alpha, 64 bit numbers)
would need as much memory again, so each step works on a strip of the central square. The result equals that of the
whole picture to the last bit: colours are converted pixel by pixel, and PIL resizes rows before columns.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
from PIL import Image

from rita_demo.records.errors import PictureError

STRIP_PIXELS = 1 << 20

#: EXIF orientation -> the transpose that makes the picture upright, and whether it reverses the file's columns and rows.
ORIENTATIONS = {
    2: (Image.Transpose.FLIP_LEFT_RIGHT, True, False),
    3: (Image.Transpose.ROTATE_180, True, True),
    4: (Image.Transpose.FLIP_TOP_BOTTOM, False, True),
    5: (Image.Transpose.TRANSPOSE, False, False),
    6: (Image.Transpose.ROTATE_270, False, True),
    7: (Image.Transpose.TRANSVERSE, True, True),
    8: (Image.Transpose.ROTATE_90, True, False),
}
ROTATED = range(5, 9)  # orientations that exchange rows and columns


class SquareDecoder:
    """A decoded picture of any mode, not yet rotated by its EXIF orientation, and its conversion to a square."""

    def __init__(self, image: Image.Image) -> None:
        self._image, self._orientation = image, 1  # upright, where EXIF says nothing or cannot be read
        with suppress(OSError, ValueError, SyntaxError, KeyError, TypeError, IndexError):
            self._orientation = image.getexif().get(0x0112, 1)
        self._white = False  # whether a pixel was transparent

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the upright picture, in pixels."""
        width, height = self._image.size
        return (height, width) if self._orientation in ROTATED else (width, height)

    def whole(self) -> np.ndarray:
        """The whole upright picture, (H, W, 3) uint8. Raises as :meth:`pixels`, whose squares are cut from it."""
        return np.array(self._converter([])(self._upright((0, 0, *self.size))))

    def pixels(self, side: int, notes: list[str]) -> np.ndarray:
        """The central square, (side, side, 3) uint8. Appends a sentence for each step to ``notes``.

        Raises:
            PictureError: a brightness that is not a number. PIL raises further errors for modes it cannot convert.
        """
        (width, height), colour_notes = self.size, list[str]()
        own = min(width, height)
        left, top = (width - own) // 2, (height - own) // 2
        convert = self._converter(colour_notes)
        narrow = Image.new("RGB", (side, own))  # resized along the rows only
        rows = max(1, STRIP_PIXELS // own)
        for first in range(0, own, rows):
            last = min(first + rows, own)
            strip = convert(self._upright((left, top + first, left + own, top + last)))
            if own != side:
                # PIL's bicubic filter widens when it shrinks: the antialiasing of CLIP's training
                strip = strip.resize((side, last - first), Image.Resampling.BICUBIC)
            narrow.paste(strip, (0, first))
        notes += ["Turned upright, as the camera noted."] if self._orientation in ORIENTATIONS else []
        notes += colour_notes + (["Transparent parts were put on white."] if self._white else [])
        if width != height:
            notes.append(f"Of {width} x {height} pixels the middle {own} x {own} are used.")
        if own != side:
            how = "enlarged" if own < side else "made smaller"
            notes.append(f"The square was {how} from {own} to {side} pixels a side.")
            narrow = narrow.resize((side, side), Image.Resampling.BICUBIC)
        return np.array(narrow)

    def _upright(self, box: tuple[int, int, int, int]) -> Image.Image:
        """A part of the upright picture, in the mode of the file."""
        if self._orientation not in ORIENTATIONS:
            return self._image.crop(box)
        how, columns_back, rows_back = ORIENTATIONS[self._orientation]
        left, top, right, bottom = box
        columns, rows = (left, right), (top, bottom)
        if self._orientation in ROTATED:
            columns, rows = rows, columns
        (left, right), (top, bottom) = (
            (length - b, length - a) if back else (a, b)
            for (a, b), back, length in zip((columns, rows), (columns_back, rows_back), self._image.size, strict=True)
        )
        return self._image.crop((left, top, right, bottom)).transpose(how)

    def _converter(self, notes: list[str]) -> Callable[[Image.Image], Image.Image]:
        image = self._image
        if image.mode == "RGB" and "transparency" not in image.info:
            return lambda strip: strip
        if image.mode.startswith(("I", "F")):
            scale = scale_to_uint8(map(np.asarray, self._strips()), notes, image.info.get("stated", 0))
            return lambda strip: Image.fromarray(scale(np.asarray(strip))).convert("RGB")
        if image.has_transparency_data:
            return self._on_white
        if image.mode == "CMYK":
            notes.append("Converted from print colours (CMYK); colours may differ a little.")
        return lambda strip: strip.convert("RGB")

    def _on_white(self, strip: Image.Image) -> Image.Image:
        strip = strip.convert("LA") if strip.mode == "La" else strip  # PIL converts it to no other mode
        rgba = strip.convert("RGBA")
        if np.asarray(rgba)[..., 3].min() == 255:  # opaque after all: copy exactly
            return rgba.convert("RGB")
        self._white = True
        return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")

    def _strips(self) -> Iterator[Image.Image]:
        """The whole picture in strips, also outside the square: the range of its values counts."""
        width, height = self._image.size
        across, down = min(width, STRIP_PIXELS), max(1, STRIP_PIXELS // width)
        for top in range(0, height, down):
            for left in range(0, width, across):
                yield self._image.crop((left, top, min(left + across, width), min(top + down, height)))


def to_uint8(values: np.ndarray, notes: list[str], stated: float = 0, bits: int = 0) -> np.ndarray:
    """Values (H, W) or (H, W, C) of any real type as uint8, see :func:`scale_to_uint8`; uint8 stays as it is."""
    if values.dtype == np.uint8 and not bits:
        return values
    rows = max(1, STRIP_PIXELS // values[0].size)
    strips = [values[top : top + rows] for top in range(0, len(values), rows)]
    scale = scale_to_uint8(iter(strips), notes, stated, bits)
    return np.concatenate([scale(strip) for strip in strips])


def alpha_to_uint8(values: np.ndarray, bits: int = 0) -> np.ndarray:
    """Opacity (H, W) of any real type as uint8, of 0 to the end of the smallest range that holds it."""
    largest = float(values.max())
    return to_uint8(values, [], bits=bits or (white_level(largest, values.dtype) or int(largest)).bit_length())


def scale_to_uint8(
    strips: Iterator[np.ndarray], notes: list[str], stated: float = 0, bits: int = 0
) -> Callable[[np.ndarray], np.ndarray]:
    """The function that maps brightness or colours to uint8, over the range of the values of the whole picture in
    ``strips``. ``stated``: a value that may occur by the file's own word; ``bits``: of a value, where they are no whole
    bytes. Appends a sentence on the range to ``notes``.

    Raises:
        PictureError: a value is NaN or infinite.
    """
    low, high, dtype = np.inf, float(stated), np.dtype(np.uint8)
    for strip in strips:
        dtype = strip.dtype
        if dtype.kind == "f" and not np.isfinite(strip).all():
            raise PictureError("Expected brightness values, but some are not numbers.", "Use a PNG or JPEG photograph.")
        low, high = min(low, float(strip.min())), max(high, float(strip.max()))
    white = (2**bits - 1 if bits else white_level(high, dtype)) if low >= 0 else 0
    if white:
        how = f"from 0-{white}" if white in (1, 255) else f"from {white.bit_length()} bit"
        usual = bits or white in (1, 255, 65535) or (dtype.kind in "iu" and white == np.iinfo(dtype).max)
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
