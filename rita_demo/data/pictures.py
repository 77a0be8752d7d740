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
from pathlib import Path

import numpy as np
from PIL import Image

from rita_demo.data.decode import SquareDecoder
from rita_demo.records import Picture
from rita_demo.records.errors import PictureError

LARGEST_SIDE = 448  # of the square shown and attacked, in pixels
SMALLEST_SIDE = 32  # a smaller square is enlarged
DEFAULT_SIDE = 224  # of an enlarged square where no model's side is given
LARGEST_PICTURE = 64_000_000  # pixels in the file; checked in the header, before decoding
#: Smaller limits for decoders that hold several copies of the picture.
MAX_PIXELS_BY_FORMAT: dict[str | None, int] = {"WEBP": 32_000_000, "AVIF": 32_000_000}
LARGEST_FILE = 100_000_000  # bytes
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "PPM")
FORMAT_HINT = "Use a PNG or JPEG photograph."
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

Source = bytes | str | Path | Image.Image | np.ndarray


def open_picture(source: Source, *, square: str = "picture", side: int | None = None) -> Picture:
    """Decode user input into a :class:`Picture` with a (H, H, 3) uint8 square.

    Args:
        source: a file's bytes, its path, a PIL picture, or an array (H, W), (H, W, 1), (H, W, 3) or
            (H, W, 4) of uint8, uint16, bool, or floats in [0, 1].
        square: ``picture`` or ``model``, see the module's docstring.
        side: the model's input side in pixels; required for ``square="model"``.

    Raises:
        PictureError: not a picture, damaged, too large, or not readable.
    """
    if square not in ("picture", "model"):
        raise ValueError(f"square is 'picture' or 'model'; got {square!r}")
    if square == "model" and side is None:
        raise ValueError("square='model' needs the model's side")
    notes: list[str] = []
    with _DECODE_SLOTS:
        try:
            decoder = SquareDecoder(_loaded(source, notes))
            wanted = side if square == "model" else _native_side(min(decoder.size), side)
            assert wanted is not None  # checked above
            pixels = decoder.pixels(wanted, notes)
        except PictureError:
            raise
        except Exception as error:  # decoders raise errors of any kind on malformed files
            raise _damaged(error) from error
    return picture_of(pixels, notes=tuple(notes), source_size=decoder.size)


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


def _loaded(source: Source, notes: list[str]) -> Image.Image:
    """Any source as a loaded PIL picture, in the mode and orientation of the file."""
    if isinstance(source, np.ndarray):
        image = _from_array(source, notes)
    elif isinstance(source, Image.Image):
        image = source
    else:
        image = _from_bytes(file_bytes(source) if isinstance(source, str | Path) else bytes(source))
    _check_size(image.width, image.height, MAX_PIXELS_BY_FORMAT.get(image.format, LARGEST_PICTURE))
    if getattr(image, "is_animated", False):
        image.seek(0)
        notes.append("The file holds several pictures; the first one is used.")
    image.load()
    return image


def file_bytes(path: str | Path) -> bytes:
    """The bytes of a file. Error messages show its name without the folder, which may be the server's.

    Raises:
        PictureError: it is no file, too large, or cannot be read.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise PictureError(f"Expected a picture, but {path.name!r} is a folder.", FORMAT_HINT)
        if path.is_symlink() and not path.exists():
            raise PictureError(f"The link {path.name!r} leads nowhere.", "Put the file there, or remove the link.")
        if not path.exists():
            raise PictureError(f"There is no file {path.name!r}.", "Check the name and the folder.")
        if not path.is_file():
            raise PictureError(f"Expected a picture, but {path.name!r} is not a regular file.", FORMAT_HINT)
        if (size := path.stat().st_size) > LARGEST_FILE:
            limit = f"Expected a file of at most {LARGEST_FILE // 10**6} MB"
            raise PictureError(f"{limit}, but {path.name!r} has {size // 10**6} MB.", "Save it smaller and try again.")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # no permission, or an invalid name
        raise PictureError(f"The file {path.name[:100]!r} cannot be read.", FORMAT_HINT) from error


def _from_bytes(data: bytes) -> Image.Image:
    """Parse the header; the pixels are decoded after their number has been checked."""
    if not data:
        raise PictureError("Expected a picture, but the file is empty.", FORMAT_HINT)
    try:
        return Image.open(io.BytesIO(data), formats=FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large("far more") from error
    except Exception as error:  # see open_picture
        if file_type := _file_type(data[:1024]):
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
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    # a kilobyte may end in the middle of a character
    text = head.decode(encoding, errors="replace" if len(head) < 1024 else "ignore").lower()
    if not all((c.isprintable() or c.isspace()) and c != "\ufffd" for c in text):
        return "of no kind known here"
    if "<svg" in text:
        return "an SVG drawing, which is not supported"
    return "a web page" if "<html" in text or "<!doctype html" in text else "plain text"


def _check_size(width: int, height: int, largest: int = LARGEST_PICTURE) -> None:
    if width < 1 or height < 1:
        raise PictureError(f"Expected a picture with pixels, but it is {width} x {height}.", FORMAT_HINT)
    if width * height > largest:
        raise _too_large(f"{width} x {height}", largest)


def _too_large(size: str, largest: int = LARGEST_PICTURE) -> PictureError:
    message = f"Expected a picture of at most {largest // 10**6} million pixels, got {size}."
    return PictureError(message, "Save it smaller and try again.")


def _damaged(error: Exception) -> PictureError:
    if isinstance(error, MemoryError):
        return PictureError("The picture needs more memory than there is.", "Save it smaller.")
    message = "The picture is damaged or cut off: it starts like one but cannot be read to the end."
    return PictureError(message, "Save or download it again.")


def _from_array(array: np.ndarray, notes: list[str]) -> Image.Image:
    """An array as a PIL picture; :func:`open_picture` lists the accepted arrays."""
    if array.ndim < 2 or array.shape[2:] not in ((), (1,), (3,), (4,)) or 0 in array.shape:
        shape = " x ".join(map(str, array.shape)) or "a single number"
        message = f"Expected an array of shape (H, W), (H, W, 3) or (H, W, 4), got {shape}."
        raise PictureError(message, "Put the colours last.")
    _check_size(array.shape[1], array.shape[0])
    array = array[:, :, 0] if array.shape[2:] == (1,) else array
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * 255
    elif array.dtype == np.uint16:
        array = np.rint(array / 257.0).astype(np.uint8)
        notes.append("Brightness was scaled to 8 bit from 16 bit.")
    elif array.dtype.kind == "f":
        if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
            hint = "Divide by the largest possible value, or pass uint8."
            raise PictureError("Expected numbers from 0 to 1 in an array of floats, got others.", hint)
        array = np.rint(array * 255.0).astype(np.uint8)
        notes.append("Brightness was scaled to 8 bit from 0-1.")
    elif array.dtype != np.uint8:
        message = f"Expected an array of uint8, uint16 or floats from 0 to 1, got {array.dtype}."
        raise PictureError(message, "Convert it to uint8.")
    return Image.fromarray(np.ascontiguousarray(array))


def _native_side(shorter: int, model_side: int | None) -> int:
    wanted = model_side or DEFAULT_SIDE if shorter < SMALLEST_SIDE else shorter
    return max(SMALLEST_SIDE, min(wanted, LARGEST_SIDE))
