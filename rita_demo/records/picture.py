"""A picture and its views."""

from dataclasses import dataclass, field

from rita_demo.records.arrays import Array


@dataclass(frozen=True)
class Picture:
    """A decoded square: ``pixels`` (H, W, 3) uint8 RGB, H = W; ``key`` names its content.

    ``notes`` are sentences on what decoding did (rotated by EXIF, transparency on white, ...).
    """

    pixels: Array
    key: str
    notes: tuple[str, ...] = ()
    source_size: tuple[int, int] = (0, 0)  # (width, height) of the file before cropping


@dataclass(frozen=True)
class ViewSet:
    """Where the views were taken; view 0 is the whole square.

    ``boxes`` (N, 4) float32: left, top, right, bottom as fractions of the square's side, in [0, 1]; ``flipped`` (N,)
    bool; ``pixels`` (N, 3, side, side) float32 in [0, 1] at the model's input size, or None after encoding.
    """

    boxes: Array
    flipped: Array
    seed: int
    pixels: Array | None = None


@dataclass(frozen=True)
class EncodedViews:
    """The views of one picture and their ``features`` (N, D) float32, unit length; ``key`` names them.

    ``seconds``: stage -> wall time.
    """

    views: ViewSet
    features: Array
    key: str
    seconds: dict[str, float] = field(default_factory=dict)
