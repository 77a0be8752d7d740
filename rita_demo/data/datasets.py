"""Datasets in the layout that CoOp (Zhou et al. 2022) made customary, and any folder per class.

What their lists look like is read in :mod:`rita_demo.data.layouts`. A folder of one's own holds one folder of
pictures per class, either directly (its only split is ``all``) or below ``train``, ``val``, ``test``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rita_demo.data.layouts import (
    SPLITS,
    SUFFIXES,
    Listing,
    Reader,
    class_folders,
    renumbered,
    split_file,
    variants,
)
from rita_demo.data.own_split import SEED, own_split
from rita_demo.errors import DataError
from rita_demo.settings import HAND_SENTENCE

Item = tuple[Path, int, str]  # picture, label, class name

#: ImageNet and its variants: no AugMix there, and C-TPT's own weight for them.
_IMAGENET: dict[str, Any] = {"views_augmix": False, "ctpt_weight": 20.0}


@dataclass(frozen=True)
class Dataset:
    """Where a dataset is expected below the data root.

    ``pictures`` and ``listing`` (the split file, or what takes its place) are relative to ``folder``;
    ``read`` understands the listing; ``made_here``: drawn by the program, no files needed.
    ``template``: CoOp's sentence for its classes (``CUSTOM_TEMPLATES`` of its zero-shot CLIP).
    ``paper``: settings that the preset ``paper`` has another value of here.
    ``own``: where the listing is absent the picture folder is split here, a folder per class, without
    those ``left_out`` and with the class names ``renamed`` as in CoOp.
    """

    name: str
    title: str
    folder: str
    pictures: str
    listing: str = ""
    read: Reader = split_file
    made_here: bool = False
    template: str = HAND_SENTENCE
    paper: Mapping[str, Any] = field(default_factory=dict)
    own: bool = False
    left_out: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


DATASETS: dict[str, Dataset] = {
    row.name: row
    for row in (
        Dataset("caltech101", "Caltech101", "caltech-101", "101_ObjectCategories",
                "split_zhou_Caltech101.json", own=True,
                left_out=("BACKGROUND_Google", "Faces_easy"),
                renamed={"airplanes": "airplane", "Faces": "face", "Leopards": "leopard",
                         "Motorbikes": "motorbike"}),
        Dataset("dtd", "Describable Textures", "dtd", "images",
                "split_zhou_DescribableTextures.json", own=True, template="{} texture."),
        Dataset("textures", "Procedural textures", "", "", made_here=True,
                template="{} texture."),
        Dataset("pets", "Oxford Pets", "oxford_pets", "images", "split_zhou_OxfordPets.json",
                template="a photo of a {}, a type of pet."),
        Dataset("cars", "Stanford Cars", "stanford_cars", "", "split_zhou_StanfordCars.json"),
        Dataset("flowers102", "Oxford Flowers", "oxford_flowers", "jpg",
                "split_zhou_OxfordFlowers.json", template="a photo of a {}, a type of flower."),
        Dataset("aircraft", "FGVC Aircraft", "fgvc_aircraft", "images", "variants.txt", variants,
                template="a photo of a {}, a type of aircraft."),
        Dataset("eurosat", "EuroSAT", "eurosat", "2750", "split_zhou_EuroSAT.json",
                template="a centered satellite photo of {}."),
        Dataset("ucf101", "UCF101", "ucf101", "UCF-101-midframes", "split_zhou_UCF101.json",
                template="a photo of a person doing {}."),
        Dataset("sun397", "SUN397", "sun397", "SUN397", "split_zhou_SUN397.json"),
        Dataset("food101", "Food-101", "food-101", "images", "split_zhou_Food101.json",
                template="a photo of {}, a type of food."),
        Dataset("imagenet", "ImageNet", "imagenet", "images", "classnames.txt",
                partial(class_folders, splits={"train": "train", "test": "val"}), paper=_IMAGENET),
        Dataset("imagenet_a", "ImageNet-A", "imagenet-adversarial", "imagenet-a",
                "classnames.txt", partial(class_folders, subset=True), paper=_IMAGENET),
        Dataset("imagenet_v2", "ImageNet-V2", "imagenetv2",
                "imagenetv2-matched-frequency-format-val", "classnames.txt",
                partial(class_folders, numbered=True), paper=_IMAGENET),
        Dataset("imagenet_r", "ImageNet-R", "imagenet-rendition", "imagenet-r",
                "classnames.txt", partial(class_folders, subset=True), paper=_IMAGENET),
        Dataset("imagenet_sketch", "ImageNet-Sketch", "imagenet-sketch", "images",
                "classnames.txt", class_folders, paper=_IMAGENET),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Presence:
    """One line of ``datasets``: usable or not, and a sentence on what is there or what is missing.
    ``template``: the dataset's own sentence for a class name, "" where it has none."""

    name: str
    title: str
    usable: bool
    sentence: str
    template: str = ""


