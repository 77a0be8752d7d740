"""What a dataset's own lists say: one reader per kind of layout that CoOp (Zhou et al. 2022) uses.

A reader takes the dataset's folder, the name of its picture folder and the name of its list. It
opens lists and looks into folders, never into a picture, and says in a sentence what is wrong:
lists and folders may come from anywhere.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.errors import DataError

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".ppm"}
SPLITS = ("train", "val", "test")
AGAIN = "Copy it from the dataset again."
LONGEST_PART, LONGEST_PATH = 255, 2000  # bytes of a name, and of a path below the picture folder
# CLIP's ImageNet names, which classnames.txt repeats, call two pairs of classes alike. Where both
# of a pair are asked about, one gets ImageNet's own name, as in rita_demo.data.vocabularies.
TWINS = {"n04008634": "projectile", "n04355933": "sunglass"}


@dataclass(frozen=True)
class Listing:
    """``names`` K different class names in label order, each of them asked about; ``splits`` maps a
    split to its pictures as (path below the picture folder, label 0..K-1)."""

    names: tuple[str, ...]
    splits: dict[str, list[tuple[str, int]]]

    @property
    def present(self) -> int:
        """How many of the classes occur in a split."""
        return len({label for rows in self.splits.values() for _, label in rows})


Reader = Callable[[Path, str, str], Listing]


def split_file(folder: Path, pictures: str, listing: str) -> Listing:
    """``split_zhou_*.json``: ``{"train": [[path, label, name], ...], "val": ..., "test": ...}``.

    Raises:
        DataError: another form, two names for one label or the reverse, or a path that leads outside.
    """
    where = f"{folder.name}/{listing}"
    try:
        content: Any = json.loads((folder / listing).read_text("utf-8"))
        splits = {
            split: [(str(path), int(label), str(name)) for path, label, name in content[split]]
            for split in SPLITS
            if split in content
        }
    except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise DataError(
            f"{where} should hold lists of [path, label, name] for train, val and test.",
            "Download the split file again.",
        ) from error
    if not splits:
        raise DataError(f"{where} has none of the splits {', '.join(SPLITS)}.")
    return renumbered(splits, where)


def renumbered(splits: Mapping[str, list[tuple[str, int, str]]], where: str) -> Listing:
    """Labels 0..K-1 in their own order, so that a part of a dataset works like a whole.

    Args:
        splits: ``{split: [(path, label, class name)]}``. where: what to call them in a sentence.

    Raises:
        DataError: as :func:`split_file`.
    """
    called: dict[int, str] = {}
    for rows in splits.values():
        for path, label, name in rows:
            _check_inside(path, where)
            if called.setdefault(label, name) != name:
                raise DataError(
                    f"{where} calls class {str(label)[:40]} both {called[label][:60]!r} and {name[:60]!r}."
                )
    dense = {label: index for index, label in enumerate(sorted(called))}
    return Listing(
        _different((called[label] for label in dense), where),
        {
            split: [(path, dense[label]) for path, label, _ in rows]
            for split, rows in splits.items()
        },
    )


def variants(folder: Path, pictures: str, listing: str) -> Listing:
    """FGVC Aircraft: ``listing`` names a class per line, in label order, and every split has a file
    ``images_variant_*.txt`` with a picture's number (its file name without ``.jpg``) and class per line.

    Raises:
        DataError: a file is missing or a line of it is of another form, with its number.
    """
    lines = _lines(folder, listing, "a class name per line")
    names = _different((name for _, name in lines), f"{folder.name}/{listing}")
    label = {name: index for index, (_, name) in enumerate(lines)}
    splits: dict[str, list[tuple[str, int]]] = {}
    for split in SPLITS:
        file, rows = f"images_variant_{split}.txt", splits.setdefault(split, [])
        for number, line in _lines(folder, file, "a picture's number and its class per line"):
            picture, _, name = line.partition(" ")
            if name.strip() not in label:
                raise DataError(
                    f"{folder.name}/{file}, line {number}, should hold a picture's number and a "
                    f"class of {listing}; got {line[:80]!r}.",
                    AGAIN,
                )
            _check_inside(picture, f"{folder.name}/{file}")
            rows.append((f"{picture}.jpg", label[name.strip()]))
    return Listing(names, splits)


def class_folders(
    folder: Path,
    pictures: str,
    listing: str,
    *,
    splits: Mapping[str, str] | None = None,
    numbered: bool = False,
    subset: bool = False,
) -> Listing:
    """ImageNet and its variants: ``listing`` has a folder's name (a WordNet number) and a class name
    per line, in label order; the pictures lie in a folder per class.

    Args:
        splits: split -> its folder below ``pictures``; only ``test`` is needed. None: ``pictures``
            itself is the test split.
        numbered: the folders are called 0, 1, 2, ... after the lines of ``listing``.
        subset: only the classes that have a folder are asked about, in the order of the folders' names.

    Raises:
        DataError: a file or folder is missing, a line is of another form, or a folder is not listed.
    """
    where = f"{folder.name}/{listing}"
    called = _called(_lines(folder, listing, "a WordNet number and a class name per line"), where)
    class_of = {str(i) if numbered else wnid: wnid for i, wnid in enumerate(called)}
    places = splits or {"test": "."}
    found = {
        split: _pictures(folder, Path(pictures) / place, class_of, listing)
        for split, place in places.items()
        if split == "test" or (folder / pictures / place).is_dir()
    }
    here = {wnid for rows in found.values() for _, wnid in rows}
    asked = {wnid: called[wnid] for wnid in (sorted(here) if subset else called)}
    label = {wnid: index for index, wnid in enumerate(asked)}
    return Listing(
        _different(_apart(asked), where),
        {
            split: [(f"{places[split]}/{path}", label[wnid]) for path, wnid in rows]
            for split, rows in found.items()
        },
    )


def _called(lines: list[tuple[int, str]], where: str) -> dict[str, str]:
    """WordNet number -> class name, in the order of the lines."""
    called: dict[str, str] = {}
    for number, line in lines:
        wnid, _, name = line.partition(" ")
        if not name or wnid in called:
            raise DataError(
                f"{where}, line {number}, should hold a new WordNet number and a class name, "
                f"as in 'n01440764 tench'; got {line[:80]!r}.",
                AGAIN,
            )
        called[wnid] = name.strip()
    return called


def _pictures(
    folder: Path, place: Path, class_of: Mapping[str, str], listing: str
) -> list[tuple[str, str]]:
    """(path below ``place``, WordNet number) of every picture, without opening one.

    Args:
        class_of: name of a class's folder -> its WordNet number.
    """
    found = []
    for name in _inside(folder, place, os.DirEntry.is_dir):
        if name not in class_of:
            raise DataError(
                f"The folder {folder.name}/{place.as_posix()}/{name[:80]} belongs to no class of "
                f"{folder.name}/{listing}.",
                "Complete the list, or move the folder elsewhere.",
            )
        files = _inside(folder, place / name, os.DirEntry.is_file)
        found += [
            (f"{name}/{file}", class_of[name])
            for file in files
            if os.path.splitext(file)[1].lower() in SUFFIXES  # no Path for each of 1.3 million
        ]
    if not found:
        raise DataError(
            f"{folder.name}/{place.as_posix()} should hold a folder of pictures per class; it holds "
            "none.",
            "Laid out as CoOp describes, every picture lies in its class's folder.",
        )
    return found


def _inside(folder: Path, place: Path, kind: Callable[[os.DirEntry[str]], bool]) -> list[str]:
    """The names of the folders or files in a place, sorted, without hidden ones."""
    try:
        with os.scandir(folder / place) as entries:
            return sorted(e.name for e in entries if not e.name.startswith(".") and kind(e))
    except OSError as error:
        raise DataError(
            f"The folder {folder.name}/{place.as_posix()} is missing or cannot be read.",
            "Put it there, laid out as CoOp describes.",
        ) from error


def _apart(called: Mapping[str, str]) -> Iterable[str]:
    """The names of ``called``, WordNet number -> class name; known twins no longer alike."""
    often = Counter(called.values())
    return (TWINS.get(wnid, name) if often[name] > 1 else name for wnid, name in called.items())


def _different(names: Iterable[str], where: str) -> tuple[str, ...]:
    """Class names with spaces for underscores; one name in other capitals is the same prompt to CLIP."""
    spaced = tuple(name.replace("_", " ") for name in names)
    for name in spaced:
        if not name.isascii() and name != name.encode(errors="ignore").decode():
            raise DataError(f"{where} holds a class name with half a character.", AGAIN)
    for name, times in Counter(map(str.casefold, spaced)).items():
        if times > 1:
            raise DataError(
                f"{where} gives two classes the same name: {name[:60]!r}.",
                "Rename one of them there.",
            )
    return spaced


def _lines(folder: Path, file: str, form: str) -> list[tuple[int, str]]:
    """(number from 1, text) of the lines that are not blank."""
    where = f"{folder.name}/{file}"
    try:
        text = (folder / file).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError(f"{where} is missing or no text; expected {form}.", AGAIN) from error
    lines = [(n, line.strip()) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise DataError(f"{where} is empty; expected {form}.", AGAIN)
    return lines


def _check_inside(path: str, where: str) -> None:
    parts = Path(path).parts
    if Path(path).is_absolute() or ".." in parts:
        raise DataError(f"{where} points outside its folder: {path[:100]!r}.")
    # the system would refuse to look for it, with an error instead of a "no"
    if max(map(_bytes, parts), default=0) > LONGEST_PART or _bytes(path) > LONGEST_PATH:
        raise DataError(f"{where} names a picture that no disk can hold: {path[:100]!r}.", AGAIN)


def _bytes(name: str) -> int:
    return len(name.encode(errors="replace"))
