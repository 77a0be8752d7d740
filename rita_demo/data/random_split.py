"""The random split of a dataset whose pictures are present and whose split file (CoOp's) is not.

The same on every machine: the split of a picture depends on the seed and the picture's path alone.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

SEED = 0
SPLIT_FRACTIONS = {"train": 0.5, "val": 0.2, "test": 0.3}  # of every class, as in CoOp (Zhou et al. 2022)


def random_split(
    folders: list[Path], suffixes: set[str], renamed_classes: Mapping[str, str]
) -> dict[str, list[tuple[str, int, str]]]:
    """``{split: [(path below the picture folder, label, class name)]}``, as in a split file.

    Args:
        folders: one per class, in label order.
        suffixes: suffixes of picture files.
        renamed_classes: folder name -> class name, where they differ.
    """
    splits: dict[str, list[tuple[str, int, str]]] = {name: [] for name in SPLIT_FRACTIONS}
    for label, folder in enumerate(folders):
        pictures = [p.name for p in folder.iterdir() if p.suffix.lower() in suffixes]
        mixed = sorted(pictures, key=lambda name: _shuffle_key(f"{folder.name}/{name}"))
        name, begin, fraction = renamed_classes.get(folder.name, folder.name), 0, 0.0
        for split in SPLIT_FRACTIONS:
            fraction += SPLIT_FRACTIONS[split]
            end = round(fraction * len(mixed))
            paths = sorted(f"{folder.name}/{picture}" for picture in mixed[begin:end])
            splits[split] += [(path, label, name) for path in paths]
            begin = end
    return splits


def _shuffle_key(name: str) -> bytes:
    return hashlib.sha256(f"split\x1f{SEED}\x1f{name}".encode()).digest()
