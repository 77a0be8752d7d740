"""Datasets in CoOp's layout (Zhou et al. 2022), and folders with a folder of pictures per class.

A row of :data:`DATASETS` is all that a dataset needs; :mod:`rita_demo.data.split_files` reads its list of pictures.
A folder per class needs no row: the classes lie in the folder itself (its only split is ``all``) or below ``train``,
``val`` and ``test``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rita_demo.data.random_split import SEED, random_split
from rita_demo.data.split_files import (
    SPLITS,
    SUFFIXES,
    Listing,
    Reader,
    aircraft_variants,
    class_folders,
    renumber_labels,
    split_file,
)
from rita_demo.records.errors import DataError, did_you_mean
from rita_demo.settings import DEFAULT_PROMPT_TEMPLATE

Item = tuple[Path, int, str]  # picture, label, class name

#: Settings of the preset ``paper``: on ImageNet and its variants C-TPT's weight is that of its authors; four sets have
#: fewer views in the loss and no descriptions (the paper's appendix B).
_IMAGENET: dict[str, Any] = {"ctpt_weight": 20.0}
_EXCEPTION: dict[str, Any] = {"subset_size": 32, "descriptions": "none"}


@dataclass(frozen=True)
class Dataset:
    """A dataset and its place below the data root.

    Attributes:
        folder: below the data root. pictures: folder of the pictures, below ``folder``.
        listing: the list of pictures or classes, below ``folder``. read: the function that reads it.
        procedural: drawn by the program; there are no files.
        template: CoOp's prompt for its classes (``CUSTOM_TEMPLATES`` of its zero-shot CLIP).
        paper_settings: settings with another value here in the preset ``paper``.
        can_split: where ``listing`` is absent, the picture folder (a folder per class) is split at random, without
            ``excluded_classes`` and with the names of ``renamed_classes`` (folder -> class name), as in CoOp.
    """

    name: str
    title: str
    folder: str
    pictures: str
    listing: str = ""
    read: Reader = split_file
    procedural: bool = False
    template: str = DEFAULT_PROMPT_TEMPLATE
    paper_settings: Mapping[str, Any] = field(default_factory=dict)
    can_split: bool = False
    excluded_classes: tuple[str, ...] = ()
    renamed_classes: Mapping[str, str] = field(default_factory=dict)


def _coop(name: str, title: str, folder: str, pictures: str, file: str, **more: Any) -> Dataset:
    """A dataset with a split file ``split_zhou_FILE.json``."""
    return Dataset(name, title, folder, pictures, f"split_zhou_{file}.json", **more)


def _imagenet(name: str, title: str, folder: str, pictures: str, **options: Any) -> Dataset:
    """ImageNet or a variant: a folder per class and ``classnames.txt``; ``options`` of :func:`class_folders`."""
    read = partial(class_folders, **options)
    paper = _IMAGENET if name in ("imagenet", "imagenet_v2") else _IMAGENET | _EXCEPTION
    return Dataset(name, title, folder, pictures, "classnames.txt", read, paper_settings=paper)


_ROWS = (
    _coop(
        "caltech101",
        "Caltech101",
        "caltech-101",
        "101_ObjectCategories",
        "Caltech101",
        can_split=True,
        excluded_classes=("BACKGROUND_Google", "Faces_easy"),
        renamed_classes={"airplanes": "airplane", "Faces": "face", "Leopards": "leopard", "Motorbikes": "motorbike"},
    ),
    _coop(
        "dtd", "Describable Textures", "dtd", "images", "DescribableTextures", can_split=True, template="{} texture."
    ),
    Dataset("textures", "Procedural textures", "", "", procedural=True, template="{} texture."),
    _coop("pets", "Oxford Pets", "oxford_pets", "images", "OxfordPets", template="a photo of a {}, a type of pet."),
    _coop("cars", "Stanford Cars", "stanford_cars", "", "StanfordCars"),
    _coop(
        "flowers102",
        "Oxford Flowers",
        "oxford_flowers",
        "jpg",
        "OxfordFlowers",
        template="a photo of a {}, a type of flower.",
    ),
    Dataset(
        "aircraft",
        "FGVC Aircraft",
        "fgvc_aircraft",
        "images",
        "variants.txt",
        aircraft_variants,
        template="a photo of a {}, a type of aircraft.",
    ),
    _coop(
        "eurosat",
        "EuroSAT",
        "eurosat",
        "2750",
        "EuroSAT",
        template="a centered satellite photo of {}.",
        paper_settings=_EXCEPTION,
    ),
    _coop("ucf101", "UCF101", "ucf101", "UCF-101-midframes", "UCF101", template="a photo of a person doing {}."),
    _coop("sun397", "SUN397", "sun397", "SUN397", "SUN397"),
    _coop("food101", "Food-101", "food-101", "images", "Food101", template="a photo of {}, a type of food."),
    _imagenet("imagenet", "ImageNet", "imagenet", "images", splits={"train": "train", "test": "val"}),
    _imagenet("imagenet_a", "ImageNet-A", "imagenet-adversarial", "imagenet-a", subset=True),
    _imagenet("imagenet_v2", "ImageNet-V2", "imagenetv2", "imagenetv2-matched-frequency-format-val", numbered=True),
    _imagenet("imagenet_r", "ImageNet-R", "imagenet-rendition", "imagenet-r", subset=True),
    _imagenet("imagenet_sketch", "ImageNet-Sketch", "imagenet-sketch", "images"),
)
DATASETS: dict[str, Dataset] = {row.name: row for row in _ROWS}


@dataclass(frozen=True)
class DatasetStatus:
    """One row of the command ``datasets``. ``sentence``: the files that are present or missing. ``template``: the
    dataset's prompt, "" for a folder per class."""

    name: str
    title: str
    usable: bool
    sentence: str
    template: str = ""


