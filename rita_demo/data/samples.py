"""Sample pictures that come inside the scikit-image and scikit-learn packages: no network, nothing shipped here."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.errors import PictureError
from rita_demo.records import Picture

_SKIMAGE, _SKLEARN = ("skimage", "data"), ("sklearn", "datasets/images")


@dataclass(frozen=True)
class Sample:
    """A picture with a true answer.

    ``vocabulary`` is a key of :data:`VOCABULARIES`, or None when ``own_names`` lists the classes;
    ``label`` is one of ``names``; ``credit`` says who made it and under which terms.
    """

    key: str
    title: str
    place: tuple[str, str]  # (package, folder inside it)
    file: str
    label: str
    credit: str
    vocabulary: str | None = None
    own_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The class names it is shown with."""
        return VOCABULARIES[self.vocabulary].names if self.vocabulary else self.own_names

    @property
    def path(self) -> Path | None:
        """Where the package keeps it; None when the package or the file is missing."""
        package = importlib.util.find_spec(self.place[0])  # finds it without importing it
        if package is None or package.origin is None:
            return None
        path = Path(package.origin).parent / self.place[1] / self.file
        return path if path.is_file() else None

    def load(self, *, square: str = "picture", side: int | None = None) -> Picture:
        """The picture, opened like an upload; a :class:`PictureError` when the package lacks it."""
        path = self.path
        if path is None:
            raise PictureError(
                f"The sample {self.title!r} comes with the package {self.place[0]}, "
                "which is missing or incomplete.",
                "Install the requirements, or use a picture of your own.",
            )
        return open_picture(path, square=square, side=side)


_ANIMALS = ("cat", "dog", "horse", "rabbit", "tiger", "bird", "fox", "monkey")
_PLANTS = ("flower", "mushroom", "butterfly", "bird", "strawberry", "tree", "shell", "broccoli")
_FLYING = ("rocket", "airplane", "helicopter", "ship", "tower", "bridge", "train", "lighthouse")
_GROUND = ("brick wall", "gravel", "grass", "sand", "wood", "fabric", "water", "snow")
_CC0_TEXTURE = "CC0Textures, CC0; scikit-image"

SAMPLES: dict[str, Sample] = {
    sample.key: sample
    for sample in (
        Sample(
            "coffee", "A cup of coffee", _SKIMAGE, "coffee.png", "cup",
            "Rachel Michetti, courtesy of Pikolo Espresso Bar, CC0; scikit-image",
            vocabulary="caltech101",
        ),
        Sample(
            "motorcycle", "A motorbike", _SKIMAGE, "motorcycle_left.png", "motorbike",
            "Middlebury stereo benchmark, Scharstein et al. 2014; scikit-image",
            vocabulary="caltech101",
        ),
        Sample(
            "pagoda", "A pagoda", _SKLEARN, "china.jpg", "pagoda",
            "danielbuechele, CC BY 2.0; scikit-learn",
            vocabulary="caltech101",
        ),
        Sample(
            "cat", "Chelsea the cat", _SKIMAGE, "chelsea.png", "cat",
            "Stefan van der Walt, CC0; scikit-image",
            own_names=_ANIMALS,
        ),
        Sample(
            "flower", "A dahlia", _SKLEARN, "flower.jpg", "flower",
            "vultilion, CC BY 2.0; scikit-learn",
            own_names=_PLANTS,
        ),
        Sample(
            "rocket", "A rocket", _SKIMAGE, "rocket.jpg", "rocket",
            "SpaceX, public domain; scikit-image",
            own_names=_FLYING,
        ),
        Sample(
            "chessboard", "A chessboard", _SKIMAGE, "chessboard_RGB.png", "chequered",
            "scikit-image",
            vocabulary="dtd",
        ),
        Sample(
            "brick", "A brick wall", _SKIMAGE, "brick.png", "brick wall", _CC0_TEXTURE,
            own_names=_GROUND,
        ),
        Sample(
            "gravel", "Gravel", _SKIMAGE, "gravel.png", "gravel", _CC0_TEXTURE, own_names=_GROUND
        ),
    )
}  # fmt: skip


def sample(key: str) -> Sample:
    """The sample of that key, or a :class:`PictureError` that lists the valid ones."""
    if key not in SAMPLES:
        raise PictureError(f"The sample is one of {', '.join(SAMPLES)}; got {str(key)[:60]!r}.")
    return SAMPLES[key]


def available() -> dict[str, Sample]:
    """The samples whose files are here."""
    return {key: one for key, one in SAMPLES.items() if one.path is not None}
