"""Valid and malformed picture files for the tests."""

import io
import struct
import zlib

import numpy as np
from PIL import Image


def photo(width: int = 64, height: int = 64, channels: int = 3, seed: int = 0) -> np.ndarray:
    """Random uint8 pixels (H, W, C), or (H, W) for one channel."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)
    return pixels[:, :, 0] if channels == 1 else pixels


def encoded(image: Image.Image | np.ndarray, kind: str = "PNG", **options: object) -> bytes:
    """A picture as a file of that kind."""
    image = Image.fromarray(image) if isinstance(image, np.ndarray) else image
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG whose header states many pixels and whose data is a few bytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def gif(frames: int) -> bytes:
    """An animation whose frames differ."""
    pictures = [Image.fromarray(photo(seed=i)).quantize(16) for i in range(frames)]
    return encoded(pictures[0], "GIF", save_all=True, append_images=pictures[1:])


def rotated_jpeg(orientation: int, width: int, height: int) -> bytes:
    """A JPEG, left half black and right half white, with an EXIF orientation."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, width // 2 :] = 255
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(pixels, "JPEG", exif=exif, quality=95)