def dataset_status(data_root: str | Path | None) -> tuple[DatasetStatus, ...]:
    """The status of all datasets, then of the folders below ``data_root`` with a folder per class.

    Args:
        data_root: None means that there is no data folder; every dataset is listed with the files it needs.

    Raises:
        DataError: the root is not a folder.
    """
    root = None if data_root is None else _root(data_root)
    rows = [_status(dataset, root) for dataset in DATASETS.values()]
    if root is None:
        return tuple(rows)
    known = {dataset.folder for dataset in DATASETS.values()}
    for folder in sorted(root.iterdir()):
        if folder.is_dir() and folder.name not in known and (splits := _folder_splits(folder)):
            classes = len(_classes(next(iter(splits.values()))))
            sentence = f"{classes} classes; splits: {', '.join(splits)}."
            rows.append(DatasetStatus(folder.name, "a folder per class", True, sentence))
    return tuple(rows)


def _status(dataset: Dataset, root: Path | None) -> DatasetStatus:
    def row(usable: bool, sentence: str) -> DatasetStatus:
        return DatasetStatus(dataset.name, dataset.title, usable, sentence, dataset.template)

    if dataset.procedural:
        return row(True, "drawn by the program itself; no files needed.")
    missing = dataset.folder if root is None else _missing(dataset, root)
    if missing == dataset.folder:
        folder = Path(dataset.folder)
        split, pictures = (folder / part for part in (dataset.listing, dataset.pictures))
        parts = f"{split.as_posix()}, and pictures below {pictures.as_posix()}"
        return row(False, f"missing: {missing}; expected: {parts}.")
    if root is None or missing:
        return row(False, f"missing: {missing}.")
    try:
        listing = _read(dataset, root)
    except DataError as error:
        return row(False, error.message)
    counts = ", ".join(f"{name} {len(rows)}" for name, rows in listing.splits.items())
    here, known = listing.present_count, len(listing.names)
    sentence = f"{here}{f' of {known}' * (here < known)} classes; pictures: {counts}."
    if uses_random_split(dataset.name, root):
        sentence += f" A random split (seed {SEED}): {dataset.listing} is absent."
    return row(True, sentence)


def uses_random_split(name: str, data_root: Path | None) -> bool:
    """Whether a random split takes the place of CoOp's split file, which is absent."""
    dataset = DATASETS.get(name)
    if dataset is None or data_root is None or not dataset.can_split:
        return False
    here = (data_root / dataset.folder / dataset.listing).is_file()
    return not here and bool(_split_classes(dataset, data_root))


def _split_classes(dataset: Dataset, root: Path) -> list[Path]:
    found = _classes(root / dataset.folder / dataset.pictures)
    return [folder for folder in found if folder.name not in dataset.excluded_classes]


