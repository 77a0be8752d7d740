"""Descriptions: sentences on what a class looks like, in a JSON file {class name: [sentence, ...]}.

The built-in files were written for this project. Those of DTD and Caltech101 belong to every setting that says built-in, and
to the training of the embedded model; those of four further datasets of the paper to ``built_in`` alone, which the preset
``paper`` has. The recommended settings were measured without them.
"""

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from rita_demo.process.assets import ASSETS
from rita_demo.process.text_file import decode_text
from rita_demo.records.errors import DataError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import Settings
from rita_demo.settings.setting import short_repr

_FOLDER = ASSETS / "descriptions"
BUILT_IN: dict[str, Path] = {"caltech101": _FOLDER / "caltech101.json", "dtd": _FOLDER / "dtd.json"}
#: Further datasets of the paper: for ``built_in``, where one file has all classes.
FOR_PAPER: dict[str, Path] = {name: _FOLDER / f"{name}.json" for name in ("eurosat", "pets", "flowers102", "food101")}
LARGEST_FILE = 2_000_000  # bytes
LONGEST_SENTENCE = 300  # characters
MOST_SENTENCES = 64  # of one class
OFF, BUILT_IN_ALL = "none", "built_in"  # no descriptions; all built-in files, where every class has some
BUILT_IN_MEAN = "built_in_mean"  # the same, as one prompt per class
_FORM_HINT = 'Give a JSON file of the form {"class": ["sentence", ...]}.'


def load(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Class name -> its sentences, stripped and without repeated ones, in the order of the file. ``path``: a key of
    :data:`BUILT_IN` or :data:`FOR_PAPER`, or a JSON file of at most 2 MB with an object of non-empty lists of sentences
    of 1 to 300 characters. Raises DataError: the file is missing, too large, not JSON, or of another form."""
    file = (BUILT_IN | FOR_PAPER).get(str(path), Path(path))
    try:
        with file.open("rb") as opened:
            data = opened.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise DataError(f"The descriptions file {file.name[:80]!r} cannot be read.", _FORM_HINT) from error
    if len(data) > LARGEST_FILE:
        raise DataError("A descriptions file has at most 2 MB; this one is larger.", _FORM_HINT)
    try:
        table: JsonValue = json.loads(decode_text(data), object_pairs_hook=_reject_duplicates)
    except (ValueError, RecursionError) as error:
        raise DataError("The descriptions file is not valid JSON in UTF-8 or UTF-16.", _FORM_HINT) from error
    if not isinstance(table, dict) or not table:
        raise DataError(f"Descriptions are one object with at least one class; got {short_repr(table)}.", _FORM_HINT)
    return {name.strip(): _sentences(name, rows) for name, rows in table.items()}


def descriptions_for(names: Sequence[str], source: str) -> tuple[tuple[str, ...], ...]:
    """The sentences of K classes, in the order of the names; capitals, and underscores for spaces, do not matter.

    ``source`` is ``none``, ``built_in``, ``built_in_mean``, or what :func:`load` takes. Empty tuples for ``none``, and
    when a class has no built-in sentences (costs of a class with further prompts and of one without cannot be
    compared). Raises DataError: a class without sentences, or with more than 64; and as :func:`load`."""
    if source == OFF:
        return tuple(() for _ in names)
    built_in = source in (BUILT_IN_ALL, BUILT_IN_MEAN)
    first = _built_in(*BUILT_IN) if built_in else _by_folded_name(source)
    further = (_built_in(name) for name in FOR_PAPER if source == BUILT_IN_ALL)
    table = next((t for t in chain([first], further) if all(_folded(name) in t for name in names)), first)
    missing = [name for name in names if _folded(name) not in table]
    if missing and built_in:
        return tuple(() for _ in names)
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        message = f"The descriptions have no sentences for the class {missing[0][:60]!r}{others}."
        raise DataError(message, "Add them to the file, or use descriptions=none.")
    sentences = tuple(table[_folded(name)] for name in names)
    for name, rows in zip(names, sentences):
        if len(rows) > MOST_SENTENCES:
            message = f"The class {name[:60]!r} has {len(rows)} sentences; at most {MOST_SENTENCES} are used."
            raise DataError(message, "Leave some out.")
    return sentences


def _by_folded_name(*sources: str) -> dict[str, tuple[str, ...]]:
    """The sentences of all ``sources`` by folded class name; of two that have a class the later counts."""
    return {_folded(name): rows for source in sources for name, rows in load(source).items()}


_built_in = cache(_by_folded_name)  # of files that come with the program: every stored row asks for them


def with_used_descriptions(settings: Settings, names: Sequence[str]) -> Settings:
    """The settings as they act on these classes: ``descriptions`` is ``none`` where the built-in files lack one. Without
    names, as of a header that has none, they stay."""
    asked = settings.descriptions
    if names and asked in (BUILT_IN_ALL, BUILT_IN_MEAN) and not any(descriptions_for(names, asked)):
        return settings.replace(descriptions=OFF)
    return settings


def missing_note(asked: Settings, used: Settings) -> str:
    """A sentence where descriptions were asked for and there are none; else ""."""
    if asked.descriptions == used.descriptions:
        return ""
    paper = " The paper's own are not part of this program." if asked.descriptions == BUILT_IN_ALL else ""
    return (
        f"descriptions={asked.descriptions} was asked for, but there are no class descriptions for these classes: none are "
        f"used.{paper}"
    )


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _reject_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    for name, times in Counter(name.strip() for name, _ in pairs).items():
        if times > 1:
            raise DataError(f"The class {name[:60]!r} is described twice.", "Keep one list per class.")
    return dict(pairs)


def _sentences(name: str, rows: JsonValue) -> tuple[str, ...]:
    if not name.strip():
        raise DataError("A class name in the descriptions is empty.", _FORM_HINT)
    if not isinstance(rows, list) or not rows:
        raise DataError(f"The class {name[:60]!r} needs a list of sentences; got {short_repr(rows)}.", _FORM_HINT)
    sentences = list[str]()
    for row in rows:
        if not isinstance(row, str) or not row.strip():
            raise DataError(f"A sentence of {name[:60]!r} is {short_repr(row)}; expected text.", _FORM_HINT)
        if not row.isascii() and row != row.encode(errors="ignore").decode():
            raise DataError(f"A sentence of {name[:60]!r} holds half a character.", "Save the file as UTF-8.")
        if len(row) > LONGEST_SENTENCE:
            limit = f"at most {LONGEST_SENTENCE} are allowed"
            message = f"A sentence of {name[:60]!r} has {len(row)} characters; {limit}."
            raise DataError(message, "Shorten it, or split it in two.")
        sentences.append(row.strip())
    return tuple(dict.fromkeys(sentences))
