"""From a decoded picture of whatever mode to the square everything happens in, a strip at a time.

A file of 200 kB may hold 64 million pixels. Decoded they take 4 bytes each, and every step over the whole picture
(turning, alpha, 64 bit numbers) would take as much again, or twice that. So each step sees a strip of the middle square
only. The result is, to the last bit, that of the whole picture: colours are converted pixel by pixel, and PIL shrinks
along the rows first, each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image

from rita_demo.errors import PictureError

STRIP = 1 << 20  # pixels of one
Box = tuple[int, int, int, int]
Turn = tuple[Image.Transpose, bool, bool]

#: EXIF orientation -> what turns the pixels upright, and whether the file's columns and its rows run backwards then.
TURNS: dict[int, Turn] = {
    2: (Image.Transpose.FLIP_LEFT_RIGHT, True, False),
    3: (Image.Transpose.ROTATE_180, True, True),
    4: (Image.Transpose.FLIP_TOP_BOTTOM, False, True),
    5: (Image.Transpose.TRANSPOSE, False, False),
    6: (Image.Transpose.ROTATE_270, False, True),
    7: (Image.Transpose.TRANSVERSE, True, True),
    8: (Image.Transpose.ROTATE_90, True, False),
}
SIDEWAYS = range(5, 9)  # of them, those whose rows are columns when upright


class Squaring:
    """A decoded picture on its way; nothing is computed before it is asked for.

    Args:
        image: loaded; of any mode, as it lies in the file.
    """

    def __init__(self, image: Image.Image) -> None:
        self._image, self._orientation = image, _orientation(image)
        self._white = False  # whether something was put on white

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the upright picture, in pixels."""
        width, height = self._image.size
        return (height, width) if self._orientation in SIDEWAYS else (width, height)

    def pixels(self, side: int, notes: list[str]) -> np.ndarray:
        """The middle square, ``side`` pixels a side: (side, side, 3) uint8. ``notes`` get a sentence for each step.

        Raises:
            PictureError: a brightness that is not a number; whatever PIL raises for a mode it cannot convert.
        """
        (width, height), said = self.size, list[str]()
        own = min(width, height)
        left, top = (width - own) // 2, (height - own) // 2
        convert = self._converter(said)
        narrow = Image.new("RGB", (side, own))  # as wide as asked for, as high as it was
        rows = max(1, STRIP // own)
        for first in range(0, own, rows):
            last = min(first + rows, own)
            strip = convert(self._upright((left, top + first, left + own, top + last)))
            if own != side:
                # PIL's bicubic widens its kernel when it shrinks: that is the antialiasing CLIP was trained with
                strip = strip.resize((side, last - first), Image.Resampling.BICUBIC)
            narrow.paste(strip, (0, first))
        notes += ["Turned upright, as the camera noted."] if self._orientation in TURNS else []
        notes += said + (["Transparent parts were put on white."] if self._white else [])
        if width != height:
            notes.append(f"Of {width} x {height} pixels the middle {own} x {own} are used.")
        if own != side:
            how = "enlarged" if own < side else "made smaller"
            notes.append(f"The square was {how} from {own} to {side} pixels a side.")
            narrow = narrow.resize((side, side), Image.Resampling.BICUBIC)
        return np.array(narrow)

    def _upright(self, box: Box) -> Image.Image:
        """A part of the upright picture, in the file's mode."""
        if self._orientation not in TURNS:
            return self._image.crop(box)
        how, columns_back, rows_back = TURNS[self._orientation]
        left, top, right, bottom = box
        columns, rows = (left, right), (top, bottom)
        if self._orientation in SIDEWAYS:
            columns, rows = rows, columns
        (left, right), (top, bottom) = (
            (length - b, length - a) if back else (a, b)
            for (a, b), back, length in zip(
                (columns, rows), (columns_back, rows_back), self._image.size, strict=True
            )
        )
        return self._image.crop((left, top, right, bottom)).transpose(how)

    def _converter(self, said: list[str]) -> Callable[[Image.Image], Image.Image]:
        image = self._image
        if image.mode == "RGB" and "transparency" not in image.info:
            return lambda strip: strip
        if image.mode.startswith(("I", "F")):
            scale = levels(map(np.asarray, self._strips()), said)
            return lambda strip: Image.fromarray(scale(np.asarray(strip))).convert("RGB")
        if image.has_transparency_data:
            return self._on_white
        if image.mode == "CMYK":
            said.append("Converted from print colours (CMYK); colours may differ a little.")
        return lambda strip: strip.convert("RGB")

    def _on_white(self, strip: Image.Image) -> Image.Image:
        rgba = strip.convert("RGBA")
        if np.asarray(rgba)[..., 3].min() == 255:  # opaque after all: copy exactly
            return rgba.convert("RGB")
        self._white = True
        white = Image.new("RGBA", rgba.size, "white")
        return Image.alpha_composite(white, rgba).convert("RGB")

    def _strips(self) -> Iterator[Image.Image]:
        """The whole picture, also what is cut away: the brightest pixel counts wherever it is."""
        width, height = self._image.size
        across, down = min(width, STRIP), max(1, STRIP // width)
        for top in range(0, height, down):
            for left in range(0, width, across):
                box = (left, top, min(left + across, width), min(top + down, height))
                yield self._image.crop(box)


def levels(strips: Iterator[np.ndarray], said: list[str]) -> Callable[[np.ndarray], np.ndarray]:
    """How grey values of more than 8 bit become uint8, over the whole range of their type: never clipped.

    Raises:
        PictureError: some are not numbers.
    """
    low, high, broken, whole = np.inf, -np.inf, False, False
    for strip in strips:
        whole = strip.dtype.kind in "iu"
        if not whole and not np.isfinite(strip).all():
            raise PictureError(
                "Expected brightness values, but some are not numbers.", "Use a PNG or JPEG photograph."
            )  # fmt: skip
        low, high = min(low, float(strip.min())), max(high, float(strip.max()))
        broken = broken or (not whole and bool((strip % 1 != 0).any()))
    if low >= 0 and high <= 1 and broken:
        how, of = "from 0-1", lambda values: values * 255.0
    elif not whole and low >= 0 and high <= 255:
        how, of = "from 0-255", lambda values: values
    elif low >= 0 and high <= 65535:
        how, of = "from 16 bit", lambda values: values / 257.0
    else:
        how = "from its own range"
        of = lambda values: (values - low) * (255.0 / max(high - low, 1e-12))  # noqa: E731
    said.append(f"Brightness was scaled to 8 bit {how}.")
    return lambda values: np.rint(of(values.astype(np.float64))).astype(np.uint8)


def _orientation(image: Image.Image) -> int:
    """Of the camera; 1 (upright) where the EXIF cannot be read: the pixels are what counts."""
    try:
        found = image.getexif().get(0x0112, 1)
        return int(found) if found in TURNS else 1
    except (OSError, ValueError, SyntaxError, KeyError, TypeError, IndexError):
        return 1
