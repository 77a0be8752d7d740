"""Chosen pictures found in the listed ones of their dataset."""

import re
from dataclasses import replace

from rita_demo.evaluation.chosen import PICTURE_COLUMNS, ChosenPictures
from rita_demo.evaluation.pictures import PictureSet
from rita_demo.records.errors import DataError, join_names
from rita_demo.records.spreadsheet import SEPARATORS

CHOSEN_SUFFIX = ":chosen"  # "test:chosen": what is measured on chosen pictures is not the accuracy on the split
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
