"""Chosen pictures found in the listed ones of their dataset, and the split that they are of."""

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rita_demo.data.datasets import DATASETS, load_split, root_of
from rita_demo.data.folder_sets import ALL
from rita_demo.data.folders import fault_of_name
from rita_demo.evaluation.chosen import PICTURE_COLUMNS, ChosenPictures
from rita_demo.evaluation.pictures import PRESENT_SUFFIX, PictureSet, picture_id
from rita_demo.records.errors import DataError, join_names
from rita_demo.records.spreadsheet import SEPARATORS

CHOSEN_SUFFIX = ":chosen"  # "test:chosen": what is measured on chosen pictures is not the accuracy on the split
SEARCHED_SPLITS = ("test", "val", ALL, "train")
MAX_NAMED = 3  # missing pictures that a message lists


def pick(chosen: ChosenPictures, whole: PictureSet) -> PictureSet:
    """The chosen pictures of ``whole``, in the order of the dataset.

    Raises:
        DataError: one of them is not there, or of a class that is not asked.
    """
    here = {item.id for item in whole.items}
    # a person or Windows may have written a name with \\, and spaces or quotes around it
    listed = {name: name.strip().strip('"').strip().replace("\\", "/").removeprefix("./") for name in chosen.ids}
    wanted = dict.fromkeys(name if name in here else listed[name] for name in chosen.ids)
    items = [item for item in whole.items if item.id in wanted]
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
    if (root := root_of(base, root)) is not None and (base in DATASETS or not fault_of_name(base)):
        for split in SEARCHED_SPLITS:
            with suppress(DataError):
                items = load_split(base, root, split, allow_partial=True)
                if wanted <= {picture_id(base, root, path) for path, _, _ in items}:
                    return split
    raise DataError(
        f"The chosen pictures of {base[:60]!r} are not in one split of the server's data folder.",
        "Start the server with the --data-root that has them.",
    )