def load_split(name: str, data_root: str | Path, split: str, *, allow_partial: bool = False) -> list[Item]:
    """The pictures of one split as (path, label, class name), in the order of the dataset's list.

    Labels are indices of :func:`class_names`.

    Args:
        name: a key of :data:`DATASETS`, or a folder (absolute, or below ``data_root``) with a folder per class, whose
            labels are the classes in alphabetical order.
        data_root: the folder that holds the datasets.
        split: ``train``, ``val`` or ``test``; ``all`` for a folder without splits.
        allow_partial: leave out listed pictures that are missing, instead of raising.

    Raises:
        DataError: a file or split is missing, or a list is malformed.
    """
    root = _root(data_root)
    if name not in DATASETS:
        return _load_folder(name, root, split)
    dataset, listing = DATASETS[name], _listing(name, root)
    if split not in listing.splits:
        raise DataError(f"{name!r} has the splits {', '.join(listing.splits)}; got {split[:60]!r}.")
    pictures = root / dataset.folder / dataset.pictures
    rows = listing.splits[split]
    items = [(pictures / path, label, listing.names[label]) for path, label in rows]
    here = [item for item in items if item[0].is_file()]
    if not here or (len(here) < len(items) and not allow_partial):
        first = next((path for path, _, _ in items if not path.is_file()), None)
        named = f", the first of them {first.relative_to(root).as_posix()}" if first else ""
        raise DataError(
            f"{len(items) - len(here)} of {len(items)} pictures of {name!r} ({split}) are missing{named}.",
            "Complete the dataset, or allow a partial one.",
        )
    return here


def class_names(name: str, data_root: str | Path) -> tuple[str, ...]:
    """The class names of a dataset's list in label order, with or without pictures here; empty for a folder per class.

    Raises:
        DataError: as :func:`load_split`.
    """
    return _listing(name, _root(data_root)).names if name in DATASETS else ()


def _listing(name: str, root: Path) -> Listing:
    dataset = DATASETS[name]
    if dataset.procedural:
        raise DataError(f"{name!r} is drawn by the program and has no files.", "Choose another one.")
    if missing := _missing(dataset, root):
        raise DataError(
            f"The dataset {name!r} is incomplete: {missing} is missing.",
            "Put it below the data folder, laid out as CoOp describes.",
        )
    return _read(dataset, root)


def _root(data_root: str | Path) -> Path:
    root = Path(data_root)
    if not root.is_dir():
        raise DataError(
            f"The data folder {str(data_root)[:200]!r} does not exist.", "Say where the datasets are with --data-root."
        )
    return root


def _missing(dataset: Dataset, root: Path) -> str:
    """The first missing file or folder, as a path below the data root; "" when all are present."""
    for part, there in (("", Path.is_dir), (dataset.pictures, Path.is_dir), (dataset.listing, Path.is_file)):
        path = Path(dataset.folder) / part
        if there == Path.is_file and uses_random_split(dataset.name, root):
            continue
        if not there(root / path):
            return str(path)
    return ""


def _read(dataset: Dataset, root: Path) -> Listing:
    """The content of the dataset's list, or the random split in its place."""
    if uses_random_split(dataset.name, root):
        rows = random_split(_split_classes(dataset, root), SUFFIXES, dataset.renamed_classes)
        return renumber_labels(rows, f"{dataset.folder}/{dataset.pictures}")
    return dataset.read(root / dataset.folder, dataset.pictures, dataset.listing)


def _load_folder(name: str, root: Path, split: str) -> list[Item]:
    folder = root / name  # an absolute name replaces the root
    if not folder.is_dir():
        raise DataError(
            f"There is no dataset and no folder {name[:200]!r}.",
            did_you_mean(
                name, DATASETS, f"Datasets: {', '.join(DATASETS)}; or a folder with a folder of pictures per class."
            ),
        )
    splits = _folder_splits(folder)
    if not splits:
        raise DataError(f"The folder {folder.name!r} should hold a folder of pictures per class.")
    if split not in splits:
        raise DataError(f"The folder {folder.name!r} has the splits {', '.join(splits)}; got {split[:60]!r}.")
    classes = _classes(splits[split])
    return [
        (path, label, place.name.replace("_", " "))
        for label, place in enumerate(classes)
        for path in sorted(place.iterdir())
        if path.suffix.lower() in SUFFIXES
    ]


def _folder_splits(folder: Path) -> dict[str, Path]:
    """Split name -> the folder that holds its classes; empty when there is no folder per class."""
    splits = {name: folder / name for name in SPLITS if _classes(folder / name)}
    return splits or ({"all": folder} if _classes(folder) else {})


def _classes(folder: Path) -> list[Path]:
    """The subfolders that hold a picture; empty where there are fewer than two."""
    try:
        found = [
            place
            for place in sorted(folder.iterdir())
            if place.is_dir() and any(path.suffix.lower() in SUFFIXES for path in place.iterdir())
        ]
    except OSError:  # not a folder, or no permission
        return []
    return found if len(found) >= 2 else []
