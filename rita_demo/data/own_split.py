"""A split of our own, where a dataset's pictures are here and CoOp's split file is not.

The same on every machine: each picture's place depends on the seed and its name alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

SEED = 0
SHARES = {"train": 0.5, "val": 0.2, "test": 0.3}  # of every class, as in CoOp (Zhou et al. 2022)


def own_split(
    folders: list[Path], suffixes: set[str], renamed: Mapping[str, str]
) -> dict[str, list[tuple[str, int, str]]]:
    """``{split: [(path below the picture folder, label, class name)]}`` as a CoOp file has it.

    Args:
        folders: one per class, in label order. suffixes: of the files that are pictures.
        renamed: folder name -> class name, where they differ.
    """
    splits: dict[str, list[tuple[str, int, str]]] = {name: [] for name in SHARES}
    for label, folder in enumerate(folders):
        pictures = [p.name for p in folder.iterdir() if p.suffix.lower() in suffixes]
        mixed = sorted(pictures, key=lambda name: _mixed(f"{folder.name}/{name}"))
        name, begin, share = renamed.get(folder.name, folder.name), 0, 0.0
        for split in SHARES:
            share += SHARES[split]
            end = round(share * len(mixed))
            paths = sorted(f"{folder.name}/{picture}" for picture in mixed[begin:end])
            splits[split] += [(path, label, name) for path in paths]
            begin = end
    return splits


def _mixed(name: str) -> bytes:
    return hashlib.sha256(f"split\x1f{SEED}\x1f{name}".encode()).digest()
