"""From an untrusted file to a :class:`Picture`: the square that is attacked and classified.

The square (method.md section 0): EXIF rotation applied, transparency on white, centre-cropped, resized with
antialiasing, 8 bit. Its size:

- ``square="model"``: the model's input side.
- ``square="picture"``: the picture's shorter side, at most 448 px; below 32 px it is enlarged to the model's side.

A square of the right size is not resampled: an attacked square saved as PNG is read back bit for bit.
"""

import hashlib
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
from PIL import Image, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile
from PIL.TiffImagePlugin import TiffImageFile

from rita_demo.data.decode import central_square, upright_size, whole_picture
from rita_demo.data.picture_sources import FORMAT_HINT, Source, array_picture, read_source
from rita_demo.data.tiff import MAGIC, SEVERAL, open_tiff
from rita_demo.process.text_file import HEAD, text_kind
from rita_demo.records import Picture
from rita_demo.records.errors import PictureError

LARGEST_SIDE = 448  # of the square shown and attacked, in pixels
SMALLEST_SIDE = 32  # a smaller square is enlarged
DEFAULT_SIDE = 224  # of an enlarged square where no model's side is given
LARGEST_PICTURE = 64_000_000  # pixels in the file; checked in the header, before decoding
LONGEST_SIDE = 30_000  # pixels, likewise: a decoder takes some bytes for each row and each column
LARGE_PIECE = 4_000_000  # pixels of a compressed strip or tile, which is unpacked beside the picture
DARK = 64  # a picture without a value from here on is said to be dark: it may hold 12 bit values in a 16 bit file
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "PPM")
#: Pictures decoded at once, of all visitors: the largest one takes 256 MB.
_DECODE_SLOTS = threading.BoundedSemaphore(2)

#: First bytes of files that are no supported pictures, and their type.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive or an office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"8BPS", "a Photoshop document"),
    (b"%!PS", "a PostScript document"),
    (b"\x1aE\xdf\xa3", "a video"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture, which is not supported"),
    (b"\xff\x0a", "a JPEG XL picture, which is not supported"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture, which is not supported"),
)
_HEIC = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")
_PICTURES = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"BM", b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")


def open_picture(source: Source, *, square: str = "picture", side: int | None = None) -> Picture:
    """Decode user input into a :class:`Picture` with a (H, H, 3) uint8 square.

    Args:
        source: a file's bytes, its path, an open file, a PIL picture, or an array or tensor (H, W) or (H, W, C), also
            (C, H, W) and one picture of a batch, with C = 1, 3 or 4 (or 2: grey and opacity) of uint8, uint16, bool, or
            floats in [0, 1].
        square: ``picture`` or ``model``, see the module's docstring.
        side: the model's input side in pixels; required for ``square="model"``.

    Raises PictureError: not a picture, damaged, too large, or not readable."""
    if square not in ("picture", "model"):
        raise ValueError(f"square is 'picture' or 'model'; got {square!r}")
    if square == "model" and side is None:
        raise ValueError("square='model' needs the model's side")
    notes: list[str] = []
    with _decoded(source, notes) as (image, orientation):
        shorter = min(image.size)
        if square == "picture":
            enlarged = side or DEFAULT_SIDE if shorter < SMALLEST_SIDE else shorter
            side = max(SMALLEST_SIDE, min(enlarged, LARGEST_SIDE))
        assert side is not None  # checked above
        pixels = central_square(image, orientation, side, notes)
    if (brightest := int(pixels.max())) < DARK:
        notes.append(f"The picture is very dark: no value is above {brightest} of 255.")
    return picture_of(pixels, notes=tuple(notes), source_size=upright_size(image, orientation))


def whole_pixels(source: Source) -> np.ndarray:
    """The whole picture, (H, W, 3) uint8 at its own size; :func:`open_picture` takes the same squares from it as from
    ``source``. Arguments and errors as there."""
    with _decoded(source, []) as (image, orientation):
        return whole_picture(image, orientation)


def picture_of(
    pixels: np.ndarray, *, notes: tuple[str, ...] = (), source_size: tuple[int, int] | None = None
) -> Picture:
    """A :class:`Picture` of a finished square (H, H, 3) uint8; its key is a hash of its content."""
    pixels = np.ascontiguousarray(pixels)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"pixels are (H, W, 3) uint8; got {pixels.shape} {pixels.dtype}")
    key = hashlib.blake2b(repr(pixels.shape).encode() + pixels.tobytes(), digest_size=16).hexdigest()
    return Picture(pixels, key, notes, source_size or (pixels.shape[1], pixels.shape[0]))


