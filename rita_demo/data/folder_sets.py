"""Folders with a folder of pictures per class, as they are or below the folders of splits."""

import posixpath
from dataclasses import dataclass
from pathlib import Path

from rita_demo.data.folders import Skip, Skipped, read_folder, skipped_below

SPLITS = ("train", "val", "test")
ALL = "all"  # the split of a folder without splits
#: What the folders of the splits are called, in small letters.
SPLIT_NAMES = {"train": ("train", "training"), "val": ("val", "valid", "validation"), "test": ("test", "testing")}
FEWEST_CLASSES = 2


@dataclass(frozen=True)
class ClassFolders:
    """A folder with a folder per class: folder -> its pictures, both sorted. A folder without a picture is ``skipped``."""

    pictures: dict[str, tuple[str, ...]]
    skipped: Skipped


@dataclass(frozen=True)
class FolderSet:
    """A folder as a dataset. ``splits``: split -> its class folders that hold pictures; none where these are fewer than two
    in all splits together. ``places``: split -> its folder, "" for the dataset's own. ``skipped``: what the folder holds
    beside their pictures. ``classes``: the class folders of all splits, sorted."""

    splits: dict[str, ClassFolders]
    places: dict[str, str]
    skipped: Skipped
    classes: tuple[str, ...]

    @property
    def rows(self) -> dict[str, list[tuple[str, int]]]:
        """Split -> its pictures as (path below the folder, number of the class), class by class."""
        return {
            split: [
                (posixpath.join(self.places[split], name, file), label)
                for label, name in enumerate(self.classes)
                for file in one.pictures.get(name, ())
            ]
            for split, one in self.splits.items()
        }

    @property
    def splits_text(self) -> str:
        """The splits by name, with their folders where these have others."""
        named = (
            f"{split} (folder {place})" * (place not in ("", split)) or split for split, place in self.places.items()
        )
        return ", ".join(named)


def class_folders_in(folder: Path) -> ClassFolders:
    """The folders in a folder that hold pictures.

    Raises:
        OSError: it or a folder in it is missing or cannot be read.
    """
    here = read_folder(folder)
    content = {name: read_folder(folder / name) for name in here.folders}
    skipped = [*here.skipped, *((Skip.LOOSE, name) for name in here.pictures)]
    for name, one in content.items():
        nested = [(Skip.NESTED, inside) for inside in one.folders]
        if not one.pictures:
            nested = [(Skip.NO_PICTURES if one.folders else Skip.NO_CLASS, "")]
        skipped += skipped_below(name, (*one.skipped, *nested))
    return ClassFolders({name: one.pictures for name, one in content.items() if one.pictures}, tuple(skipped))


def classes_in(folder: Path) -> ClassFolders:
    """The class folders in a folder; none where they are fewer than two, or where it is missing or cannot be read."""
    found = _class_folders(folder)
    return found if len(found.pictures) >= FEWEST_CLASSES else ClassFolders({}, found.skipped)


def _class_folders(folder: Path) -> ClassFolders:
    try:
        return class_folders_in(folder)
    except OSError:
        return ClassFolders({}, ())


def read_folder_set(folder: Path) -> FolderSet:
    """A folder as a dataset; without splits where it holds no folders of pictures."""
    whole, found = _class_folders(folder), _read_splits(folder)
    classes = {name for _, one in found.values() for name in one.pictures}
    # a split may lack all classes but one; a class that is called like a split, with a folder inside, is none
    if any(len(one.pictures) >= FEWEST_CLASSES for _, one in found.values()) or len(classes) > len(whole.pictures):
        here, used = read_folder(folder), {place for place, _ in found.values()}
        skipped = [*here.skipped, *((Skip.LOOSE, name) for name in here.pictures)]
        named = {name for split, names in SPLIT_NAMES.items() if split not in found for name in names}
        skipped += [
            (Skip.NO_SPLIT if name.lower() in named else Skip.BESIDE, name) for name in here.folders if name not in used
        ]
        for place, one in found.values():
            skipped += skipped_below(place, one.skipped)
    else:
        found, classes, skipped = {ALL: ("", whole)}, set(whole.pictures), list(whole.skipped)
    splits = {split: one for split, (_, one) in found.items()} if len(classes) >= FEWEST_CLASSES else {}
    places = {split: place for split, (place, _) in found.items()}
    return FolderSet(splits, places, tuple(skipped), tuple(sorted(classes)))


def _read_splits(folder: Path) -> dict[str, tuple[str, ClassFolders]]:
    """Split -> its folder and the class folders there. A split with one class needs a class of another split: "unknown" is
    where some keep pictures without labels. Of two folders for one split the one that comes first in ``SPLIT_NAMES`` counts,
    in small letters before capitals."""
    try:
        here = read_folder(folder).folders
    except OSError:
        return {}
    found = dict[str, tuple[str, ClassFolders]]()
    for split, names in SPLIT_NAMES.items():
        places = [place for place in here if place.lower() in names]
        for place in sorted(places, key=lambda place: (names.index(place.lower()), place != place.lower(), place)):
            if split not in found and (one := _class_folders(folder / place)).pictures:
                found[split] = place, one
    shared = {name for _, one in found.values() if len(one.pictures) >= FEWEST_CLASSES for name in one.pictures}
    return {split: one for split, one in found.items() if not shared or shared & one[1].pictures.keys()}
