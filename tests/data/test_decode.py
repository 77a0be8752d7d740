"""Decoding in strips gives the same bits as decoding the whole picture, with less memory."""

import io
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin

from rita_demo.data import decode, pictures
from rita_demo.data.pictures import Source, open_picture
from rita_demo.records import Picture
from rita_demo.records.errors import PictureError
from tests.data.hostile import encoded, photo
from tests.live_server import ROOT
from tests.oracles.whole_picture import square_of

SIZES = [(61, 61), (97, 60), (60, 97), (61, 98), (33, 300)]
RNG = np.random.default_rng(0)


def colourful(width: int, height: int, channels: int = 3) -> Image.Image:
    return Image.fromarray(photo(width, height, channels, seed=width))


def numbers(kind: str, low: float, high: float) -> object:
    return lambda width, height: Image.fromarray(RNG.uniform(low, high, (height, width)).astype(kind))


KINDS = {
    "RGB": colourful,
    "RGBA": lambda w, h: colourful(w, h, 4),
    "1": lambda w, h: colourful(w, h).convert("1"),
    "P": lambda w, h: colourful(w, h).quantize(32),
    "CMYK": lambda w, h: colourful(w, h).convert("CMYK"),
    "I;16": numbers("uint16", 0, 65536),
    "I": numbers("int32", -70_000, 70_000),
    "F of any range": numbers("float32", -3, 1e6),
}


@pytest.fixture(autouse=True)
def narrow_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "BAND", 700)


def square_in_strips(source: Source, side: int | None) -> Picture:
    return open_picture(source, square="picture" if side is None else "model", side=side or 224)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_mode_gives_the_bits_of_the_whole_picture(kind: str, size: tuple[int, int]) -> None:
    image = KINDS[kind](*size)
    for side in (None, 32, 48, 224):
        assert np.array_equal(square_in_strips(image, side).pixels, square_of(image, side)), side


@pytest.mark.parametrize("orientation", range(1, 10))
@pytest.mark.parametrize("size", SIZES)
def test_every_exif_orientation_gives_the_bits_of_the_whole_picture(orientation: int, size: tuple[int, int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    for kind, image in (("PNG", colourful(*size, 4)), ("JPEG", colourful(*size))):
        data = encoded(image, kind, exif=exif)
        for side in (None, 48):
            found = square_in_strips(data, side)
            assert np.array_equal(found.pixels, square_of(Image.open(io.BytesIO(data)), side))
            assert found.source_size == (size[::-1] if orientation in range(5, 9) else size)
            assert any("upright" in note for note in found.notes) == (orientation in range(2, 9))


PEAK = """
import sys
from pathlib import Path
from typing import Any
from rita_demo.data.pictures import open_picture

def peak():  # in MB, of this process alone: ru_maxrss begins with what the test's own process had
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

open_picture(Path(sys.argv[1]).with_name("small.png"))
before = peak()
open_picture(sys.argv[1])
print(peak() - before)
"""
#: Mode, size, suffix, and how it is saved: each as large as it may be, and less than 5 MB as a file.
LARGEST = {
    "turned": ("RGBA", (7_900, 7_900), "png", {"compress_level": 1, "exif": Image.Exif()}),
    "F": ("F", (7_900, 7_900), "tif", {"compression": "tiff_lzw"}),
    "TIFF in one strip": ("RGBA", (5_600, 5_600), "tif", {"compression": "tiff_lzw"}),
    "wide": ("RGBA", (30_000, 2_100), "png", {"compress_level": 1}),
    "progressive CMYK": ("CMYK", (5_600, 5_600), "jpg", {"progressive": True, "subsampling": 0}),
    "AVIF": ("RGB", (5_600, 5_600), "avif", {"speed": 10}),
    "WebP": ("RGB", (5_600, 5_600), "webp", {"method": 0}),
}
LARGEST["turned"][3]["exif"][0x0112] = 6
#: Of each way to decode the one that takes most; the others at night.
TYPICAL = ("turned", "TIFF in one strip", "progressive CMYK", "WebP")
OTHERS = [kind for kind in LARGEST if kind not in TYPICAL]
LIMIT, LIMITS = 330, {"progressive CMYK": 400, "WebP": 500}  # MB above what reading a small picture took


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status is Linux's")
@pytest.mark.parametrize("kind", [*TYPICAL, *(pytest.param(kind, marks=pytest.mark.nightly) for kind in OTHERS)])
def test_decoding_the_largest_picture_uses_little_extra_memory(kind, tmp_path, monkeypatch) -> None:
    """Decoded, these have up to 4 bytes per pixel: 250 MB."""
    (tmp_path / "small.png").write_bytes(encoded(photo()))
    mode, size, suffix, more = LARGEST[kind]
    path = tmp_path / f"large.{suffix}"
    if "one strip" in kind:
        monkeypatch.setattr(TiffImagePlugin, "STRIP_SIZE", 1 << 30)
    Image.new(mode, size, 0.5 if mode == "F" else 9).save(path, **more)
    assert path.stat().st_size < 5e6
    words = [sys.executable, "-c", PEAK, str(path)]
    run = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert 10 < float(run.stdout) < LIMITS.get(kind, LIMIT)


def test_at_most_two_pictures_are_decoded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, now, most, pixels = threading.Lock(), [0], [0], pictures.central_square

    def slowly(*given: Any) -> np.ndarray:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        try:
            return pixels(*given)
        finally:
            with lock:
                now[0] -= 1

    monkeypatch.setattr(pictures, "central_square", slowly)
    data = encoded(photo(40, 40))
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda _: open_picture(data).key, range(24)))
    assert most == [2]
    assert len(set(found)) == 1


def test_an_unreadable_picture_releases_its_decoding_slot() -> None:
    for _ in range(5):
        with pytest.raises(PictureError):
            open_picture(encoded(photo())[:2000])
    assert open_picture(encoded(photo())).pixels.shape == (64, 64, 3)


WIDE = Image.new("L", (6_000, 5_400))


def in_one_strip(compression: str | None) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TiffImagePlugin, "STRIP_SIZE", 1 << 30)
        return encoded(WIDE, "TIFF", compression=compression)


def one_channel_first() -> bytes:
    """A JPEG whose first scan has one channel instead of three."""
    data = encoded(WIDE.convert("RGB"), "JPEG")
    at = data.index(b"\xff\xda")
    return data[: at + 2] + b"\x00\x08\x01" + data[at + 5 : at + 7] + data[at + 11 :]


#: What its decoder holds beside the picture: a gigabyte for a WebP of 64 million pixels, 2 bytes of each value of a JPEG
#: until the last scan has come, an unpacked strip, a TIFF before it is turned.
HUNGRY: dict[str, Callable[[], bytes]] = {
    "WebP": lambda: encoded(WIDE.convert("RGB"), "WEBP", method=0),
    "AVIF": lambda: encoded(WIDE.convert("RGB"), "AVIF", speed=10),
    "progressive JPEG": lambda: encoded(WIDE, "JPEG", progressive=True),
    "JPEG, one channel after the other": one_channel_first,
    "TIFF in one compressed strip": lambda: in_one_strip("tiff_lzw"),
    "turned TIFF": lambda: encoded(WIDE, "TIFF", tiffinfo={274: 6}),
    "PGM in letters": lambda: b"P2 6000 5400 9\n0",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HUNGRY)
def test_what_takes_more_memory_to_decode_has_a_smaller_limit(kind: str) -> None:
    with pytest.raises(PictureError, match="at most 32 million pixels"):
        open_picture(HUNGRY[kind]())
