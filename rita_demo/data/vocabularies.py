"""Class names: the ready lists of datasets, the prompt of plain CLIP for them, and names that a user typed."""

import difflib
import operator
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rita_demo.data import descriptions
from rita_demo.data.datasets import DATASETS
from rita_demo.data.imagenet_names import imagenet_names
from rita_demo.records.errors import SettingError, VocabularyError, check_known
from rita_demo.settings import DEFAULT_PROMPT_TEMPLATE
from rita_demo.settings.setting import short_repr

FEWEST_NAMES = 2
MOST_NAMES = 1200
LONGEST_NAME = 100  # characters
_JOINERS = "\u200c\u200d"
#: One name of a typed list up to its separator: in quotes as in a CSV file, or as it is.
_ENTRY = re.compile(r'[^\S\r\n]*"((?:[^"\r\n]|"")*)"[^\S\r\n]*(?:[,;\r\n]|\Z)|([^,;\r\n]*)(?:[,;\r\n]|\Z)')


@dataclass(frozen=True)
class Vocabulary:
    """A ready list of class names in the dataset's label order."""

    name: str
    title: str

    @cached_property
    def names(self) -> tuple[str, ...]:
        """K class names: ImageNet's, or those of the file of descriptions with spaces for underscores."""
        if self.name == "imagenet":
            return imagenet_names()
        return tuple(key.replace("_", " ") for key in descriptions.load(self.name))


VOCABULARIES = {name: Vocabulary(name, row.list_title) for name, row in DATASETS.items() if row.list_title}


def vocabulary(name: str) -> Vocabulary:
    """The vocabulary with this name; :class:`VocabularyError` lists the valid names."""
    check_known("vocabulary", name, VOCABULARIES, VocabularyError)
    return VOCABULARIES[name]


def prompt_template(asked: str, names: Sequence[str]) -> str:
    """The prompt, with ``{}`` for a class name, that ``hand_prompt`` means for K class names: ``asked`` is ``photo``,
    ``dataset`` (of the ready list with these names), or the prompt itself. Raises SettingError: ``dataset``, and no
    ready list has these names."""
    if asked != "dataset":
        return DEFAULT_PROMPT_TEMPLATE if asked == "photo" else asked
    for name, vocabulary in VOCABULARIES.items():
        if tuple(names) == vocabulary.names:
            return DATASETS[name].template
    message = f"hand_prompt=dataset needs a dataset's own class names ({', '.join(VOCABULARIES)}); these are others."
    raise SettingError(message, "Use hand_prompt=photo, or write the sentence itself: hand_prompt='a photo of a {}.'.")


def resolve_hand_prompt(asked: str, dataset: str) -> str:
    """``hand_prompt`` for a dataset: ``photo`` (also where the dataset's own prompt is that one) or the prompt itself.
    Raises SettingError: ``dataset``, and CoOp has no prompt for it."""
    if asked == "dataset":
        if dataset not in DATASETS:
            datasets = f"hand_prompt=dataset is for {', '.join(DATASETS)}."
            message = f"There is no sentence for the folder {dataset[:60]!r}: {datasets}"
            raise SettingError(message, "Write it yourself: --set hand_prompt='a photo of a {}.'.")
        asked = DATASETS[dataset].template
    return "photo" if asked == DEFAULT_PROMPT_TEMPLATE else asked


def parse_names(text: str) -> tuple[str, ...]:
    """Class names that a user typed, separated by commas, semicolons or new lines; a name that holds one of them is in
    quotes as in a CSV file: ``"fox, red", cup``. Tabs separate, as between copied cells, where no comma or semicolon does.
    The inverse of :func:`format_names`.

    Spaces are trimmed and control characters, empty entries and repeated names (in any capitals) dropped. Emoji and
    angle brackets stay: output escapes them. Raises VocabularyError: fewer than 2 or more than 1200 different names, or
    one over 100 characters."""
    return check_names(_entries(text))


