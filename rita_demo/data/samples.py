"""Sample pictures, as ``samples.toml`` lists them: files of the packages scikit-image and scikit-learn, or drawn textures of
``assets``. No network."""

import importlib.util
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.process.assets import ASSETS
from rita_demo.records import Picture
from rita_demo.records.errors import PictureError, check_known


@dataclass(frozen=True)
class Sample:
    """A picture with its true class: a file of a package, or of ``assets``.

    ``classes`` is a key of :data:`VOCABULARIES` or the class names; ``label`` is one of them; ``credit`` names the
    author and the licence.
    """

    key: str
    file: str
    title: str
    label: str
    classes: str | tuple[str, ...]
    credit: str
    place: tuple[str, str] = ("skimage", "data")  # (package, folder inside it); package "": ``assets``

    @property
    def vocabulary(self) -> str | None:
        """The key of its ready list of classes; None when it has its own names."""
        return self.classes if isinstance(self.classes, str) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The class names of its vocabulary, or its own."""
        return VOCABULARIES[self.classes].names if isinstance(self.classes, str) else self.classes

    @property
    def path(self) -> Path | None:
        """The sample's file; None when the package or the file is missing."""
        package, folder = self.place
        home = ASSETS
        if package:
            module = importlib.util.find_spec(package)  # finds it without importing it
            if module is None or module.origin is None:
                return None
            home = Path(module.origin).parent
        path = home / folder / self.file
        return path if path.is_file() else None

    def load(self, *, square: str = "picture", side: int | None = None) -> Picture:
        """The picture, opened like an upload; :class:`PictureError` when its file is missing."""
        if self.path is None:
            source = f"the package {self.place[0]}" if self.place[0] else "this program"
            message = f"The sample {self.title!r} comes with {source}, which is missing or incomplete."
            raise PictureError(message, "Install the requirements, or use a picture of your own.")
        return open_picture(self.path, square=square, side=side)


_ROWS = tomllib.loads(Path(__file__).with_name("samples.toml").read_text("utf-8"))
SAMPLES: dict[str, Sample] = {}
for _key, _row in _ROWS.items():
    _values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in _row.items()}
    SAMPLES[_key] = Sample(_key, **_values)


def sample(key: str) -> Sample:
    """The sample with this key; :class:`PictureError` lists the valid keys."""
    check_known("sample", key, SAMPLES, PictureError)
    return SAMPLES[key]


def available() -> dict[str, Sample]:
    """The samples that can be loaded."""
    return {key: row for key, row in SAMPLES.items() if row.path is not None}
