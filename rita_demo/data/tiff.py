"""TIFF files of every kind of sample: those that Pillow reads wrongly or not at all are read here, or refused by name.

Pillow reads samples of up to 8 bits, grey of 16 bits, of signed 32 bits and of 32 bit floats, and the upper half of colours of
16 bits. Of the others libtiff, which Pillow contains, unpacks the strips and tiles as if they were grey pictures of bytes; it
writes no more than their size in the header, so that a small file cannot fill the memory.
"""

import io
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from rita_demo.data.decode import alpha_to_uint8, to_uint8
from rita_demo.records.errors import PictureError

MAGIC = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
SEVERAL = "The file holds several pictures; the first one is used."
LARGEST_SAMPLES = 64_000_000  # bytes of all samples that are read here
MOST_PARTS = 100_000  # strips or tiles
_SAMPLE_KINDS = {1: "u", 2: "i", 3: "f", 4: "u"}
_WHITE_IS_ZERO, _GREY, _RGB, _PALETTE, _CMYK, _YCBCR, _LAB = 0, 1, 2, 3, 5, 6, 8
_MODES = {_WHITE_IS_ZERO: "L", _GREY: "L", _RGB: "RGB", _PALETTE: "P", _CMYK: "CMYK", _YCBCR: "YCbCr", _LAB: "LAB"}
_OTHER_COLOURS = {
    4: "of a transparency mask",
    9: "in colours of ICC's L*a*b*",
    10: "in colours of ITU's L*a*b*",
    32803: "of a camera sensor's raw data",
    32844: "of logarithmic brightness (LogL)",
    32845: "in logarithmic colours (LogLuv)",
    34892: "of a camera's raw data",
    51177: "of depths",
}
_BY_PILLOW = {(_GREY, "u", 16), (_GREY, "i", 32), (_GREY, "f", 32), (_RGB, "u", 16), (_CMYK, "u", 16)}
_OF_BYTES = {1, 5, 8, 32773, 32946, 34925, 50000}  # compressions: none, LZW, Deflate, PackBits, LZMA, Zstandard
_OF_PICTURES = {2, 3, 4, 6, 7, 32771, 32809}  # CCITT, JPEG, ThunderScan, of samples of up to 8 bits
_MULTIPLIED, _PLAIN = 1, 2  # alpha in an extra sample: the colours are multiplied by it, or are not


