"""TIFF files of every kind, written from their specification (TIFF 6.0, Adobe 1992; BigTIFF)."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

GREY, RGB, CMYK = 1, 2, 5
KINDS = {"u": 1, "i": 2, "f": 3, "c": 6}
NONE, LZW, DEFLATE = 1, 5, 8


def tiff(
    samples: np.ndarray,
    *,
    colours: int,
    order: str = "<",
    bits: int = 0,
    separate: bool = False,
    tile: int = 0,
    compression: int = NONE,
    predictor: int = 1,
    extra: tuple[int, ...] = (),
    big: bool = False,
    pages: int = 1,
    **tags: tuple[int, ...],
) -> bytes:
    """A file of the samples (H, W, S). ``bits``: as the file states them. ``tile``: the side of tiles; else strips of 7 rows.
    ``tags``: others, as ``t281=(4095,)``."""
    height, width, count = samples.shape
    each = 1 if separate else count
    wide, high = (tile, tile) if tile else (width, 7)
    parts = []
    for sample in range(count if separate else 1):
        for top in range(0, height, high):
            for left in range(0, width, wide):
                part = samples[top : top + high, left : left + wide, sample : sample + each]
                if tile:
                    part = np.pad(part, [(0, tile - part.shape[0]), (0, tile - part.shape[1]), (0, 0)])
                parts.append(packed(part, order, predictor, compression))
    size = bits or samples.dtype.itemsize * 8
    given = {
        256: (width,),
        257: (height,),
        258: (size,) * count,
        259: (compression,),
        262: (colours,),
        277: (count,),
        284: (2 if separate else 1,),
        317: (predictor,),
        339: (KINDS[samples.dtype.kind],) * count,
    }
    given |= {338: extra} if extra else {}
    given |= {322: (tile,), 323: (tile,)} if tile else {278: (high,)}
    given |= {int(name[1:]): value for name, value in tags.items()}
    return assembled(given, parts, 324 if tile else 273, 325 if tile else 279, order, big, pages)


def assembled(
    tags: dict[int, tuple[int, ...]], parts: list[bytes], at: int, sizes: int, order: str, big: bool, pages: int
) -> bytes:
    """Header, parts, values, and the same directory for every page. ``at``, ``sizes``: tags of the parts' places and sizes."""
    word, inline = ("Q", 8) if big else ("I", 4)
    version = struct.pack(f"{order}HHHQ", 43, 8, 0, 0) if big else struct.pack(f"{order}HI", 42, 0)
    head = (b"II" if order == "<" else b"MM") + version
    body, places = bytearray(head), []
    for part in parts:
        places.append(len(body))
        body += part + bytes(len(part) % 2)
    tags = dict(sorted(({at: tuple(places), sizes: tuple(map(len, parts))} | tags).items()))
    entries = b""
    for tag, values in tags.items():
        data = struct.pack(f"{order}{len(values)}I", *values)
        if len(data) > inline:
            place = len(body)
            body += data
            data = struct.pack(order + word, place)
        entries += struct.pack(f"{order}HH{word}", tag, 4, len(values)) + data.ljust(inline, b"\0")
    link = len(head) - inline
    for _ in range(pages):
        body += bytes(len(body) % 2)
        body[link : link + inline] = struct.pack(order + word, len(body))
        body += struct.pack(order + ("Q" if big else "H"), len(tags)) + entries
        link = len(body)
        body += bytes(inline)
    return bytes(body)


def packed(part: np.ndarray, order: str, predictor: int, compression: int) -> bytes:
    """A strip or tile as it stands in the file."""
    rows, each = len(part), part.shape[2]
    if predictor == 3:
        planes = part.astype(part.dtype.newbyteorder(">")).reshape(rows, -1, 1).view(np.uint8).transpose(0, 2, 1)
        data = differences(planes.reshape(rows, -1, each)).tobytes()
    else:
        whole = part.view(f"u{part.dtype.itemsize}")
        whole = differences(whole) if predictor == 2 else whole
        data = whole.astype(whole.dtype.newbyteorder(order)).tobytes()
    if compression == DEFLATE:
        return zlib.compress(data)
    return lzw(data) if compression == LZW else data


def differences(values: np.ndarray) -> np.ndarray:
    """Of neighbours along the second axis; the first value stays."""
    return np.diff(values, axis=1, prepend=np.zeros_like(values[:, :1]))


def lzw(data: bytes) -> bytes:
    """Compressed by libtiff: the one strip of a grey picture."""
    file = io.BytesIO()
    image = Image.frombytes("L", (len(data), 1), data)
    image.save(file, "TIFF", compression="tiff_lzw", tiffinfo={317: 1})
    with Image.open(file) as saved:
        (place,), (size,) = saved.tag_v2[273], saved.tag_v2[279]
    return file.getvalue()[place : place + size]
