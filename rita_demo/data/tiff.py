"""TIFF files of scientists and cameras: those that Pillow reads wrongly or not at all are read by tifffile, or refused by name.

Pillow reads samples of up to 8 bits, grey of 16 bits, of signed 32 bits and of 32 bit floats, and the upper half of colours of
16 bits. Of the others libtiff, which Pillow contains, unpacks the strips and tiles: it writes no more than their size in the
header, so that a small file cannot fill the memory. tifffile would.
"""

import io
import logging
import math
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from rita_demo.data.decode import alpha_to_uint8, to_uint8
from rita_demo.records.errors import PictureError

MAGIC = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
SEVERAL = "The file holds several pictures; the first one is used."
LARGEST_SAMPLES = 64_000_000  # bytes of all samples that are read here
MOST_PARTS = 100_000  # strips or tiles
MOST_VALUES = 1_000_000  # numbers of one tag
_SINGLE = {254, 256, 257, 259, 262, 266, 277, 278, 284, 317, 322, 323, 32997, 32998}  # tags with one whole number
_WHOLE = {3, 4, 16}  # types of these
_BYTES = {1, 2, 6, 7}  # types of a tag that is no list of numbers
_MODES = {0: "L", 1: "L", 2: "RGB", 3: "P", 5: "CMYK", 6: "YCbCr", 8: "LAB"}  # in 0 white is zero
_NUMBERS = {1: "whole numbers", 2: "signed whole numbers", 3: "floats", 4: "whole numbers"}
#: Colours, kind and bits of samples of more than 8 bits that Pillow reads.
_BY_PILLOW = {(1, "u", 16), (1, "i", 32), (1, "f", 32), (2, "u", 16), (5, "u", 16)}
_OF_BYTES = {1, 5, 8, 32773, 32946, 34925, 50000}  # compressions: none, LZW, Deflate, PackBits, LZMA, Zstandard
_MULTIPLIED, _PLAIN = 1, 2  # alpha in an extra sample: the colours are multiplied by it, or are not
Page = Any  # a TiffPage of tifffile, which is imported where a TIFF is opened


def open_tiff(data: bytes, notes: list[str], check_size: Callable[[int, int], None]) -> Image.Image:
    """The first picture of a file that begins with :data:`MAGIC`, by Pillow, or scaled to 8 bit. Appends a sentence for
    each step to ``notes``. ``check_size`` raises an error for a width and height that are too large to be read. Raises
    PictureError: a kind that is not supported, by its name. Errors of many kinds for a damaged file."""
    import tifffile

    # what is wrong with a visitor's file is no news of the server
    logging.getLogger("tifffile").setLevel(logging.CRITICAL)
    try:
        _check_counts(data)
        plain: Any = {f"is_{flag}": False for flag in tifffile.TIFF.FILE_FLAGS}  # no makers' notes are followed
        with tifffile.TiffFile(io.BytesIO(data), **plain) as file:
            page: Page = file.pages[0]
            several = file.pages.is_multipage
        stated, orientation = int(np.max(page.tags.valueof(281, 0))), page.tags.valueof(274, 1)
    except PictureError:
        raise
    except Exception:  # tags of a wrong type; Pillow decides whether it needs them
        return Image.open(io.BytesIO(data), formats=("TIFF",))
    mode = _MODES.get(page.photometric, "")
    colours, packing = (getattr(value, "name", value) for value in (page.photometric, page.compression))
    if not mode:
        raise _unsupported(f"with colours of the kind {colours}")
    if isinstance(page.bitspersample, tuple):
        raise _unsupported("whose samples differ in size")
    bits, count, bands = page.bitspersample, page.samplesperpixel, Image.getmodebands(mode)
    numbers = f"{_NUMBERS.get(page.sampleformat, 'complex numbers')} of {bits} bits"
    if page.dtype is None or page.dtype.kind == "c":
        raise _unsupported(f"of {numbers}")
    byte_count = max(math.prod(page.shaped), math.prod(page.chunks)) * page.dtype.itemsize
    alpha = _alpha(page)
    faults = {  # what tifffile cannot read of unpacked strips and tiles
        f"in {colours} colours and {numbers}": mode not in ("L", "RGB", "CMYK"),
        f"of {numbers}": bits not in (8, 16, 32, 64),
        f"of {count} channels that are neither colours nor transparency": mode != "RGB" and count > bands and not alpha,
        f"of {bits} bits with the compression {packing}": page.compression not in _OF_BYTES,
        "with reversed bits": page.fillorder == 2,
        "with a predictor": page.predictor not in (1, 2, 3) or (page.predictor == 3 and page.dtype.kind != "f"),
        "of a volume": page.imagedepth != 1,
        f"of this kind with more than {LARGEST_SAMPLES // 10**6} MB of samples": byte_count > LARGEST_SAMPLES,
        f"of more than {MOST_PARTS} strips or tiles": math.prod(page.chunked) > MOST_PARTS,
    }
    fault = next((name for name, wrong in faults.items() if wrong), "")
    check_size(page.imagewidth, page.imagelength)
    if page.subfiletype & 1:
        notes.append("The file's first picture, a smaller copy of another one in it, is used.")
    if count > bands + bool(alpha):
        notes.append(f"Of the file's {count} channels the colours are used.")
    if _pillow_is_right(page, mode):
        with suppress(UnidentifiedImageError):
            by_pillow = Image.open(io.BytesIO(data), formats=("TIFF",))
            by_pillow.info["stated"] = stated
            if fault or count == 1 or bits <= 8:
                return by_pillow
            by_pillow.load()  # the upper halves of colours of 16 bits; of values of less than 14 bits they say too little
            extremes: Any = by_pillow.getextrema()
            if max(high for _, high in extremes[:bands]) >= 64:
                return by_pillow
    if fault:
        raise _unsupported(fault)
    notes += [SEVERAL] * several
    image = _picture(_samples(data, page), page, mode, stated, notes)
    image.getexif()[0x0112] = orientation
    return image


