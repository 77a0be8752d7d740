"""Whatever Python has as a picture becomes the same square as the file does. What is no picture: test_bad_inputs.py."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from rita_demo.data.pictures import open_picture, picture_of, png_bytes, whole_pixels
from tests.data.hostile import encoded, gif, photo, rotated_jpeg

PIXELS = photo(64, 64)
TENSOR = torch.from_numpy(PIXELS)
FLOATS = TENSOR.permute(2, 0, 1) / 255


@pytest.mark.parametrize("side", [32, 224, 447])
def test_a_downloaded_square_comes_back_bit_for_bit(side: int, tmp_path: Path) -> None:
    pixels, path = photo(side, side), tmp_path / "attacked.png"
    path.write_bytes(png_bytes(pixels))
    for source in (path.read_bytes(), path, Image.open(path), pixels):
        for square, model_side in (("picture", None), ("picture", 224), ("model", side)):
            again = open_picture(source, square=square, side=model_side)
            assert np.array_equal(again.pixels, pixels)
            assert (again.key, again.notes) == (picture_of(pixels).key, ())
    assert picture_of(pixels).key != picture_of(photo(side, side, seed=1)).key


@pytest.mark.parametrize(
    ("size", "square", "model_side", "side"),
    [
        ((600, 400), "picture", None, 400),
        ((1000, 900), "picture", 112, 448),
        ((1, 1), "picture", None, 224),
        ((20, 8000), "picture", 112, 112),
        ((8000, 20), "model", 112, 112),
    ],
)
def test_the_square_has_the_documented_side(size, square, model_side, side) -> None:
    picture = open_picture(photo(*size), square=square, side=model_side)
    assert (picture.pixels.shape, picture.pixels.dtype) == ((side, side, 3), np.uint8)
    assert picture.source_size == size
    assert bool(picture.notes) == (size != (side, side))


MODES = "1 L P RGB RGBA CMYK YCbCr LAB HSV LA PA RGBX RGBa La I F I;16 I;16B I;16L"
GREEN = Image.new("RGB", (64, 64), (9, 200, 30))
#: A picture, its colour, and words of its note, "" for none.
COLOURS: dict[str, tuple[bytes, tuple[int, int, int], str]] = {
    "cmyk": (encoded(Image.new("CMYK", (64, 64), (0, 255, 255, 0)), "JPEG"), (255, 0, 0), "CMYK"),
    "palette": (encoded(GREEN.quantize(4)), (9, 200, 30), ""),
    "half": (encoded(Image.new("RGBA", (64, 64), (0, 0, 0, 128))), (127, 127, 127), "on white"),
    "grey of 16 bit": (encoded(Image.fromarray(np.full((64, 64), 77 * 257, np.uint16))), (77, 77, 77), "16 bit"),
    "float tiff": (encoded(Image.new("F", (64, 64), 0.5), "TIFF"), (128, 128, 128), "0-1"),
    "float tiff of levels": (encoded(Image.new("F", (64, 64), 99.6), "TIFF"), (100, 100, 100), "0-255"),
    "webp": (encoded(GREEN, "WEBP", lossless=True), (9, 200, 30), ""),
}


@pytest.mark.parametrize("kind", COLOURS)
def test_every_kind_of_colour_becomes_rgb(kind: str) -> None:
    data, colour, note = COLOURS[kind]
    picture = open_picture(data)
    assert np.abs(picture.pixels.astype(int) - colour).max() <= 1
    assert (note in " ".join(picture.notes)) if note else picture.notes == ()


def test_of_an_animation_the_first_frame_is_used() -> None:
    picture = open_picture(gif(3))
    assert np.array_equal(picture.pixels, open_picture(gif(1)).pixels)
    assert any("first one" in note for note in picture.notes)
    again = Image.open(io.BytesIO(gif(3)))
    again.seek(2)
    assert np.array_equal(open_picture(again).pixels, picture.pixels)


ARRAYS: dict[str, Any] = {
    "colours last": TENSOR,
    "colours first": TENSOR.permute(2, 0, 1),
    "floats, colours first": FLOATS,
    "floats, colours last": TENSOR / 255,
    "half": FLOATS.half(),
    "a batch of one": FLOATS[None],
    "of a computation": FLOATS.clone().requires_grad_() * 1.0,
    "array, colours first": np.moveaxis(PIXELS, 2, 0),
    "array, turned": PIXELS[::-1, ::-1].copy()[::-1, ::-1],
    "array of half floats": (PIXELS / 255).astype(np.float16),
    "array, read only": np.frombuffer(PIXELS.tobytes(), np.uint8).reshape(PIXELS.shape),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_tensor_or_array_of_any_layout_is_the_same_picture(name: str) -> None:
    assert np.array_equal(open_picture(ARRAYS[name]).pixels, PIXELS)


def test_open_files_and_bytes_are_the_same_picture(tmp_path: Path) -> None:
    data = png_bytes(PIXELS)
    (tmp_path / "a.png").write_bytes(data)
    buffer = io.BytesIO()
    Image.fromarray(PIXELS).save(buffer, "PNG")  # stands at its end
    pipe = SimpleNamespace(seekable=lambda: False, read=lambda count: data)  # cannot go back
    with (tmp_path / "a.png").open("rb") as file:
        for one in (file, pipe, buffer, io.BytesIO(data), bytearray(data), memoryview(data), tmp_path / "a.png"):
            for _ in range(2):
                assert np.array_equal(open_picture(one).pixels, PIXELS)


@pytest.mark.parametrize("mode", MODES.split())
def test_a_pil_picture_of_every_mode_opens(mode: str) -> None:
    assert open_picture(Image.new(mode, (64, 64))).pixels.shape == (64, 64, 3)


def test_the_whole_picture_gives_the_squares_of_the_file() -> None:
    palette = encoded(Image.fromarray(photo(61, 98)).quantize(9))
    for source in (encoded(photo(97, 60, 4)), rotated_jpeg(6, 90, 50), palette):
        whole = whole_pixels(source)
        for side in (32, 48, 224):
            direct = open_picture(source, square="model", side=side)
            assert np.array_equal(open_picture(whole, square="model", side=side).pixels, direct.pixels)
            assert whole.shape[1::-1] == direct.source_size
