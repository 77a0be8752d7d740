"""Chosen pictures found in the listed ones of their dataset, and the split that they are of."""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rita_demo.data import textures
from rita_demo.data.datasets import DATASETS, load_split
from rita_demo.data.folder_sets import ALL
from rita_demo.data.folders import fault_of_name
from rita_demo.evaluation.chosen import PICTURE_COLUMNS, ChosenPictures
from rita_demo.evaluation.pictures import MAX_DIGITS, PRESENT_SUFFIX, DatasetItem, PictureSet
from rita_demo.records.errors import DataError, join_names
from rita_demo.records.spreadsheet import SEPARATORS

CHOSEN_SUFFIX = ":chosen"  # "test:chosen": what is measured on chosen pictures is not the accuracy on the split
SEARCHED_SPLITS = ("test", "val", ALL, "train")
MAX_NAMED = 3  # missing pictures that a message lists
TEXTURES = "textures"


def pick(chosen: ChosenPictures, whole: PictureSet) -> PictureSet:
    """The chosen pictures of ``whole``, in the order of the dataset.

    Raises:
        DataError: one of them is not there, or of a class that is not asked.
    """
    here = {item.id for item in whole.items}
    wanted = dict.fromkeys(name if name in here else _as_listed(name) for name in chosen.ids)
    items = [item for item in whole.items if item.id in wanted]
    if whole.dataset == TEXTURES:
        items = _textures(tuple(wanted), whole)
    found = {item.id for item in items}
    if missing := [name for name in wanted if name not in found]:
        raise DataError(
            f"{len(missing)} of {len(wanted)} chosen pictures are not in {whole.dataset} ({whole.split}): "
            f"{join_names(missing, MAX_NAMED)}. A name there is {join_names(sorted(here)[:1], 1)}.",
            "Name their dataset and split."
            if missing[0] != next(iter(wanted)) or not re.search(f"[{SEPARATORS}]", missing[0])
            else f"In a table the first row names the column of the pictures: {' or '.join(PICTURE_COLUMNS)}.",
        )
    names = chosen.names or whole.names
    if others := sorted({whole.names[item.label] for item in items} - set(names)):
        raise DataError(
            f"Pictures of {join_names(others, MAX_NAMED)} are chosen, which are not among the class names asked.",
            "Add these names, or leave the pictures out.",
        )
    items = [replace(item, label=names.index(whole.names[item.label])) for item in items]
    present = whole.classes_present if names == whole.names else len({item.label for item in items})
    split = whole.split + CHOSEN_SUFFIX
    return replace(whole, split=split, names=names, items=tuple(items), classes_present=present, missing=(), listed=0)


def find_split(place: str, ids: Collection[str], root: Path | None) -> str:
    """The split that holds all of these pictures. ``place`` (untrusted): a dataset, or a folder below the data folder.

    Raises:
        DataError: there is none here.
    """
    base, wanted = place.removesuffix(PRESENT_SUFFIX), set(ids)
    if base == TEXTURES:
        for split in textures.SPLITS:
            if all(_in_split(name, split) for name in wanted):
                return split
    elif root is not None and (base in DATASETS or not fault_of_name(base)):
        home = root if base in DATASETS else root / base
        for split in SEARCHED_SPLITS:
            with suppress(DataError):
                items = load_split(base, root, split, allow_partial=True)
                if wanted <= {path.relative_to(home).as_posix() for path, _, _ in items}:
                    return split
    raise DataError(
        f"The chosen pictures of {base[:60]!r} are not in one split of the server's data folder.",
        "Start the server with the --data-root that has them.",
    )


def texture_of(name: str) -> tuple[str, int] | None:
    """Class and seed of a drawn texture by its name (untrusted); None if it is no texture's."""
    word, _, seed = name.rpartition("/")
    is_texture = word in textures.CLASSES and seed.isdecimal() and len(seed) < MAX_DIGITS
    return (word, int(seed)) if is_texture else None


def _as_listed(name: str) -> str:
    """A name from a list that a person or Windows wrote, as datasets list it: with ``/``, without spaces or quotes around."""
    return name.strip().strip('"').strip().replace("\\", "/").removeprefix("./")


def _in_split(name: str, split: str) -> bool:
    texture = texture_of(name)
    return texture is not None and texture[1] in textures.seeds(split)


def _textures(ids: Sequence[str], whole: PictureSet) -> list[DatasetItem]:
    """The drawn textures of these names: their list has no end, and ``whole`` the first of every class."""
    labels = {whole.names[item.label]: item.label for item in whole.items}
    drawn = {name: texture_of(name) for name in ids if _in_split(name, whole.split)}
    return [DatasetItem(i, labels[one[0]], 0, texture=one) for i, one in drawn.items() if one and one[0] in labels]
