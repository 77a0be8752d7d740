"""Chosen pictures as a data folder of their own, which ``--data-root`` opens: the files as they are, below the same names.

A picture keeps its name, so it gets the same views and the same attack as in the run that it was chosen from. The lists of
its dataset go with it: the class names are all there, and so are the splits.
"""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

from rita_demo.data.datasets import DATASETS, is_shipped, list_files
from rita_demo.data.folder_sets import ALL, FEWEST_CLASSES
from rita_demo.data.picture_sources import file_bytes
from rita_demo.data.vocabularies import vocabulary
from rita_demo.evaluation.chosen import ChosenPictures
from rita_demo.evaluation.pick import find_split
from rita_demo.evaluation.pictures import PRESENT_SUFFIX, find_picture
from rita_demo.process.output_file import make_output_folder, write_output
from rita_demo.records.errors import DataError

NAME = "rita-pictures"  # of the folder inside the zip
DRAWN = "drawn-textures"  # the folder of drawn textures: the name ``textures`` is all that come with the program
MAX_BYTES = 64 << 20  # of all pictures together
README = """{count} chosen pictures of {dataset}. To measure exactly these:

python -m rita_demo evaluate --data-root {folder} --dataset {dataset} --split {split}{partial} --methods clip,ensemble,rita --attack none,pgd --budget 4 --out runs/chosen

What is measured on chosen pictures does not stand for the dataset.
"""


@dataclass(frozen=True)
class PictureFolder:
    """``files``: path below the folder -> content. ``dataset`` and ``split``: what ``evaluate`` calls them there;
    ``classes``: how many of them have pictures; ``before``: among how many class names
    the run asked, ``now``: among how many this folder does."""

    files: dict[str, bytes]
    dataset: str
    split: str
    count: int
    classes: int
    before: int
    now: int

    @property
    def fault(self) -> str:
        """Why ``evaluate`` cannot open it, as a sentence; "" if it can."""
        if self.dataset in DATASETS or self.classes >= FEWEST_CLASSES:
            return ""
        return "They are all of one class: a folder can be measured once it holds a second one."

    def readme(self, folder: str) -> str:
        """What to do with it. ``folder``: where it is."""
        partial = " --allow-partial" * (self.dataset in DATASETS)
        text = README.format(count=self.count, dataset=self.dataset, split=self.split, folder=folder, partial=partial)
        if self.before != self.now:
            text += (
                f"The run asked among {self.before} class names, this folder asks among {self.now}: answers differ.\n"
            )
        return text + (f"{self.fault}\n" if self.fault else "")

    def as_zip(self) -> bytes:
        """The folder ``NAME`` as a zip."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in {"README.txt": self.readme(NAME).encode(), **self.files}.items():
                file.writestr(zipfile.ZipInfo(f"{NAME}/{name}"), data, zipfile.ZIP_DEFLATED)  # dated 1980
        return buffer.getvalue()

    def write(self, folder: Path) -> None:
        """Write it. Raises DataError: a file cannot be written."""
        for name, data in {"README.txt": self.readme(str(folder)).encode(), **self.files}.items():
            make_output_folder((folder / name).parent)
            write_output(folder / name, data)


def picture_folder(chosen: ChosenPictures, root: Path | None) -> PictureFolder:
    """The chosen pictures as a data folder.

    Raises:
        DataError, PictureError: one of them is not in the data folder ``root``, or they are too large together.
    """
    base, files = chosen.place.removesuffix(PRESENT_SUFFIX), dict[str, bytes]()
    split = find_split(base, chosen.ids, root)
    shipped, size = is_shipped(base), 0
    for name in chosen.ids:
        source = find_picture(base, name, root)
        place = f"{DRAWN}/{name}{source.suffix}" if shipped else name if base in DATASETS else f"{base}/{name}"
        files[place] = data = file_bytes(source)
        if (size := size + len(data)) > MAX_BYTES:
            raise DataError(
                f"The chosen pictures are larger than {MAX_BYTES >> 20} MB together.", "Choose fewer of them."
            )
    classes = len({Path(name).parent.name for name in files})
    if shipped:
        base, split = DRAWN, ALL
    elif root is not None:
        files |= list_files(base, root)
    now = len(vocabulary(base).names) if base in DATASETS else classes
    return PictureFolder(files, base, split, len(chosen.ids), classes, len(chosen.names) or now, now)