def _check_counts(data: bytes) -> None:
    """Raises an error for tags that tifffile makes very long lists of: many numbers, or several where one is meant."""
    order, big = "<" if data[:2] == b"II" else ">", b"+" in data[:4]
    (at,) = struct.unpack_from(f"{order}{'Q' if big else 'I'}", data, 8 if big else 4)
    (count,) = struct.unpack_from(f"{order}{'Q' if big else 'H'}", data, at)
    for n in range(count):
        place = at + 8 + 20 * n if big else at + 2 + 12 * n
        tag, kind, values = struct.unpack_from(f"{order}HH{'Q' if big else 'I'}", data, place)
        if values > MOST_VALUES and kind not in _BYTES:
            raise _unsupported(f"with more than {MOST_VALUES:,} numbers in a tag")
        if tag in _SINGLE and (values != 1 or kind not in _WHOLE):
            raise ValueError(f"tag {tag} is no whole number")


def _unsupported(why: str) -> PictureError:
    hint = "Save it as PNG, or as a TIFF with 8 or 16 bits per colour."
    return PictureError(f"Expected a picture, but the file is a TIFF {why}, which is not supported.", hint)


def _pillow_is_right(page: Page, mode: str) -> bool:
    """Whether Pillow shows the right colours if it opens the file."""
    bits, kind, separate = page.bitspersample, page.dtype.kind, page.planarconfig == 2
    if separate and (bits != 8 or page.samplesperpixel > Image.getmodebands(mode)):
        return False
    if kind in "ub" and bits <= 8:
        return mode != "YCbCr" or page.compression != 1
    if bits == 32 and page.parent.byteorder == ">" and page.compression != 1:  # it swaps bytes that libtiff has swapped
        return False
    return (page.photometric, kind, bits) in _BY_PILLOW and not separate


def _alpha(page: Page) -> tuple[int, int] | None:
    """The sample that is the opacity, and its kind."""
    first = page.samplesperpixel - len(page.extrasamples)
    return next(((first + n, kind) for n, kind in enumerate(page.extrasamples) if kind in (_MULTIPLIED, _PLAIN)), None)


def _samples(data: bytes, page: Page) -> np.ndarray:
    """All samples, (height, width, samples)."""
    packing, predictor, size = page.compression, page.predictor, page.dtype.itemsize
    width, each = page.tilewidth if page.is_tiled else page.imagewidth, page.shaped[-1]
    row = width * each * size  # bytes
    # tifffile gets strips and tiles unpacked
    page.compression, page.predictor = 1, 2 if predictor == 2 else 1
    samples = np.zeros(page.shaped, page.dtype)
    for index in range(math.prod(page.chunked)):
        offset, count = page.dataoffsets[index], page.databytecounts[index]
        if not (offset and count):  # left out, as some programs do with empty tiles
            continue
        _, (sample, _, top, left, _), (_, rows, *_) = page.decode(None, index)
        if packing == 1:
            part = np.frombuffer(data, np.uint8, rows * row, offset)
        else:  # libtiff unpacks it as a grey picture
            tags = ((256, row), (257, rows), (258, 8), (259, packing), (262, 1), (273, 122), (277, 1), (278, rows))
            head = struct.pack("<4sIH", b"II*\0", 8, len(tags) + 1)
            for tag, value in (*tags, (279, count)):
                head += struct.pack("<HHII", tag, 4, 1, value)
            grey = io.BytesIO(head + bytes(4) + data[offset : offset + count])
            with Image.open(grey, formats=("TIFF",)) as image:
                part = np.asarray(image)
        if predictor == 3:  # differences of bytes; the first bytes of all floats come first
            flat = np.cumsum(part.reshape(rows, -1, each), axis=1, dtype=np.uint8)
            floats = np.ascontiguousarray(flat.reshape(rows, size, -1).transpose(0, 2, 1)).view(f">f{size}")
            part = floats.astype(f"{page.parent.byteorder}f{size}")
        values, *_ = page.decode(part.tobytes(), index)
        place = samples[sample, 0, top : top + rows, left : left + width]
        place[:] = values[0, : place.shape[0], : place.shape[1]]
    return np.moveaxis(samples[:, 0], 0, 2).reshape(page.imagelength, page.imagewidth, -1)


def _picture(samples: np.ndarray, page: Page, mode: str, stated: int, notes: list[str]) -> Image.Image:
    """Samples (height, width, samples) as an 8 bit picture."""
    alpha, size = _alpha(page), (page.imagewidth, page.imagelength)
    # the brightest grey or colour tells how many bits are used; the most ink or the least light does not
    light = page.photometric in (1, 2) or samples.dtype.kind == "f"
    largest = stated if light else np.iinfo(samples.dtype).max
    levels = to_uint8(samples[:, :, : Image.getmodebands(mode)], notes, largest)
    image = Image.frombytes(mode, size, (255 - levels if page.photometric == 0 else levels).tobytes())
    if alpha is None:
        return image
    image = image.convert("RGB")
    image.putalpha(Image.fromarray(alpha_to_uint8(samples[:, :, alpha[0]])))
    return image if alpha[1] == _PLAIN else Image.frombytes("RGBa", size, image.tobytes())