def present(data_root: str | Path | None) -> tuple[Presence, ...]:
    """What can be used below ``data_root``: the known datasets, then folders with a folder per class.

    None means that there is no data folder: every dataset is listed with what it would need.

    Raises:
        DataError: the root is not a folder.
    """
    root = None if data_root is None else _root(data_root)
    rows = [_presence(dataset, root) for dataset in DATASETS.values()]
    if root is None:
        return tuple(rows)
    known = {dataset.folder for dataset in DATASETS.values()}
    for folder in sorted(root.iterdir()):
        if folder.is_dir() and folder.name not in known and (splits := _folder_splits(folder)):
            classes = len(_classes(next(iter(splits.values()))))
            rows.append(
                Presence(
                    folder.name, "a folder per class", True,
                    f"{classes} classes; splits: {', '.join(splits)}.",
                )
            )  # fmt: skip
    return tuple(rows)


def _presence(dataset: Dataset, root: Path | None) -> Presence:
    def row(usable: bool, sentence: str) -> Presence:
        return Presence(dataset.name, dataset.title, usable, sentence, dataset.template)

    if dataset.made_here:
        return row(True, "drawn by the program itself; no files needed.")
    missing = dataset.folder if root is None else _missing(dataset, root)
    if missing == dataset.folder:  # nothing is here: all that is expected is named
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
    here, known = listing.present, len(listing.names)
    own = f" A split of our own (seed {SEED}): {dataset.listing} is absent."
    return row(
        True,
        f"{here}{f' of {known}' * (here < known)} classes; pictures: {counts}."
        + own * is_own_split(dataset.name, root),
    )


def is_own_split(name: str, data_root: Path | None) -> bool:
    """Whether the splits of this dataset are made here because CoOp's file is absent."""
    dataset = DATASETS.get(name)
    if dataset is None or data_root is None or not dataset.own:
        return False
    here = (data_root / dataset.folder / dataset.listing).is_file()
    return not here and bool(_own_classes(dataset, data_root))


def _own_classes(dataset: Dataset, root: Path) -> list[Path]:
    found = _classes(root / dataset.folder / dataset.pictures)
    return [folder for folder in found if folder.name not in dataset.left_out]


def load_split(
    name: str, data_root: str | Path, split: str, *, allow_partial: bool = False
) -> list[Item]:
    """The pictures of one split as (path, label, class name), in the order of the dataset's lists.

    Labels index :func:`class_names`.

    Args:
        name: a key of :data:`DATASETS`, or a folder (absolute, or below ``data_root``) with a folder
            per class, whose labels are the classes in alphabetical order.
        data_root: the folder that holds the datasets.
        split: ``train``, ``val`` or ``test``; ``all`` for a folder that has no splits.
        allow_partial: leave out listed pictures that are not there, instead of refusing.

    Raises:
        DataError: what was expected, what is there, what to do.
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
    """The class names that a dataset's lists ask about, in label order, with or without pictures here.

    Empty for a folder that is no key of :data:`DATASETS`: it has no lists.

    Raises:
        DataError: as :func:`load_split`.
    """
    return _listing(name, _root(data_root)).names if name in DATASETS else ()


def _listing(name: str, root: Path) -> Listing:
    dataset = DATASETS[name]
    if dataset.made_here:
        raise DataError(
            f"{name!r} is drawn by the program and has no files.", "Choose another one."
        )
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
            f"The data folder {str(data_root)[:200]!r} does not exist.",
            "Say where the datasets are with --data-root.",
        )
    return root


def _missing(dataset: Dataset, root: Path) -> str:
    """The first expected thing that is not there, as a path below the data root; or nothing."""
    for part, there in (
        ("", Path.is_dir),
        (dataset.pictures, Path.is_dir),
        (dataset.listing, Path.is_file),
    ):
        path = Path(dataset.folder) / part
        if there == Path.is_file and is_own_split(dataset.name, root):
            continue
        if not there(root / path):
            return str(path)
    return ""


def _read(dataset: Dataset, root: Path) -> Listing:
    """What the dataset's lists say, or the split of our own in their place."""
    if is_own_split(dataset.name, root):
        rows = own_split(_own_classes(dataset, root), SUFFIXES, dataset.renamed)
        return renumbered(rows, f"{dataset.folder}/{dataset.pictures}")
    return dataset.read(root / dataset.folder, dataset.pictures, dataset.listing)


def _load_folder(name: str, root: Path, split: str) -> list[Item]:
    folder = root / name  # an absolute name replaces the root
    if not folder.is_dir():
        raise DataError(
            f"There is no dataset and no folder {name[:200]!r}.",
            f"Datasets: {', '.join(DATASETS)}; or a folder with a folder of pictures per class.",
        )
    splits = _folder_splits(folder)
    if not splits:
        raise DataError(f"The folder {folder.name!r} should hold a folder of pictures per class.")
    if split not in splits:
        raise DataError(
            f"The folder {folder.name!r} has the splits {', '.join(splits)}; got {split[:60]!r}."
        )
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
    """The class folders: those that hold a picture. Fewer than two are no dataset."""
    try:
        found = [
            place
            for place in sorted(folder.iterdir())
            if place.is_dir() and any(path.suffix.lower() in SUFFIXES for path in place.iterdir())
        ]
    except OSError:  # not a folder, or not ours to read
        return []
    return found if len(found) >= 2 else []
