"""What the classes of a folder per class are called: as a file of names says, by ImageNet's names of WordNet numbers, else as
their folders are.

Files of names are untrusted input.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.data.folders import is_leftover
from rita_demo.data.imagenet_names import wordnet_names
from rita_demo.data.split_files import RENAME_HINT, check_unique
from rita_demo.process.text_file import read_text
from rita_demo.records.errors import DataError, join_names

NAMES_FILE = "classnames.txt"
MAX_NAMED = 3  # class folders that a sentence lists
MAX_BYTES = 1 << 20  # of a file of names
_INDEXED = re.compile(r"(\d+)([\W_]+)([^\W\d_].*)")  # 001.Black_footed_Albatross, 01_cup
_NUMBERED = re.compile(r"(?=.*\d)([^\W\d_]*)[\W\d_]*")  # 7, 007, class_3, c0: a word or none, then a number
_WORDNET = re.compile(r"n\d{8}")
_KINDS = {"", "class", "label", "category", "cls", "id"}  # words that name nothing before a number
_GAP = re.compile(r"[\s,;:=]+")  # between a class folder and its name
_HINT = "Write a line per class folder: its name, a space, the class name."


@dataclass(frozen=True)
class FolderNames:
    """``names``: class folder -> class name, all different. ``origin``: a sentence on the file that they are from;
    ``warning``: on folders that are called by numbers, what is asked instead, or that they have no name; "" for neither. ``file``: the file of names in the dataset's
    folder, "" for none there."""

    names: dict[str, str]
    origin: str = ""
    warning: str = ""
    file: str = ""


def name_classes(folder: Path, classes: Sequence[str]) -> FolderNames:
    """The names of a dataset's class folders. A file of names counts in the dataset's ``folder``, and beside it where
    it names exactly these classes. Raises DataError: the file of names lacks classes or can be read in two ways, or two
    classes get the same name."""
    where = f"The folder {folder.name!r}"
    for path in _files(folder, classes):
        place = f"{folder.name}/{path.name}"
        if names := _read_names(path, place, classes):
            return FolderNames(_unique(names, place), f"The class names are those of {place}.", file=path.name)
    for path in _files(Path(os.path.abspath(folder)).parent, classes):  # they may be another dataset's
        try:
            lines, pairs = _entries(path, classes)
        except (OSError, ValueError):
            continue
        if len(lines) == len(names := _by_class(pairs, classes)) == len(classes):
            origin = f"The class names are those of {path.name} beside the folder."
            return FolderNames(_unique(names, path.name), origin)
    table = wordnet_names() if any(map(_WORDNET.fullmatch, classes)) else {}
    if in_imagenet := {c: table[c] for c in classes if c in table}:
        hint = f"Write other names into a file {folder.name}/{NAMES_FILE}, with a line per class folder."
        names = _unique({c: in_imagenet.get(c, c) for c in classes}, f"{where}, with ImageNet's names,", hint)
        some = "1 class folder is a WordNet number and gets its name"
        if len(in_imagenet) > 1:
            some = f"{len(in_imagenet)} class folders are WordNet numbers and get their names"
        warning = f"{some} in ImageNet: {_pairs(names, in_imagenet)}. {_without_names(folder, classes, in_imagenet)}"
        return FolderNames(names, warning=warning.rstrip())
    indexed = _without_index(classes)
    if indexed and len({name.casefold() for name in indexed.values()}) == len(classes):
        names = _unique(indexed, where)
        warning = f"The number before the name of every class folder is left out: {_pairs(names, names)}."
        return FolderNames(names, warning=warning)
    names = _unique({c: c for c in classes}, where)
    warning = "The number before the name of every class folder stays: without it two names are equal."
    return FolderNames(names, warning=warning if indexed else _without_names(folder, classes, ()))


def _unique(names: Mapping[str, str], where: str, hint: str = RENAME_HINT) -> dict[str, str]:
    return dict(zip(names, check_unique(names.values(), where, hint), strict=True))


def _pairs(names: Mapping[str, str], some: Collection[str]) -> str:
    return join_names([f"{c} is {name}" for c, name in names.items() if c in some], MAX_NAMED)


def _without_names(folder: Path, classes: Sequence[str], named: Collection[str]) -> str:
    """A sentence on the class folders that have no name and are not ``named``."""
    if not (nameless := [c for c in _nameless(classes) if c not in named]):
        return ""
    numbers = all(word in _KINDS or _WORDNET.fullmatch(c) for c, word in _numbered(nameless).items())
    what = f"{len(nameless)} class folders {'have a number and no name' if numbers else 'differ by a number alone'}"
    if len(nameless) == 1:
        what = "1 class folder has a number and no name"
    return (
        f"{what}: {join_names(nameless, MAX_NAMED)}. The prompts have that in the place of a name. "
        f"To give names, write a file {folder.name}/{NAMES_FILE}, with a line per class folder: {nameless[0]} NAME."
    )


def _nameless(classes: Sequence[str]) -> list[str]:
    """The class folders that are called by a number: alone, behind a word such as "class", or all behind the same word."""
    words = _numbered(classes)
    alike = len(words) == len(classes) and len(set(words.values())) == 1
    return [c for c, word in words.items() if alike or word in _KINDS or _WORDNET.fullmatch(c)]


def _numbered(classes: Sequence[str]) -> dict[str, str]:
    """Class folder -> the word in small letters, or "", before its number, where it is no more than these."""
    return {c: match[1].casefold() for c in classes if (match := _NUMBERED.fullmatch(c))}


def _without_index(classes: Sequence[str]) -> dict[str, str]:
    """The names of class folders without the number in front, where all have one and it counts the classes: with a dot
    behind, with zeros in front, or 1, 2, 3. Others ("5_dollars") are a part of the name; then nothing."""
    matches = {c: match for c in classes if (match := _INDEXED.fullmatch(c))}
    numbers = [match[1] for match in matches.values()]
    if len(matches) < len(classes) or len({number.lstrip("0") for number in numbers}) < len(classes):
        return {}
    dots = all(match[2].startswith(".") for match in matches.values())
    zeros = len(set(map(len, numbers))) == 1 and any(number.startswith("0") and len(number) > 1 for number in numbers)
    counted = ({str(i + first) for i in range(len(classes))} for first in (0, 1))
    return {c: match[3] for c, match in matches.items()} if dots or zeros or set(numbers) in counted else {}


# --- files of names
def _files(folder: Path, classes: Sequence[str]) -> list[Path]:
    """What may be a file of names in a folder: ``classnames.txt`` first, then JSON files that are called after names, or
    after classes where these have numbers."""
    try:
        files = sorted(name for name in os.listdir(folder) if not is_leftover(name))
    except OSError:
        return []
    texts = [name for name in files if name.lower() == NAMES_FILE]
    words = "name|class|label" if _nameless(classes) else "name"
    return [folder / name for name in (*texts, *(n for n in files if re.fullmatch(rf".*({words}).*\.json", n.lower())))]


def _read_names(path: Path, place: str, classes: Sequence[str]) -> dict[str, str]:
    """The names in a file of the dataset's folder; none where a JSON file is about something else, or the lines of
    ``classnames.txt`` are the class folders as they are. Raises DataError: some classes have no name there, or the
    lines can be read in two ways."""
    is_json = path.suffix.lower() == ".json"
    try:
        lines, pairs = _entries(path, classes)
    except (OSError, ValueError) as error:
        raise DataError(f"{place} is no text that can be read.", _HINT) from error
    names, texts = _by_class(pairs, classes), set(map(_folded, lines))
    if twice := [c for c, name in pairs if name != names.get(c, name)]:
        raise DataError(f"{place} has two names for the class folder {twice[0][:60]!r}.", "Leave one of them there.")
    same = {c: c for c in classes if c not in names and _folded(c) in texts}
    other = is_json and "name" not in path.stem.lower() and len(set(names.values())) < len(classes)
    if other or (not names and (is_json or len(same) == len(classes))):
        return {}
    named = names | same
    if missing := [c for c in classes if c not in named]:
        if not named and len(lines) == len(classes):  # a name per line, in the order of the class folders
            numbers = _numbers(classes)
            by_number = sorted(classes, key=lambda c: (len(numbers.get(c, "")), numbers.get(c, "")))
            if len(numbers) == len(classes) and by_number != list(classes):  # 1, 10, 2 may as well be meant as 1, 2, 10
                orders = "the class folders have two orders: as texts and as numbers"
                raise DataError(f"{place} has a name per line, and {orders}.", _HINT)
            return dict(zip(classes, lines, strict=True))
        if not named:
            raise DataError(f"{place} has {len(lines)} lines for {len(classes)} class folders.", _HINT)
        counts = f"{place} has names for {len(named)} of {len(classes)} class folders"
        hint = "Add them there." if is_json else _HINT
        raise DataError(f"{counts}, and none for {join_names(missing, MAX_NAMED)}.", hint)
    return {c: named[c] for c in classes}


def _entries(path: Path, classes: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The lines of a text or the keys of an object, and (class folder or its number, name) of those that have both. A JSON
    file that is no object of names has none."""
    if path.suffix.lower() == ".json":
        try:
            content: Any = json.loads(read_text(path)) if path.stat().st_size <= MAX_BYTES else {}
        except (OSError, ValueError, RecursionError):
            content = {}
        if not isinstance(content, dict) or not all(isinstance(n, str) and n.strip() for n in content.values()):
            content = {}
        return list(content), [(key, " ".join(name.split())) for key, name in content.items()]
    lines = [line.strip() for line in read_text(path).split("\n") if line.strip()]
    find, pairs = _finder(classes), list[tuple[str, str]]()
    for line in lines:  # the longest begin that is a class folder: some have several words
        parts = [(find(line[: gap.start()]), line[gap.end() :]) for gap in _GAP.finditer(line)]
        pairs += [(c, name) for c, name in parts if c and name][-1:]
    return lines, pairs


def _by_class(pairs: Sequence[tuple[str, str]], classes: Sequence[str]) -> dict[str, str]:
    """Class folder -> name, in the order of the class folders. A key is the folder or its number."""
    find, exact = _finder(classes), dict(reversed(pairs))
    names = {find(key): name for key, name in reversed(pairs)} | {c: exact[c] for c in classes if c in exact}
    return {c: names[c] for c in classes if c in names}


def _finder(classes: Sequence[str]) -> Callable[[str], str]:
    """The class folder of a key: the folder itself, or its number with or without zeros in front; "" for none."""
    numbers = _numbers(classes)
    often = Counter(numbers.values())
    numbered = {number: c for c, number in numbers.items() if often[number] == 1}
    exact = frozenset(classes)

    def find(key: str) -> str:
        return key if key in exact else numbered.get(key.lstrip("0") or "0", "") if key.isdecimal() else ""

    return find


def _numbers(classes: Sequence[str]) -> dict[str, str]:
    """Class folder -> the number at its end, without zeros in front, where it is a word and a number."""
    return {c: match[1] for c in classes if (match := re.fullmatch(r"[^\W\d_]*[\W_]*0*(\d+)", c))}


def _folded(name: str) -> str:
    return name.replace("_", " ").casefold()