def png_bytes(pixels: np.ndarray) -> bytes:
    """(H, W, 3) uint8 as a PNG file without metadata; equal pixels give equal bytes."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels, np.uint8), "RGB").save(buffer, "PNG")
    return buffer.getvalue()


@contextmanager
def _decoded(source: Source, notes: list[str]) -> Iterator[tuple[Image.Image, int]]:
    """A picture in memory, in the mode of the file, and its EXIF orientation; in the block every error is a
    :class:`PictureError`."""
    opened = read_source(source)
    with _DECODE_SLOTS:
        try:
            if isinstance(opened, np.ndarray):
                _check_size(opened.shape[1], opened.shape[0])
                image = array_picture(opened, notes)
            else:
                image = opened if isinstance(opened, Image.Image) else _from_bytes(opened, notes)
            _check_size(image.width, image.height, LARGEST_PICTURE // (2 if _takes_twice(image) else 1))
            if getattr(image, "is_animated", False):
                image.seek(0)
                notes.append(SEVERAL)
            image.load()
            orientation = 1
            with suppress(Exception):  # EXIF that cannot be read
                orientation = image.getexif().get(0x0112, 1)
            if orientation not in range(2, 9):
                orientation = 1
            else:
                notes.append("Turned upright, as the camera noted.")
            yield image, orientation
        except PictureError:
            raise
        except Exception as error:  # decoders raise errors of any kind on malformed files
            if isinstance(opened, Image.Image) and not isinstance(error, MemoryError):
                message = "The PIL picture cannot be read: it is closed, or its file is damaged or cut off."
                raise PictureError(message, "Open it again, and use it before it is closed.") from error
            raise _damaged(error) from error


def _from_bytes(data: bytes, notes: list[str]) -> Image.Image:
    """Parse the header; the pixels are decoded after their number has been checked."""
    if not data:
        raise PictureError("Expected a picture, but the file is empty.", FORMAT_HINT)
    try:
        if data.startswith(MAGIC):
            return open_tiff(data, notes, _check_size)
        return Image.open(io.BytesIO(data), formats=FORMATS)
    except PictureError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large("far more") from error
    except Exception as error:  # as in _decoded
        if file_type := _file_type(data[:HEAD]):
            raise PictureError(f"Expected a picture, but the file is {file_type}.", FORMAT_HINT) from error
        raise _damaged(error) from error


def _file_type(head: bytes) -> str | None:
    """For example ``"a PDF document"``, from a file's first kilobyte; None if it starts like a supported picture."""
    if head[4:8] == b"ftyp":
        if head[8:12] in _HEIC:
            return "a HEIC picture (an iPhone's own format), which is not supported"
        return None if head[8:12] in (b"avif", b"avis") else "a video"
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if head.startswith(_PICTURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return None
    return text_kind(head) or "of no kind known here"


def _takes_twice(image: Image.Image) -> bool:
    """Whether the decoder of a picture that is not yet decoded holds more than the picture: of a JPEG in several scans
    (progressive, or one channel after the other) 2 bytes for each value, of a TIFF a strip or tile, or the picture before
    it is turned, of a PGM or PPM in letters these."""
    if isinstance(image, JpegImageFile) and image.fp is not None:
        at = image.fp.tell()  # after the head of the first scan, which has all channels where it is the only one
        image.fp.seek(max(0, at - 8 - 2 * image.layers))
        head = image.fp.read(2)
        image.fp.seek(at)
        return "progressive" in image.info or head != b"\xff\xda"
    if isinstance(image, TiffImageFile):
        tags = image.tag_v2
        rows, columns = (tags[323], tags[322]) if 322 in tags else (tags.get(278, image.height), image.width)
        unpacked = image.info.get("compression") != "raw" and min(rows, image.height) * columns > LARGE_PIECE
        return unpacked or tags.get(274, 1) != 1
    in_letters = any(part.codec_name == "ppm_plain" for part in getattr(image, "tile", ()))
    return in_letters or image.format in ("WEBP", "AVIF")


def _check_size(width: int, height: int, largest: int = LARGEST_PICTURE) -> None:
    if width < 1 or height < 1:
        raise PictureError(f"Expected a picture with pixels, but it is {width} x {height}.", FORMAT_HINT)
    if width * height > largest:
        raise _too_large(f"{width} x {height}", largest)
    if max(width, height) > LONGEST_SIDE:
        message = f"Expected a picture of at most {LONGEST_SIDE:,} pixels a side, got {width} x {height}."
        raise PictureError(message, "Cut or save it smaller and try again.")


def _too_large(size: str, largest: int = LARGEST_PICTURE) -> PictureError:
    message = f"Expected a picture of at most {largest // 10**6} million pixels, got {size}."
    return PictureError(message, "Save it smaller and try again.")


def _damaged(error: Exception) -> PictureError:
    if isinstance(error, MemoryError):
        return PictureError("The picture needs more memory than there is.", "Save it smaller.")
    if isinstance(error, UnidentifiedImageError):  # its first bytes are those of a known format, and its header is not
        rare = "of a rare kind that is not supported: its header cannot be read"
        return PictureError(f"The picture is damaged or cut off, or {rare}.", "Save it as PNG, or download it again.")
    message = "The picture is damaged or cut off: it starts like one but cannot be read to the end."
    return PictureError(message, "Save or download it again.")


def square_words(square: str, side: int | None) -> str:
    """Which square is attacked, in words. ``square``: ``picture`` or ``model``; ``side``: in pixels, None: of any picture."""
    if side is None:
        return f"each picture's own square of at most {LARGEST_SIDE} × {LARGEST_SIDE} pixels"
    return f"the {square}'s square of {side} × {side} pixels"
