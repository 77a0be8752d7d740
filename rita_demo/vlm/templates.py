"""Hand-written prompt starts, each four tokens long in CLIP's vocabulary.

Equal length makes all contexts one tensor (M, 4, E). The first is the prompt of plain CLIP.
"""

DEFAULT_START = "a photo of a"
CONTEXT_LENGTH = 4

TEMPLATES: tuple[str, ...] = (
    DEFAULT_START,
    "a picture of the",
    "an image of a",
    "a photo showing a",
    "a photo of the",
    "a rendering of a",
    "a bright photo of",
    "a texture of the",
    "a photo of one",
    "a dark photo of",
    "a cropped photo of",
    "a blurry photo of",
    "a good photo of",
    "a pattern of a",
    "a view of the",
    "a large photo of",
    "a small photo of",
    "the surface of a",
    "a photo of my",
    "a snapshot of a",
    "a drawing of a",
    "a painting of a",
    "a close view of",
    "a material that is",
    "a sketch of a",
    "a sculpture of a",
    "an example of a",
    "a piece of a",
    "a bad photo of",
    "a detail of a",
    "a surface that is",
    "a cartoon of a",
)


def sentence(start: str, name: str) -> str:
    """A prompt as text, for example ``"a photo of a cat."``."""
    return f"{start} {name}."