def format_names(names: Sequence[str], separator: str = ", ") -> str:
    """Class names as text that :func:`parse_names` reads. Links and forms hold it."""
    quoted = (f'"{name.replace(chr(34), chr(34) * 2)}"' if re.search(r'^"|[,;]', name) else name for name in names)
    return separator.join(quoted)


def check_names(entries: Sequence[str]) -> tuple[str, ...]:
    """Class names that are already separated (their commas stay), checked as :func:`parse_names` does."""
    different: dict[str, str] = {}
    for entry in entries:
        name = _clean(entry)
        if len(name) > LONGEST_NAME:
            message = f"A class name has at most {LONGEST_NAME} characters; {_short(name)} has {len(name)}."
            raise VocabularyError(message, "Use a few words, and separate names with commas or new lines.")
        if name:
            different.setdefault(name.casefold(), name)
    if len(different) < FEWEST_NAMES:
        got = f"only {_short(next(iter(different.values())))}" if different else "none"
        message = f"At least {FEWEST_NAMES} different class names are needed; got {got}."
        raise VocabularyError(message, "Separate names with commas or new lines, for example: cup, crab, camera.")
    if len(different) > MOST_NAMES:
        message = f"At most {MOST_NAMES} class names can be compared; got {len(different)}."
        raise VocabularyError(message, "Leave some out.")
    return tuple(different.values())


def duplicates(text: str) -> tuple[str, ...]:
    """The repeated names that :func:`parse_names` drops."""
    seen, again = set[str](), dict[str, str]()
    for name in filter(None, map(_clean, _entries(text))):
        if name.casefold() in seen:
            again.setdefault(name.casefold(), name)
        seen.add(name.casefold())
    return tuple(again.values())


def index_of(names: Sequence[str], wanted: str) -> int:
    """The index of a class name; capitals, and underscores for spaces, do not matter. Raises VocabularyError: there is
    no such class; lists the closest names."""
    if wanted in names:
        return names.index(wanted)
    folded = [_folded(name) for name in names]
    if _folded(wanted) in folded:
        return folded.index(_folded(wanted))
    close = difflib.get_close_matches(_folded(wanted), folded, n=3)
    listed = [names[folded.index(name)] for name in close] or names[:5]
    which = "Closest" if close else "The first ones"
    message = f"There is no class {_short(wanted)} among the {len(names)}."
    raise VocabularyError(message, f"{which}: {', '.join(map(_short, listed))}.")


def label_index(names: Sequence[str], label: Any, what: str = "label") -> int:
    """The index of a class that is named, or given by its index. ``what``: the label in error messages. Raises
    VocabularyError: there is no such class. SettingError: an index outside the classes, or neither name nor index."""
    if isinstance(label, str):
        return index_of(names, label)
    try:
        index = -1 if "bool" in str(getattr(label, "dtype", type(label))) else operator.index(label)
    except TypeError:
        index = -1
    if not 0 <= index < len(names):
        got = short_repr(label)
        raise SettingError(f"The {what} is a class name, or a whole number from 0 to {len(names) - 1}; got {got}.")
    return index


def _entries(text: str) -> list[str]:
    if not re.search("[,;]", text):  # cells that were copied from a spreadsheet
        text = text.replace("\t", "\n")
    entries = (match.groups() for match in _ENTRY.finditer(text))
    return [plain if quoted is None else quoted.replace('""', '"') for quoted, plain in entries]


def _folded(name: str) -> str:
    return " ".join(_clean(name.replace("_", " ")).split()).casefold()


def _clean(name: str) -> str:
    """Trimmed, without invisible characters: controls, text-direction marks, lone surrogates. Joiners stay: emoji and
    several scripts need them."""
    spaced = unicodedata.normalize("NFC", name.replace("\t", " "))
    kept = (c for c in spaced if c in _JOINERS or unicodedata.category(c) not in ("Cc", "Cf", "Cs"))
    text = " ".join("".join(kept).split())
    return text if any(unicodedata.category(c)[0] in "LNPS" for c in text) else ""


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
