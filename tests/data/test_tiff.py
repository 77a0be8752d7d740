"""A TIFF of every kind of sample opens with the right pixels, or is refused by its name: never as damaged or as noise."""

from typing import Any

import numpy as np
import pytest

from rita_demo.data.pictures import open_picture
from tests.data.tiff_files import DEFLATE, GREY, LZW, RGB, tiff

SIDE = 50  # no multiple of a strip's or a tile's side
Y, X = np.mgrid[:SIDE, :SIDE]
COLOURS = np.stack([X * 5, Y * 5, 255 - (X + Y) * 2], 2).astype(np.uint8)
BRIGHT = COLOURS[:, :, :1]
#: Type of a sample -> the value of white.
WHITES: dict[str, float] = {"u1": 255, "u2": 65535, "u4": 2**32 - 1, "u8": 2**64 - 2**11, "i1": 127, "i2": 32767}
WHITES |= {"i4": 2**31 - 1, "i8": 2**63 - 2**10, "f2": 1, "f4": 1, "f8": 1}
LAYOUTS: dict[str, dict[str, Any]] = {
    "strips": {},
    "big-endian": {"order": ">"},
    "planes": {"separate": True},
    "tiles": {"tile": 32},
    "deflated": {"compression": DEFLATE},
    "LZW, tiles of planes": {"compression": LZW, "tile": 32, "separate": True},
    "differences": {"compression": DEFLATE, "predictor": 2},
    "differences in tiles, big-endian": {"compression": LZW, "predictor": 2, "tile": 32, "order": ">"},
    "BigTIFF": {"big": True},
}


def stored(levels: np.ndarray, dtype: str) -> np.ndarray:
    """0..255 as samples of another type."""
    scaled = levels / 255 * WHITES[dtype]
    return scaled.astype(dtype) if dtype[0] == "f" else np.rint(scaled).astype(dtype)


def differs(data: bytes, wanted: np.ndarray) -> int:
    """By how much a pixel of the opened file differs at most from 0..255 wanted."""
    return int(np.abs(open_picture(data).pixels.astype(int) - wanted).max())


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", WHITES)
def test_every_sample_type_opens_right_in_every_layout(dtype: str, layout: dict[str, Any]) -> None:
    if layout.get("predictor") == 2 and dtype[0] == "f":
        layout = layout | {"predictor": 3}  # the one for floats
    assert differs(tiff(stored(BRIGHT, dtype), colours=GREY, **layout), BRIGHT) <= 1
    assert differs(tiff(stored(COLOURS, dtype), colours=RGB, **layout), COLOURS) <= 1


@pytest.mark.parametrize("bits", [10, 12, 14])
def test_camera_bits_in_16_bits_open_bright_and_are_said(bits: int) -> None:
    white = 2**bits - 1
    for levels, colours, separate in ((BRIGHT, GREY, False), (COLOURS, RGB, False), (COLOURS, RGB, True)):
        values = np.rint(levels / 255 * white).astype(np.uint16)
        found = open_picture(tiff(values, colours=colours, separate=separate))
        assert np.abs(found.pixels.astype(int) - levels).max() <= 1
        assert any(f"from {bits} bit, as no value is above" in note for note in found.notes), found.notes


def test_of_several_pictures_the_first_is_used_and_it_is_turned_upright() -> None:
    floats = stored(COLOURS, "f4")
    found = open_picture(tiff(floats, colours=RGB, pages=3, t274=(6,)))
    assert np.abs(found.pixels.astype(int) - np.rot90(COLOURS, -1)).max() <= 1
    notes = " ".join(found.notes)
    assert "several pictures; the first one" in notes
    assert "Turned upright" in notes
