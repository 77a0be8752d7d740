"""Folders with a folder of pictures per class, as they are or below the folders of splits."""

import posixpath
from dataclasses import dataclass
from pathlib import Path

from rita_demo.data.folders import FolderContent, Skip, Skipped, read_folder, skipped_below

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
    """A folder as a dataset. ``rows``: split -> its pictures as (path below the folder, number of the class), class by class;
    none where all splits together have fewer than two classes. ``classes``: the class folders of all splits, sorted.
    ``splits_text``: the splits by name, with their folders where these have others. ``skipped``: what the folder holds beside
    the pictures."""

    rows: dict[str, list[tuple[str, int]]]
    classes: tuple[str, ...]
    splits_text: str
    skipped: Skipped


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
    """A folder as a dataset; without splits where it holds no folders of pictures.

    A split may lack all classes but one, but needs a class of another split: "unknown" is where some keep pictures without
    labels. Of two folders for one split the one that comes first in ``SPLIT_NAMES`` counts, in small letters before
    capitals."""
    try:
        here = read_folder(folder)
    except OSError:
        here = FolderContent()
    splits = dict[str, tuple[str, ClassFolders]]()
    for split, names in SPLIT_NAMES.items():
        places = [place for place in here.folders if place.lower() in names]
        for place in sorted(places, key=lambda place: (names.index(place.lower()), place != place.lower(), place)):
            if split not in splits and (one := _class_folders(folder / place)).pictures:
                splits[split] = place, one
    several = [one.pictures.keys() for _, one in splits.values() if len(one.pictures) >= FEWEST_CLASSES]
    shared = set().union(*several)
    splits = {
        split: (place, one) for split, (place, one) in splits.items() if not shared or shared & one.pictures.keys()
    }
    whole, classes = _class_folders(folder), {name for _, one in splits.values() for name in one.pictures}
    # a class that is called like a split, with a folder inside, is no split
    if several or len(classes) > len(whole.pictures):
        skipped = [*here.skipped, *((Skip.LOOSE, name) for name in here.pictures)]
        used = {place for place, _ in splits.values()}
        absent = {name for split, names in SPLIT_NAMES.items() if split not in splits for name in names}
        skipped += [
            (Skip.NO_SPLIT if name.lower() in absent else Skip.BESIDE, name)
            for name in here.folders
            if name not in used
        ]
        for place, one in splits.values():
            skipped += skipped_below(place, one.skipped)
    else:
        splits, classes, skipped = {ALL: ("", whole)}, set(whole.pictures), list(whole.skipped)
    rows = {
        split: [
            (posixpath.join(place, name, file), label)
            for label, name in enumerate(sorted(classes))
            for file in one.pictures.get(name, ())
        ]
        for split, (place, one) in splits.items()
    }
    text = ", ".join(f"{s} (folder {place})" * (place not in ("", s)) or s for s, (place, _) in splits.items())
    return FolderSet(rows if len(classes) >= FEWEST_CLASSES else {}, tuple(sorted(classes)), text, tuple(skipped))
