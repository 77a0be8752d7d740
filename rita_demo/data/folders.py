"""What a folder holds: folders, pictures, and what is neither. A link counts as what it leads to.

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
    """What a folder holds. It is read, no file is opened.

    Raises:
        OSError: there is no such folder, or it cannot be read.
    """
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
    found = tuple(skipped)
    groups = {why: [name for reason, name in found if reason is why] for why in Skip}
    return " ".join(
        f"{why.value} ({len(names)}): {join_names(names, MAX_NAMED)}." for why, names in groups.items() if names
    )


def fault_of_name(name: str) -> str:
    """Why ``name`` cannot be a file below a folder, as the end of "It ..."; "" when it can. Only its letters count."""
    parts = re.split(r"[/\\]", name)
    if name.startswith(("/", "\\")) or ".." in parts or "\0" in name or os.path.splitdrive(name)[0]:
        return "points outside its folder"
    whole, *lengths = (len(part.encode(errors="replace")) for part in (name, *parts))
    # for longer names the operating system raises an error instead of finding no file
    too_long = whole > MAX_PATH_BYTES or max(lengths) > MAX_NAME_BYTES
    return "names a picture that no disk can hold" if too_long else ""