@dataclass(frozen=True)
class TiffLayout:
    """How the first picture of a file is stored.

    ``bits`` of a sample (0: they differ), ``kind``: u, i, f or c (unsigned, signed, float, complex; "": they differ).
    ``order`` of the bytes, as in numpy. ``separate``: a strip or tile has one sample of every pixel. ``part``: width and height
    of a strip or tile; ``offsets`` and ``sizes`` of these in bytes. ``extra``: what the samples beside the colours are.
    ``stated``: the largest value by the file's own word. ``reduced``: it is a smaller copy of another picture."""

    width: int
    height: int
    samples: int
    bits: int
    kind: str
    order: str
    colours: int
    compression: int
    predictor: int
    separate: bool
    tiled: bool
    part: tuple[int, int]
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    extra: tuple[int, ...]
    subsampling: tuple[int, ...]
    reversed_bits: bool
    orientation: int
    stated: int
    palette: tuple[int, ...]
    several: bool
    reduced: bool

    @property
    def packed(self) -> bool:
        """Whether samples do not begin with a byte."""
        return self.bits not in (8, 16, 32, 64)

    @property
    def size(self) -> int:
        """Bytes of one sample in memory; 0 where no type of numpy holds it."""
        return next((size // 8 for size in (8, 16, 32, 64) if self.bits <= size), 0)

    @property
    def dtype(self) -> np.dtype:
        """Of one sample in memory."""
        return np.dtype(f"{self.kind}{self.size}")

    @property
    def row(self) -> int:
        """Bytes of one row of a strip or tile."""
        return (self.part[0] * (1 if self.separate else self.samples) * self.bits + 7) // 8

    @property
    def positions(self) -> Iterator[tuple[int, int, int]]:
        """(sample, top, left) of every strip or tile; sample 0 where a part has all of them."""
        width, height = self.part
        rows, columns = range(0, self.height, height), range(0, self.width, width)
        return product(range(self.samples if self.separate else 1), rows, columns)


def open_tiff(data: bytes, notes: list[str], check_size: Callable[[int, int], None]) -> Image.Image:
    """The first picture of a file that begins with :data:`MAGIC`, by Pillow, or scaled to 8 bit. Appends a sentence for each
    step to ``notes``. ``check_size`` raises an error for a width and height that are too large to be read.

    Raises:
        PictureError: a kind that is not supported, by its name. Errors of many kinds for a damaged file.
    """
    by_pillow = None
    try:
        layout = read_layout(data)
    except Exception:  # tags of a wrong type; Pillow decides whether it needs them
        return Image.open(io.BytesIO(data), formats=("TIFF",))
    _check(_unsupported(layout))
    check_size(layout.width, layout.height)
    notes += ["The file's first picture, a smaller copy of another one in it, is used."] if layout.reduced else []
    if layout.samples > Image.getmodebands(_MODES[layout.colours]) + bool(_alpha(layout)):
        notes.append(f"Of the file's {layout.samples} channels the colours are used.")
    if _pillow_is_right(layout):
        with suppress(UnidentifiedImageError):
            by_pillow = Image.open(io.BytesIO(data), formats=("TIFF",))
            by_pillow.info["stated"] = layout.stated
            if layout.samples == 1 or layout.bits <= 8 or not _is_dark(by_pillow):
                return by_pillow
    if (why := _unreadable(layout)) and by_pillow is not None:
        return by_pillow
    _check(why)
    notes += [SEVERAL] if layout.several else []
    image = _picture(_samples(data, layout), layout, notes)
    image.getexif()[0x0112] = layout.orientation
    return image


def read_layout(data: bytes) -> TiffLayout:
    """The tags of the first picture. Raises errors of many kinds for a damaged file."""
    file, big = io.BytesIO(data), b"+" in data[:4]
    tags = ImageFileDirectory_v2(data[: 16 if big else 8])
    file.seek(tags.next)
    tags.load(file)

    def values(number: int, *default: int) -> tuple[int, ...]:
        found = tags.get(number, default)
        return tuple(map(int, found)) if isinstance(found, tuple | bytes) else (int(found),)

    width, height, samples = (values(number, 1)[0] for number in (256, 257, 277))
    tiled, bits, kinds = 322 in tags, set(values(258, 1)), set(values(339, 1))
    return TiffLayout(
        width=width,
        height=height,
        samples=samples,
        bits=bits.pop() if len(bits) == 1 else 0,
        kind=_SAMPLE_KINDS.get(kinds.pop(), "c") if len(kinds) == 1 else "",
        order="<" if data[:2] == b"II" else ">",
        colours=values(262, _WHITE_IS_ZERO)[0],
        compression=values(259, 1)[0],
        predictor=values(317, 1)[0],
        separate=values(284, 1)[0] == 2,
        tiled=tiled,
        part=(values(322)[0], values(323)[0]) if tiled else (width, min(values(278, height)[0], height)),
        offsets=values(324 if tiled else 273),
        sizes=values(325 if tiled else 279),
        extra=values(338),
        subsampling=values(530, 2, 2),
        reversed_bits=values(266, 1)[0] == 2,
        orientation=values(274, 1)[0],
        stated=max(values(281, 0)),
        palette=values(320),
        several=tags.next != 0,
        reduced=bool(values(254, 0)[0] & 1),
    )


def _check(why: str) -> None:
    if why:
        hint = "Save it as PNG, or as a TIFF with 8 or 16 bits per colour."
        raise PictureError(f"Expected a picture, but the file is a TIFF {why}, which is not supported.", hint)


def _unsupported(layout: TiffLayout) -> str:
    """Why neither Pillow nor this file reads it; "" if one may."""
    if layout.colours not in _MODES:
        return _OTHER_COLOURS.get(layout.colours, f"with colours of the kind {layout.colours}")
    if not (layout.bits and layout.kind):
        return "whose samples differ in size or kind"
    if layout.kind == "c":
        return "of complex numbers"
    if layout.compression not in _OF_BYTES | _OF_PICTURES:
        return f"with the compression {layout.compression}"
    return ""


def _pillow_is_right(layout: TiffLayout) -> bool:
    """Whether Pillow shows the right colours if it opens the file."""
    if layout.separate and (layout.bits != 8 or layout.samples > Image.getmodebands(_MODES[layout.colours])):
        return False
    if layout.kind == "u" and layout.bits <= 8:
        return layout.colours != _YCBCR or layout.compression != 1
    if layout.bits == 32 and layout.order == ">" and layout.compression != 1:  # it swaps bytes that libtiff has swapped
        return False
    return (layout.colours, layout.kind, layout.bits) in _BY_PILLOW and not layout.separate


def _is_dark(image: Image.Image) -> bool:
    """Whether the upper halves of colours of 16 bits leave room for a value of 14 bits."""
    image.load()
    ranges: Any = image.getextrema()
    return max(high for _, high in ranges[: 4 if image.mode == "CMYK" else 3]) < 64


def _unreadable(layout: TiffLayout) -> str:
    """Why this file does not read it; "" if it does."""
    bits, kind, mode = layout.bits, layout.kind, _MODES[layout.colours]
    whole = {"u": "whole numbers", "i": "signed whole numbers", "f": "floats"}[kind]
    width, height = layout.part
    byte_count = max(layout.width * layout.height * layout.samples * layout.size, layout.row * height)
    parts = -(-layout.width // width) * -(-layout.height // height) * (layout.samples if layout.separate else 1)
    return next(
        why
        for wrong, why in (
            (bits > 64 or (layout.packed and kind != "u") or (kind == "f" and bits == 8), f"of {whole} of {bits} bits"),
            (mode == "LAB", f"in L*a*b* colours of {bits} bits"),
            (mode == "P" and (kind != "u" or bits > 16), f"with a palette for {whole} of {bits} bits"),
            (mode == "YCbCr" and (kind != "u" or bits > 16), f"in YCbCr colours of {whole} of {bits} bits"),
            (mode == "YCbCr" and layout.subsampling != (1, 1), "in YCbCr colours with fewer samples of colour"),
            (
                mode != "RGB" and layout.samples > Image.getmodebands(mode) and not _alpha(layout),
                f"of {layout.samples} channels that are neither colours nor transparency",
            ),
            (layout.compression in _OF_PICTURES, f"of {bits} bits with the compression {layout.compression}"),
            (layout.reversed_bits, "with reversed bits"),
            (layout.predictor not in (1, 2, 3) or (layout.packed and layout.predictor != 1), "with a predictor"),
            (layout.predictor == 3 and kind != "f", "with a predictor of floats"),
            (byte_count > LARGEST_SAMPLES, f"of this kind with more than {LARGEST_SAMPLES // 10**6} MB of samples"),
            (parts > MOST_PARTS, f"of more than {MOST_PARTS} strips or tiles"),
            (True, ""),
        )
        if wrong
    )


def _alpha(layout: TiffLayout) -> tuple[int, int] | None:
    """The sample that is the opacity, and its kind."""
    first = layout.samples - len(layout.extra)
    return next(((first + n, kind) for n, kind in enumerate(layout.extra) if kind in (_MULTIPLIED, _PLAIN)), None)


def _samples(data: bytes, layout: TiffLayout) -> np.ndarray:
    """All samples, (height, width, samples)."""
    (width, height), row, each = layout.part, layout.row, 1 if layout.separate else layout.samples
    found, places = np.zeros((layout.height, layout.width, layout.samples), layout.dtype), list(layout.positions)
    sizes = layout.sizes or (len(data),) * len(places)  # without compression they may be left out
    if min(len(layout.offsets), len(sizes)) < len(places):
        raise ValueError("strips are missing")
    for (sample, top, left), offset, size in zip(places, layout.offsets, sizes):
        if not (offset and size):  # left out, as some programs do with empty tiles
            continue
        rows, part = height if layout.tiled else min(height, layout.height - top), data[offset : offset + size]
        if layout.compression == 1:
            unpacked = np.frombuffer(part, np.uint8, rows * row).reshape(rows, row)
        else:
            unpacked = _unpacked(part, layout.compression, rows, row)
        place = found[top : top + rows, left : left + width, sample : sample + each]
        place[:] = _numbers(unpacked, layout, width, each)[: place.shape[0], : place.shape[1]]
    return found


def _unpacked(part: bytes, compression: int, rows: int, row: int) -> np.ndarray:
    """A compressed strip or tile as bytes (rows, row): unpacked as a grey picture by libtiff."""
    tags = ((256, row), (257, rows), (258, 8), (259, compression), (262, _GREY), (273, 122), (277, 1), (278, rows))
    head = struct.pack("<4sIH", b"II*\0", 8, len(tags) + 1)
    for tag, value in (*tags, (279, len(part))):
        head += struct.pack("<HHII", tag, 4, 1, value)
    with Image.open(io.BytesIO(head + bytes(4) + part), formats=("TIFF",)) as image:
        return np.asarray(image)


def _numbers(rows: np.ndarray, layout: TiffLayout, width: int, each: int) -> np.ndarray:
    """Bytes (rows, bytes) as samples (rows, width, each)."""
    if layout.packed:
        return _unpacked_bits(rows, layout, width * each).reshape(len(rows), width, each)
    if layout.predictor == 3:  # differences of bytes; the first bytes of all floats come first
        flat = np.cumsum(rows.reshape(len(rows), -1, each), axis=1, dtype=np.uint8)
        planes = flat.reshape(len(rows), layout.dtype.itemsize, width * each).transpose(0, 2, 1)
        return np.ascontiguousarray(planes).view(layout.dtype.newbyteorder(">")).reshape(len(rows), width, each)
    values = np.ascontiguousarray(rows).view(np.dtype(f"{layout.order}{layout.kind}{layout.size}")).astype(layout.dtype)
    if layout.predictor == 2:  # differences of neighbours
        whole = values.view(f"u{layout.dtype.itemsize}").reshape(len(rows), width, each)
        return np.cumsum(whole, axis=1, dtype=whole.dtype).view(layout.dtype)
    return values.reshape(len(rows), width, each)


def _unpacked_bits(rows: np.ndarray, layout: TiffLayout, count: int) -> np.ndarray:
    """``count`` samples of each row; the first bit is the largest."""
    found = np.zeros((len(rows), count), layout.dtype)
    for number, row in enumerate(rows):
        for bits in np.unpackbits(row)[: count * layout.bits].reshape(count, layout.bits).T:
            found[number] = (found[number] << 1) | bits
    return found


def _picture(samples: np.ndarray, layout: TiffLayout, notes: list[str]) -> Image.Image:
    """Samples (height, width, samples) as an 8 bit picture."""
    mode, alpha, bits = _MODES[layout.colours], _alpha(layout), layout.bits if layout.packed else 0
    count, size = Image.getmodebands(mode), (layout.width, layout.height)
    if mode == "P":
        table = (np.array(layout.palette).reshape(3, -1) >> 8).astype(np.uint8)
        mode, levels = "RGB", np.moveaxis(table[:, samples[:, :, 0]], 0, 2)
    else:
        # the brightest grey or colour tells how many bits are used; the most ink or the least light does not
        light = layout.colours in (_GREY, _RGB) or layout.kind == "f"
        stated = layout.stated if light else np.iinfo(layout.dtype).max
        levels = to_uint8(samples[:, :, :count], notes, stated, bits)
    image = Image.frombytes(mode, size, (255 - levels if layout.colours == _WHITE_IS_ZERO else levels).tobytes())
    if alpha is None:
        return image
    image = image.convert("RGB")
    image.putalpha(Image.fromarray(alpha_to_uint8(samples[:, :, alpha[0]], bits)))
    return image if alpha[1] == _PLAIN else Image.frombytes("RGBa", size, image.tobytes())
