"""Readers of datasets' lists: one function per layout that CoOp (Zhou et al. 2022) uses, and the random split.

A reader takes the dataset's folder, the name of its picture folder and the name of its list. It reads lists and folder
contents, never a picture. Lists are untrusted input.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rita_demo.data.folders import (
    SPLITS,
    ClassFolders,
    Skipped,
    class_folders_in,
    fault_of_name,
    read_folder_set,
    skipped_below,
)
from rita_demo.process.text_file import read_text
from rita_demo.records.errors import DataError
from rita_demo.records.spreadsheet import SEPARATORS

SEED = 0  # of the random split
SPLIT_FRACTIONS = {"train": 0.5, "val": 0.2, "test": 0.3}  # of every class, as in CoOp
VARIANT_LISTS = tuple(f"images_variant_{split}.txt" for split in SPLITS)  # of FGVC Aircraft
_ALL = {"test": "."}  # the picture folder itself is the test split
COPY_HINT = "Copy it from the dataset again."
RENAME_HINT = "Rename one of them there."
# CLIP's ImageNet names, which classnames.txt repeats, have two pairs of equal names. Where both classes of a pair are
# present, one gets ImageNet's own name, as in rita_demo.data.vocabularies.
DUPLICATE_NAMES = {"n04008634": "projectile", "n04355933": "sunglass"}


@dataclass(frozen=True)
class Listing:
    """A dataset as it is listed. ``names``: K different class names in label order. ``splits``: split -> its pictures as
    (path below ``home``, label 0..K-1). ``skipped``: what the folders hold beside them, where they are listed. ``classes``: the
    K class folders of a folder per class; ``origin`` and ``names_warning`` are sentences on their names. ``splits_text``: the
    splits by name. ``random``: they were drawn here."""

    names: tuple[str, ...]
    splits: dict[str, list[tuple[str, int]]]
    skipped: Skipped = ()
    home: Path = Path()
    classes: tuple[str, ...] = ()
    splits_text: str = ""
    origin: str = ""
    names_warning: str = ""
    random: bool = False


def split_folders(folder: Path, pictures: str, listing: str) -> Listing:
    """No list: a folder per class below a folder per split."""
    folder_set = read_folder_set(folder / pictures)
    return Listing(check_unique(folder_set.classes, folder.name), folder_set.rows, folder_set.skipped)


def split_file(folder: Path, pictures: str, listing: str) -> Listing:
    """``split_zhou_*.json``: ``{"train": [[path, label, name], ...], "val": ..., "test": ...}``. The paths may be
    Windows'. Raises DataError: a malformed file, two names for one label or the reverse, or a path outside the folder.
    """
    where = f"{folder.name}/{listing}"
    try:
        content: Any = json.loads(read_text(folder / listing))
        splits = {
            split: [(str(path).replace("\\", "/"), int(label), str(name)) for path, label, name in content[split]]
            for split in SPLITS
            if split in content
        }
    except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        message = f"{where} should hold lists of [path, label, name] for train, val and test."
        raise DataError(message, "Download the split file again.") from error
    if not splits:
        raise DataError(f"{where} has none of the splits {', '.join(SPLITS)}.")
    return renumber_labels(splits, where)


def renumber_labels(splits: Mapping[str, list[tuple[str, int, str]]], where: str) -> Listing:
    """``{split: [(path, label, class name)]}`` with the labels renumbered 0..K-1 in their order, so that a part of a
    dataset works like the whole. ``where``: the list's name in error messages. Raises DataError: as :func:`split_file`.
    """
    called: dict[int, str] = {}
    for rows in splits.values():
        for path, label, name in rows:
            _check_inside(path, where)
            if called.setdefault(label, name) != name:
                raise DataError(f"{where} calls class {str(label)[:40]} both {called[label][:60]!r} and {name[:60]!r}.")
    dense = {label: index for index, label in enumerate(sorted(called))}
    return Listing(
        check_unique((called[label] for label in dense), where),
        {split: [(path, dense[label]) for path, label, _ in rows] for split, rows in splits.items()},
    )


def random_split(classes: ClassFolders, class_names: Mapping[str, str], where: str) -> Listing:
    """The split of pictures without a split file: the same on every machine, because the part of a picture depends on the
    seed and the picture's path alone. ``class_names``: folder name -> class name where they differ; "" for a folder that
    is no class."""
    splits: dict[str, list[tuple[str, int, str]]] = {name: [] for name in SPLIT_FRACTIONS}
    for label, (folder, files) in enumerate(classes.pictures.items()):
        pictures = [f"{folder}/{file}" for file in files]
        pictures.sort(key=lambda path: hashlib.sha256(f"split\x1f{SEED}\x1f{path}".encode()).digest())
        name, begin, fraction = class_names.get(folder, folder), 0, 0.0
        for split in SPLIT_FRACTIONS if name else ():
            fraction += SPLIT_FRACTIONS[split]
            end = round(fraction * len(pictures))
            splits[split] += [(path, label, name) for path in sorted(pictures[begin:end])]
            begin = end
    return replace(renumber_labels(splits, where), skipped=classes.skipped, random=True)


def aircraft_variants(folder: Path, pictures: str, listing: str) -> Listing:
    """FGVC Aircraft: ``listing`` has a class name per line, in label order, and every split has a file
    ``images_variant_*.txt`` with a picture's number (its file name without ``.jpg``) and class per line. Raises
    DataError: a file is missing, or a line is malformed."""
    lines = _lines(folder, listing, "a class name per line")
    names = check_unique((name for _, name in lines), f"{folder.name}/{listing}")
    label = {name: index for index, (_, name) in enumerate(lines)}
    splits: dict[str, list[tuple[str, int]]] = {}
    for split, file in zip(SPLITS, VARIANT_LISTS):
        rows = splits.setdefault(split, [])
        for number, line in _lines(folder, file, "a picture's number and its class per line"):
            picture, name = _two_cells(line)
            if name not in label:
                form = f"a picture's number and a class of {listing}"
                raise _line_error(f"{folder.name}/{file}", number, form, line)
            _check_inside(picture, f"{folder.name}/{file}")
            rows.append((f"{picture}.jpg", label[name]))
    return Listing(names, splits)


def class_folders(
    folder: Path,
    pictures: str,
    listing: str,
    *,
    splits: Mapping[str, str] = _ALL,
    numbered: bool = False,
    subset: bool = False,
) -> Listing:
    """ImageNet and its variants: ``listing`` has a folder name (a WordNet number) and a class name per line, in label
    order; the pictures lie in a folder per class.

    Args:
        splits: split -> its folder below ``pictures``; only ``test`` is required.
        numbered: the folders are named 0, 1, 2, ... in the order of the lines of ``listing``.
        subset: use only the classes that have a folder, in the order of the folder names.

    Raises DataError: a file or folder is missing, a line is malformed, or a folder is not listed."""
    where = f"{folder.name}/{listing}"
    called: dict[str, str] = {}  # WordNet number -> class name, in the order of the lines
    for number, line in _lines(folder, listing, "a WordNet number and a class name per line"):
        wnid, name = _two_cells(line)
        if not name or wnid in called:
            raise _line_error(where, number, "a new WordNet number and a class name, as in 'n01440764 tench'", line)
        called[wnid] = name
    class_of = {str(i) if numbered else wnid: wnid for i, wnid in enumerate(called)}
    files, skipped = dict[str, list[tuple[str, str]]](), Skipped()
    for split, place in splits.items():
        if split == "test" or (folder / pictures / place).is_dir():
            files[split], beside = _pictures(folder, Path(pictures) / place, class_of, listing)
            skipped += skipped_below("" if place == "." else place, beside)
    here = {wnid for rows in files.values() for _, wnid in rows}
    asked = {wnid: called[wnid] for wnid in (sorted(here) if subset else called)}
    label = {wnid: index for index, wnid in enumerate(asked)}
    often = Counter(asked.values())
    names = (DUPLICATE_NAMES.get(wnid, name) if often[name] > 1 else name for wnid, name in asked.items())
    return Listing(
        check_unique(names, where),
        {split: [(f"{splits[split]}/{path}", label[wnid]) for path, wnid in rows] for split, rows in files.items()},
        skipped,
    )


def _pictures(
    folder: Path, place: Path, class_of: Mapping[str, str], listing: str
) -> tuple[list[tuple[str, str]], Skipped]:
    """(path below ``place``, WordNet number) of every picture, and what is skipped. ``class_of``: folder name -> WordNet
    number."""
    here = f"{folder.name}/{place.as_posix()}"
    try:
        classes = class_folders_in(folder / place)
    except OSError as error:
        message = f"The folder {here} or one in it is missing or cannot be read."
        raise DataError(message, "Put it there, laid out as CoOp describes.") from error
    for name in classes.pictures:
        if name not in class_of:
            message = f"The folder {here}/{name[:80]} belongs to no class of {folder.name}/{listing}."
            raise DataError(message, "Complete the list, or move the folder elsewhere.")
    pictures = [(f"{name}/{file}", class_of[name]) for name, files in classes.pictures.items() for file in files]
    if not pictures:
        message = f"{here} should hold a folder of pictures per class; it holds none."
        raise DataError(message, "Laid out as CoOp describes, every picture lies in its class's folder.")
    return pictures, classes.skipped


def check_unique(names: Iterable[str], where: str, hint: str = RENAME_HINT) -> tuple[str, ...]:
    """Class names with spaces for underscores. Capitals do not distinguish names: the prompts would be equal. Raises
    DataError: two equal names, or half a character."""
    spaced = tuple(name.replace("_", " ") for name in names)
    for name in spaced:
        if not name.isascii() and name != name.encode(errors="ignore").decode():
            raise DataError(f"{where} holds a class name with half a character.", COPY_HINT)
    for name, times in Counter(map(str.casefold, spaced)).items():
        if times > 1:
            raise DataError(f"{where} gives two classes the same name: {name[:60]!r}.", hint)
    return spaced


def _lines(folder: Path, file: str, form: str) -> list[tuple[int, str]]:
    """(number from 1, text) of the lines that are not blank."""
    where = f"{folder.name}/{file}"
    try:
        text = read_text(folder / file)
    except (OSError, ValueError) as error:
        raise DataError(f"{where} is missing or no text; expected {form}.", COPY_HINT) from error
    lines = [(n, line.strip()) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise DataError(f"{where} is empty; expected {form}.", COPY_HINT)
    return lines


def _two_cells(line: str) -> tuple[str, str]:
    """A word and the rest of a line, with spaces between them or what a spreadsheet writes there."""
    word, *rest = re.split(rf"[\s{SEPARATORS}]+", line, maxsplit=1)
    return word, "".join(rest)


def _line_error(where: str, number: int, form: str, line: str) -> DataError:
    return DataError(f"{where}, line {number}, should hold {form}; got {line[:80]!r}.", COPY_HINT)


def _check_inside(path: str, where: str) -> None:
    if fault := fault_of_name(path):
        raise DataError(f"{where} {fault}: {path[:100]!r}.", COPY_HINT)
