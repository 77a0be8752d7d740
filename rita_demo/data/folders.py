"""What a folder holds: folders, pictures, and what is neither; and a folder of pictures per class as a dataset, as it is or
below the folders of splits. A link counts as what it leads to.

Names are judged by their letters alone: whether a name stays below its folder does not depend on where links lead, because
the owner of the folder made them.
"""

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import chain
from pathlib import Path

from rita_demo.records.errors import join_names

MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 2000  # of a file name, and of a path below a folder
MAX_NAMED = 3  # skipped names of one kind that a sentence lists
SPLITS = ("train", "val", "test")
ALL = "all"  # the split of a folder without splits
#: What the folders of the splits are called, in small letters.
SPLIT_NAMES = {"train": ("train", "training"), "val": ("val", "valid", "validation"), "test": ("test", "testing")}
FEWEST_CLASSES = 2
#: What systems and programs put into folders, in small letters. Hidden names are left out in any case.
_LEFTOVERS = {
    *("__macosx", "icon\r", "desktop db", "desktop df", "network trash folder", "temporary items"),  # macOS
    *("thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "$recycle.bin"),  # Windows
    *("system volume information", "picasa.ini", "zbthumbnail.info"),
    *("@eadir", "@tmp", "#recycle", "#snapshot", "@recycle", "@recently-snapshot"),  # network storage
    *("lost+found", "found.000", "__pycache__"),
}
#: Ends of the names of unfinished downloads, autosaved files, backups, and of Windows' notes on where a file came from.
_LEFTOVER_ENDS = (
    *("~", "#", ".part", ".partial", ".crdownload", ".opdownload", ".download", ".tmp", ".temp", ".swp", ".swo"),
    *(".bak", ".orig", ":zone.identifier", "_zone.identifier"),
)


class Skip(Enum):
    """Why something in a dataset's folder is skipped, as the begin of a sentence that names it."""

    LEFTOVER = "Hidden or left behind by a program, skipped"
    NO_PICTURE = "No picture by its name, skipped"
    UNREADABLE_NAME = "Its name is no text in UTF-8, skipped"
    DEAD_LINK = "A link that leads nowhere, skipped"
    NO_CLASS = "A folder without pictures, no class"
    NO_PICTURES = "A folder of folders without pictures of its own, no class"
    NESTED = "A folder inside a class's folder, skipped"
    BESIDE = "A folder beside the splits, skipped"
    NO_SPLIT = "Called like a split, without pictures of the classes"
    LOOSE = "A picture in no class's folder, skipped"


Skipped = tuple[tuple[Skip, str], ...]  # why, and the name below the dataset's folder


@dataclass(frozen=True)
class FolderContent:
    """The names in a folder, sorted: ``folders``, ``pictures`` (by their suffix; one that is a link may lead nowhere), and
    what is ``skipped``."""

    folders: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    skipped: Skipped = ()


def read_folder(folder: Path) -> FolderContent:
    """What a folder holds. It is read, no file is opened. Raises OSError: there is no such folder, or it cannot be
    read."""
    folders, pictures, skipped = list[str](), list[str](), list[tuple[Skip, str]]()
    suffixes = picture_suffixes()
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            name = entry.name
            if is_leftover(name):
                skipped.append((Skip.LEFTOVER, name))
            elif not name.isascii() and name != name.encode(errors="ignore").decode():
                skipped.append((Skip.UNREADABLE_NAME, name))
            elif os.path.isdir(entry.path):
                folders.append(name)
            elif os.path.splitext(name)[1].lower() in suffixes:
                pictures.append(name)
            elif name.lower().endswith(_LEFTOVER_ENDS):
                skipped.append((Skip.LEFTOVER, name))
            else:
                dead = entry.is_symlink() and not os.path.exists(entry.path)
                skipped.append((Skip.DEAD_LINK if dead else Skip.NO_PICTURE, name))
    return FolderContent(tuple(folders), tuple(pictures), tuple(skipped))


def is_leftover(name: str) -> bool:
    """Whether a file or folder of that name is hidden, or one that systems and programs leave behind."""
    return name.startswith((".", "~$")) or name.lower() in _LEFTOVERS


@cache
def picture_suffixes() -> frozenset[str]:
    """The suffixes, in small letters with a dot, of the formats that :func:`rita_demo.data.pictures.open_picture` opens."""
    from PIL import Image  # only where a folder is read: the names of datasets are known without it

    from rita_demo.data.pictures import FORMATS

    kinds = {*FORMATS, "MPO"}  # an MPO file is a JPEG file with more pictures behind the first
    return frozenset(suffix for suffix, kind in Image.registered_extensions().items() if kind in kinds)


def pictures_below(folder: Path, above: frozenset[str] = frozenset()) -> list[Path]:
    """All pictures below a folder, sorted; none where it is missing or cannot be read. ``above``: the real places of the
    folders above, where a loop of links ends."""
    real = os.path.realpath(folder)
    try:
        content = FolderContent() if real in above else read_folder(folder)
    except OSError:
        return []
    below = (pictures_below(folder / name, above | {real}) for name in content.folders)
    return sorted([*(folder / name for name in content.pictures), *chain.from_iterable(below)])


def skipped_below(place: str, skipped: Skipped) -> Skipped:
    """What is skipped in the folder ``place``, named from the folder that holds it."""
    return tuple((why, posixpath.join(place, name).removesuffix("/")) for why, name in skipped)


def skipped_text(skipped: Iterable[tuple[Skip, str]]) -> str:
    """One sentence for each kind of what is skipped, with the first names; "" for nothing."""
    pairs = tuple(skipped)
    groups = {why.value: [name for reason, name in pairs if reason is why] for why in Skip}
    return " ".join(f"{why} ({len(names)}): {join_names(names, MAX_NAMED)}." for why, names in groups.items() if names)


def fault_of_name(name: str) -> str:
    """Why ``name`` cannot be a file below a folder, as the end of "It ..."; "" when it can. Only its letters count."""
    parts = re.split(r"[/\\]", name)
    if name.startswith(("/", "\\")) or ".." in parts or "\0" in name or os.path.splitdrive(name)[0]:
        return "points outside its folder"
    whole, *lengths = (len(part.encode(errors="replace")) for part in (name, *parts))
    # for longer names the operating system raises an error instead of finding no file
    too_long = whole > MAX_PATH_BYTES or max(lengths) > MAX_NAME_BYTES
    return "names a picture that no disk can hold" if too_long else ""


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
    """The folders in a folder that hold pictures. Raises OSError: it or a folder in it is missing or cannot be read."""
    here = read_folder(folder)
    content = {name: read_folder(folder / name) for name in here.folders}
    skipped = [*here.skipped, *((Skip.LOOSE, name) for name in here.pictures)]
    for name, inside in content.items():
        nested = [(Skip.NESTED, below) for below in inside.folders]
        if not inside.pictures:
            nested = [(Skip.NO_PICTURES if inside.folders else Skip.NO_CLASS, "")]
        skipped += skipped_below(name, (*inside.skipped, *nested))
    return ClassFolders({name: inside.pictures for name, inside in content.items() if inside.pictures}, tuple(skipped))


def classes_in(folder: Path) -> ClassFolders:
    """As :func:`class_folders_in`; none where the folder is missing or cannot be read."""
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
            if split not in splits and (inside := classes_in(folder / place)).pictures:
                splits[split] = place, inside
    several = [inside.pictures.keys() for _, inside in splits.values() if len(inside.pictures) >= FEWEST_CLASSES]
    if shared := set().union(*several):
        splits = {split: pair for split, pair in splits.items() if shared & pair[1].pictures.keys()}
    whole, classes = classes_in(folder), {name for _, inside in splits.values() for name in inside.pictures}
    # a class that is called like a split, with a folder inside, is no split
    if several or len(classes) > len(whole.pictures):
        skipped = [*here.skipped, *((Skip.LOOSE, name) for name in here.pictures)]
        used = {place for place, _ in splits.values()}
        absent = {name for split, names in SPLIT_NAMES.items() if split not in splits for name in names}
        beside = [name for name in here.folders if name not in used]
        skipped += [(Skip.NO_SPLIT if name.lower() in absent else Skip.BESIDE, name) for name in beside]
        for place, inside in splits.values():
            skipped += skipped_below(place, inside.skipped)
    else:
        splits, classes, skipped = {ALL: ("", whole)}, set(whole.pictures), list(whole.skipped)
    rows = {
        split: [
            (posixpath.join(place, name, file), label)
            for label, name in enumerate(sorted(classes))
            for file in inside.pictures.get(name, ())
        ]
        for split, (place, inside) in splits.items()
    }
    text = ", ".join(f"{s} (folder {place})" * (place not in ("", s)) or s for s, (place, _) in splits.items())
    return FolderSet(rows if len(classes) >= FEWEST_CLASSES else {}, tuple(sorted(classes)), text, tuple(skipped))
