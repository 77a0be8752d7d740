"""Class names and prompt templates of the training.

The first template is that of the validation accuracy; it is drawn more often than the others. Templates are from CLIP's
published lists (Radford et al. 2021) or plain English.
"""

import re

from rita_demo.data.vocabularies import VOCABULARIES


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(" | "))


TEMPLATES = _split(
    "a photo of a {}. | a photo of the {}. | {} | a {}. | a picture of a {}. | itap of a {}. | "
    "a bad photo of the {}. | a good photo of a {}. | a photo of the large {}. | a photo of the small {}. | "
    "a close-up photo of a {}. | a cropped photo of a {}. | a bright photo of a {}. | a dark photo of the {}. | "
    "a blurry photo of a {}. | a low resolution photo of a {}. | a photo of one {}. | a photo of my {}. | "
    "an image of a {}. | this is a {}. | there is a {} in the picture. | a photo showing a {}. | "
    "a jpeg corrupted photo of a {}. | a {} in a video game. | art of the {}. | a origami {}. | a rendering of a {}."
)

TEXTURE_TEMPLATES = _split(
    "a photo of a {}. | a photo of a {} texture. | a photo of a {} pattern. | a photo of a {} thing. | "
    "a photo of a {} object. | a photo of the {} texture. | {} texture. | {} | a {} surface. | "
    "a close-up photo of a {} surface. | something {}. | a {} material."
)

FIRST_TEMPLATE_SHARE = 0.4

RENAMED = {
    "ear": "ear of corn",
    "upright": "upright piano",
    "slot": "slot machine",
    "file": "filing cabinet",
    "boxer": "boxer dog",
    "rock beauty": "rock beauty fish",
    "chime": "wind chime",
    "organ": "pipe organ",
    "reel": "fishing reel",
}

DTD_NAMES = VOCABULARIES["dtd"].names


def display_name(folder: str, rename: bool = False) -> str:
    """A folder name as words (`Soy_Milk_carton` -> `soy milk carton`); `rename` replaces misleading ones."""
    name = re.sub(r"\s+", " ", folder.replace("_", " ")).strip().lower()
    return RENAMED.get(name, name) if rename else name


def content_words(name: str) -> frozenset[str]:
    """The words of a name that count in :func:`ambiguous_pairs`: longer than two letters, without a plural s."""
    words = re.findall(r"[a-z]+", name.lower())
    return frozenset(word.rstrip("s") for word in words if len(word) > 2 and word not in {"and", "the"})
