"""User input becomes a square picture, or gives an error message."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rita_demo.data.pictures import open_picture, picture_of, png_bytes
from rita_demo.records.errors import PictureError
from tests.data.hostile import encoded, gif, photo, png_header

SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
BAD: list[tuple[str, bytes, str]] = [
    ("a text renamed jpg", b"Dear Sir or Madam, this is not a photograph.", "plain text"),
    ("a truncated png", encoded(photo())[:2000], "damaged or cut off"),
    ("a truncated jpeg", encoded(photo(300, 300), "JPEG")[:9000], "damaged or cut off"),
    ("a png with only its signature", b"\x89PNG\r\n\x1a\n", "damaged or cut off"),
    ("a jpeg with only its signature", b"\xff\xd8\xff\xe0", "damaged or cut off"),
    ("a header of 50000 x 50000", png_header(50_000, 50_000), "64 million pixels"),
    ("a header of 10000 x 10000", png_header(10_000, 10_000), "64 million pixels"),
    ("a header of 8000 x 9000", png_header(8_000, 9_000), "8000 x 9000"),
    ("a header without pixels", png_header(0, 0), "damaged|0 x 0"),
    ("a header that promises more than it holds", png_header(300, 300), "damaged or cut off"),
    ("an svg", SVG, "SVG"),
    ("a web page", b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
    ("an empty file", b"", "empty"),
    ("a heic", b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + b"\0" * 99, "HEIC"),
    ("a video", b"\x00\x00\x00\x18ftypisom" + b"\0" * 99, "video"),
    ("a pdf", b"%PDF-1.7\n" + b"\xe2\xe3" * 50, "PDF"),
    ("an archive", b"PK\x03\x04" + b"\0" * 99, "zip"),
    ("random bytes", bytes(range(128, 256)), "no kind known"),
    ("a postscript program", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "PostScript"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "data", "words"), BAD, ids=[row[0] for row in BAD])
def test_an_unusable_picture_file_gives_an_error_message(name: str, data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "holiday.jpg"
    path.write_bytes(data)
    for source in (data, path, str(path)):
        with pytest.raises(PictureError, match=words) as caught:
            open_picture(source)
        assert str(tmp_path) not in str(caught.value)
        assert caught.value.hint


def test_paths_without_a_file_give_an_error_message(tmp_path: Path) -> None:
    missing, long = tmp_path / "missing.png", tmp_path / ("x" * 5000)
    rows = {tmp_path: "is a folder", missing: "There is no file 'missing.png'", long: "cannot be read"}
    for place, words in (rows | {"a\0b.png": "cannot be read|There is no file"}).items():
        with pytest.raises(PictureError, match=words) as caught:
            open_picture(place)
        assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("side", [32, 33, 64, 112, 200, 224, 447, 448])
@pytest.mark.parametrize("how", ["bytes", "path", "image", "array"])
def test_a_downloaded_square_comes_back_bit_for_bit(side: int, how: str, tmp_path: Path) -> None:
    pixels = photo(side, side)
    data = png_bytes(pixels)
    path = tmp_path / "attacked.png"
    path.write_bytes(data)
    sources = {"bytes": data, "path": path, "image": Image.open(path), "array": pixels}
    for square, model_side in (("picture", None), ("picture", 224), ("model", side)):
        again = open_picture(sources[how], square=square, side=model_side)
        assert np.array_equal(again.pixels, pixels)
        assert again.key == picture_of(pixels).key
        assert again.notes == ()


@pytest.mark.parametrize("mode", ["RGBA", "RGB with a transparent colour"])
def test_an_opaque_picture_keeps_its_pixels_when_saved_with_alpha(mode: str) -> None:
    pixels = photo(100, 100)
    pixels[0, 0] = (1, 2, 3)
    rgba = Image.fromarray(pixels).convert("RGBA")
    again = open_picture(encoded(rgba) if mode == "RGBA" else encoded(pixels, transparency=(1, 2, 4)))
    assert np.array_equal(again.pixels, pixels)
    assert again.notes == ()


@pytest.mark.parametrize(
    ("size", "square", "model_side", "side"),
    [
        ((600, 400), "picture", None, 400),
        ((1000, 900), "picture", 112, 448),
        ((100, 80), "picture", 224, 80),
        ((1, 1), "picture", 112, 112),
        ((1, 1), "picture", None, 224),
        ((31, 31), "picture", 224, 224),
        ((20, 8000), "picture", 112, 112),
        ((8000, 20), "model", 112, 112),
        ((600, 400), "model", 112, 112),
        ((1, 1), "model", 224, 224),
    ],
)
def test_the_square_has_the_documented_side(
    size: tuple[int, int], square: str, model_side: int | None, side: int
) -> None:
    picture = open_picture(photo(*size), square=square, side=model_side)
    assert (picture.pixels.shape, picture.pixels.dtype) == ((side, side, 3), np.uint8)
    assert picture.source_size == size
    assert bool(picture.notes) == (size != (side, side))


def test_shrinking_averages_instead_of_skipping_pixels() -> None:
    board = (np.indices((448, 448)).sum(0) % 2 * 255).astype(np.uint8)
    assert np.ptp(open_picture(board, square="model", side=112).pixels.astype(int)) < 40


GOOD: list[tuple[str, bytes, tuple[int, int, int], str]] = [
    ("cmyk", encoded(Image.new("CMYK", (64, 64), (0, 255, 255, 0)), "JPEG"), (255, 0, 0), "CMYK"),
    ("palette", encoded(Image.new("RGB", (64, 64), (9, 200, 30)).quantize(4)), (9, 200, 30), ""),
    ("alpha", encoded(Image.new("RGBA", (64, 64), (9, 9, 9, 0))), (255, 255, 255), "on white"),
    ("half", encoded(Image.new("RGBA", (64, 64), (0, 0, 0, 128))), (127, 127, 127), "on white"),
    ("grey and alpha", encoded(Image.new("LA", (64, 64), (9, 0))), (255, 255, 255), "on white"),
    ("grey", encoded(Image.new("L", (64, 64), 77)), (77, 77, 77), ""),
    ("grey of 16 bit", encoded(Image.fromarray(np.full((64, 64), 77 * 257, np.uint16))), (77, 77, 77), "16 bit"),
    ("one bit", encoded(Image.new("1", (64, 64), 1)), (255, 255, 255), ""),
    ("float tiff", encoded(Image.new("F", (64, 64), 0.5), "TIFF"), (128, 128, 128), "0-1"),
    ("float tiff of levels", encoded(Image.new("F", (64, 64), 99.6), "TIFF"), (100, 100, 100), "0-255"),
    ("webp", encoded(Image.new("RGB", (64, 64), (9, 200, 30)), "WEBP", lossless=True), (9, 200, 30), ""),
    ("bmp", encoded(Image.new("RGB", (64, 64), (9, 200, 30)), "BMP"), (9, 200, 30), ""),
]


@pytest.mark.parametrize(("name", "data", "colour", "note"), GOOD, ids=[row[0] for row in GOOD])
def test_every_kind_of_colour_becomes_rgb(name: str, data: bytes, colour: tuple[int, int, int], note: str) -> None:
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


def test_the_key_depends_on_the_content() -> None:
    assert open_picture(photo(seed=1)).key == open_picture(encoded(photo(seed=1))).key
    assert open_picture(photo(seed=1)).key != open_picture(photo(seed=2)).key
