"""Sample pictures: inside the scikit-image and scikit-learn packages, or drawn. No network, nothing shipped here."""

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

    It is a file of a package, or a drawn texture when ``seed`` is given (of the class ``label``).
    ``vocabulary`` is a key of :data:`VOCABULARIES`, or None when ``own_names`` lists the classes;
    ``label`` is one of ``names``; ``credit`` says who made it and under which terms.
    """

    key: str
    title: str
    label: str
    credit: str
    place: tuple[str, str] = ("", "")  # (package, folder inside it)
    file: str = ""
    seed: int | None = None
    vocabulary: str | None = None
    own_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The class names it is shown with."""
        return VOCABULARIES[self.vocabulary].names if self.vocabulary else self.own_names

    @property
    def here(self) -> bool:
        """Whether it can be shown."""
        return self.seed is not None or self.path is not None

    @property
    def path(self) -> Path | None:
        """Where the package keeps it; None when it is drawn, or the package or the file is missing."""
        if self.seed is not None:
            return None
        package = importlib.util.find_spec(self.place[0])  # finds it without importing it
        if package is None or package.origin is None:
            return None
        path = Path(package.origin).parent / self.place[1] / self.file
        return path if path.is_file() else None

    def load(self, *, square: str = "picture", side: int | None = None) -> Picture:
        """The picture, opened like an upload; a :class:`PictureError` when the package lacks it."""
        if self.seed is not None:
            from rita_demo.data import textures  # brings scikit-image, which takes a second

            pixels = textures.draw(self.label, self.seed)
            return open_picture(pixels, square=square, side=side)
        path = self.path
        if path is None:
            raise PictureError(
                f"The sample {self.title!r} comes with the package {self.place[0]}, "
                "which is missing or incomplete.",
                "Install the requirements, or use a picture of your own.",
            )
        return open_picture(path, square=square, side=side)


# Short lists of everyday words beside the two vocabularies. Chosen so that some samples show a rescue,
# two a defence that fails (palace, flower), and two a model that is wrong from the start: a blurred
# clock, and a rocket, a word it never met. What happens is measured: rita_demo/examples.py.
_OURS = "drawn by this project, rita_demo/data/textures"
_ANIMALS = (
    "tabby cat", "golden retriever", "red fox", "tiger", "rabbit", "panda", "monkey", "horse",
)  # fmt: skip
_DIALS = ("clock", "watch", "compass", "pizza", "plate", "wheel", "camera", "fan")
_THINGS = ("flower", "cat", "dog", "bird", "car", "pizza", "strawberry", "boat")
_BUILDINGS = (
    "palace", "church", "castle", "bridge", "lighthouse", "barn", "airplane", "train", "bus", "tree",
)  # fmt: skip
_FLYING = ("rocket", "airplane", "helicopter", "ship", "tower", "bridge", "train", "lighthouse")

SAMPLES: dict[str, Sample] = {
    sample.key: sample
    for sample in (
        Sample(
            "motorcycle", "A motorbike", "motorbike",
            "Middlebury stereo benchmark, Scharstein et al. 2014; scikit-image",
            _SKIMAGE, "motorcycle_left.png",
            vocabulary="caltech101",
        ),
        Sample(
            "coffee", "A cup of coffee", "cup",
            "Rachel Michetti, courtesy of Pikolo Espresso Bar, CC0; scikit-image",
            _SKIMAGE, "coffee.png",
            vocabulary="caltech101",
        ),
        Sample(
            "cat", "Chelsea the cat", "tabby cat",
            "Stefan van der Walt, CC0; scikit-image",
            _SKIMAGE, "chelsea.png",
            own_names=_ANIMALS,
        ),
        Sample(
            "brick", "A brick wall", "grid",
            "CC0Textures, CC0; scikit-image",
            _SKIMAGE, "brick.png",
            vocabulary="dtd",
        ),
        Sample(
            "chessboard", "A chessboard", "chequered",
            "scikit-image",
            _SKIMAGE, "chessboard_RGB.png",
            vocabulary="dtd",
        ),
        Sample(
            "clock", "A clock, blurred", "clock",
            "Stefan van der Walt, public domain; scikit-image",
            _SKIMAGE, "clock_motion.png",
            own_names=_DIALS,
        ),
        Sample(
            "flower", "A dahlia", "flower",
            "vultilion, CC BY 2.0; scikit-learn",
            _SKLEARN, "flower.jpg",
            own_names=_THINGS,
        ),
        Sample(
            "palace", "A Chinese palace", "palace",
            "danielbuechele, CC BY 2.0; scikit-learn",
            _SKLEARN, "china.jpg",
            own_names=_BUILDINGS,
        ),
        Sample(
            "honeycombed", "Honeycomb, drawn", "honeycombed", _OURS, seed=1_000_000, vocabulary="dtd"
        ),
        Sample(
            "knitted", "Knitwear, drawn", "knitted", _OURS, seed=1_000_001, vocabulary="dtd"
        ),
        Sample(
            "rocket", "A rocket", "rocket",
            "SpaceX, public domain; scikit-image",
            _SKIMAGE, "rocket.jpg",
            own_names=_FLYING,
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
    return {key: one for key, one in SAMPLES.items() if one.here}
