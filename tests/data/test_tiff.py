"""A TIFF of every kind of sample opens with the right pixels, or is refused by its name: never as damaged or as noise."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo.data.pictures import open_picture
from tests.data.hostile import encoded
from tests.data.test_decode import LIMIT, PEAK
from tests.data.tiff_files import CMYK, DEFLATE, GREY, LZW, RGB, tiff
from tests.live_server import ROOT

SIDE = 50  # no multiple of a strip's or a tile's side
Y, X = np.mgrid[:SIDE, :SIDE]
COLOURS = np.stack([X * 5, Y * 5, 255 - (X + Y) * 2], 2).astype(np.uint8)
BRIGHT = COLOURS[:, :, :1]
OPAQUE = np.full((SIDE, SIDE, 1), 255, np.uint8)
#: Type of a sample -> the value of white.
WHITES: dict[str, float] = {"u1": 255, "u2": 65535, "u4": 2**32 - 1, "u8": 2**64 - 2**11, "i1": 127, "i2": 32767}
WHITES |= {"i4": 2**31 - 1, "i8": 2**63 - 2**10, "f2": 1, "f4": 1, "f8": 1}
LAYOUTS: dict[str, dict[str, Any]] = {
    "strips": {},
    "big-endian": {"order": ">"},
    "planes": {"separate": True},
    "planes, big-endian": {"separate": True, "order": ">"},
    "tiles": {"tile": 32},
    "tiles of planes": {"tile": 16, "separate": True},
    "deflated": {"compression": DEFLATE},
    "LZW": {"compression": LZW},
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


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_opacity_and_further_channels_of_every_kind_open_right(dtype: str, separate: bool) -> None:
    half = OPAQUE // 2
    on_white = 255 - (255 - COLOURS.astype(int)) * 127 / 255
    for alpha, extra, wanted in ((OPAQUE, 2, COLOURS), (half, 2, on_white), (OPAQUE, 1, COLOURS), (half, 0, COLOURS)):
        samples = stored(np.concatenate([COLOURS, alpha], 2), dtype)
        assert differs(tiff(samples, colours=RGB, separate=separate, extra=(extra,)), wanted) <= 2
    multiplied = np.rint(COLOURS * (127 / 255)).astype(np.uint8)
    samples = stored(np.concatenate([multiplied, half], 2), dtype)
    assert differs(tiff(samples, colours=RGB, separate=separate, extra=(1,)), on_white) <= 3
    grey = stored(np.concatenate([BRIGHT, half], 2), dtype)
    wanted = 255 - (255 - BRIGHT.astype(int)) * 127 / 255
    assert differs(tiff(grey, colours=GREY, separate=separate, extra=(2,)), wanted) <= 2
    five = stored(np.concatenate([COLOURS, half, BRIGHT], 2), dtype)
    found = open_picture(tiff(five, colours=RGB, separate=separate, extra=(0, 0)))
    assert np.abs(found.pixels.astype(int) - COLOURS).max() <= 1
    assert any("Of the file's 5 channels the colours are used" in note for note in found.notes)


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "f4"])
def test_print_colours_of_every_sample_type_open_right(dtype: str, separate: bool) -> None:
    ink = np.concatenate([255 - COLOURS, OPAQUE * 0], 2)
    assert differs(tiff(stored(ink, dtype), colours=CMYK, separate=separate), COLOURS) <= 1
    light = ink // 20  # the lightest ink is no sign of fewer bits
    assert differs(tiff(stored(light, dtype), colours=CMYK, separate=separate), 255 - light[:, :, :3].astype(int)) <= 1


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "f4", "f8"])
def test_white_may_be_zero(dtype: str) -> None:
    assert differs(tiff(stored(BRIGHT, dtype), colours=0), 255 - BRIGHT.astype(int)) <= 1


@pytest.mark.parametrize("bits", [10, 12, 14])
def test_camera_bits_in_16_bits_open_bright_and_are_said(bits: int) -> None:
    white = 2**bits - 1
    for levels, colours, separate in ((BRIGHT, GREY, False), (COLOURS, RGB, False), (COLOURS, RGB, True)):
        values = np.rint(levels / 255 * white).astype(np.uint16)
        found = open_picture(tiff(values, colours=colours, separate=separate))
        assert np.abs(found.pixels.astype(int) - levels).max() <= 1
        assert any(f"from {bits} bit, as no value is above" in note for note in found.notes), found.notes


def test_the_largest_value_by_the_file_s_own_word_counts() -> None:
    values = np.full((SIDE, SIDE, 1), 900, np.uint16)
    assert open_picture(tiff(values, colours=GREY)).pixels.max() == round(900 * 255 / 1023)
    stated = open_picture(tiff(values, colours=GREY, t281=(4095,)))
    assert stated.pixels.max() == round(900 * 255 / 4095)
    assert any("from 12 bit, as no value is above 4095" in note for note in stated.notes)


def test_a_dark_picture_is_said_to_be_dark() -> None:
    for data in (tiff(BRIGHT // 20, colours=GREY), encoded(COLOURS // 20), encoded(COLOURS[:, :, 0] // 20, "JPEG")):
        assert "The picture is very dark: no value is above 1" in " ".join(open_picture(data).notes)
    assert not open_picture(encoded(COLOURS)).notes


def test_of_several_pictures_the_first_is_used_and_it_is_turned_upright() -> None:
    floats = stored(COLOURS, "f4")
    found = open_picture(tiff(floats, colours=RGB, pages=3, t274=(6,)))
    assert np.abs(found.pixels.astype(int) - np.rot90(COLOURS, -1)).max() <= 1
    notes = " ".join(found.notes)
    assert "several pictures; the first one" in notes
    assert "Turned upright" in notes
    copy = open_picture(tiff(COLOURS, colours=RGB, t254=(1,)))
    assert any("a smaller copy of another one" in note for note in copy.notes)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status is Linux's")
def test_a_small_file_with_many_samples_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "small.png").write_bytes(encoded(COLOURS))
    path = tmp_path / "large.tif"
    samples = np.zeros((3260, 3260, 3), np.uint16)
    path.write_bytes(tiff(samples, colours=RGB, separate=True, compression=DEFLATE, tile=1024))
    assert path.stat().st_size < 1e6
    words = [sys.executable, "-c", PEAK, str(path)]
    run = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert float(run.stdout) < LIMIT
