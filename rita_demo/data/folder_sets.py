"""Folders with a folder of pictures per class, as they are or below ``train``, ``val`` and ``test``."""

from dataclasses import dataclass
from pathlib import Path

from rita_demo.data.folders import Skip, Skipped, read_folder, skipped_below

SPLITS = ("train", "val", "test")
ALL = "all"  # the split of a folder without splits
FEWEST_CLASSES = 2


@dataclass(frozen=True)
class ClassFolders:
    """A folder with a folder per class: folder -> its pictures, both sorted. A folder without a picture is ``skipped``."""

    pictures: dict[str, tuple[str, ...]]
    skipped: Skipped


@dataclass(frozen=True)
class FolderSet:
    """A folder as a dataset: split -> its classes, none where fewer than two folders hold pictures; ``skipped``: what it
    holds beside their pictures."""

    splits: dict[str, ClassFolders]
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
        nested = [(Skip.NESTED, inside) for inside in one.folders] if one.pictures else [(Skip.NO_CLASS, "")]
        skipped += skipped_below(name, (*one.skipped, *nested))
    return ClassFolders({name: one.pictures for name, one in content.items() if one.pictures}, tuple(skipped))


def classes_in(folder: Path) -> ClassFolders:
    """The class folders in a folder; none where they are fewer than two, or where it is missing or cannot be read."""
    try:
        found = class_folders_in(folder)
    except OSError:
        return ClassFolders({}, ())
    return found if len(found.pictures) >= FEWEST_CLASSES else ClassFolders({}, found.skipped)


def read_folder_set(folder: Path) -> FolderSet:
    """A folder as a dataset; without splits where it holds no folders of pictures."""
    splits = {name: classes for name in SPLITS if (classes := classes_in(folder / name)).pictures}
    if not splits:
        classes = classes_in(folder)
        return FolderSet({ALL: classes} if classes.pictures else {}, classes.skipped)
    here = read_folder(folder)
    skipped = [*here.skipped, *((Skip.LOOSE, name) for name in here.pictures)]
    skipped += [(Skip.BESIDE, name) for name in here.folders if name not in splits]
    for name, classes in splits.items():
        skipped += skipped_below(name, classes.skipped)
    return FolderSet(splits, tuple(skipped))
