"""The pictures of a measurement: which ones, in which order, and the class names they are judged by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rita_demo.data import textures
from rita_demo.data.datasets import DATASETS, SPLITS, Item, class_names, is_own_split, load_split
from rita_demo.data.pictures import file_bytes
from rita_demo.data.vocabularies import VOCABULARIES, index_of
from rita_demo.errors import DataError

PRESENT = ":present"  # "dtd:present": prompts for the classes that have pictures, and no others
OWN = ":own"  # "test:own": a split made here, since CoOp's file is absent
DRAWN_PER_CLASS = 10  # of the procedural textures, when no limit says how many


@dataclass(frozen=True)
class Entry:
    """One picture: ``id`` names it on every machine, ``label`` indexes the collection's names.

    It lies at ``path``, or is drawn from ``drawing`` (class, seed), or its file travels along as ``data``.
    ``size`` in bytes tells a file that was replaced by another one of the same name (0 for a drawing).
    """

    id: str
    label: int
    size: int
    path: Path | None = None
    drawing: tuple[str, int] | None = None
    data: bytes | None = None

    def packed(self) -> Entry:
        """The same for a machine that does not have the file.

        Raises:
            PictureError: the file cannot be read.
        """
        return self if self.path is None else replace(self, path=None, data=file_bytes(self.path))

    def source(self) -> Path | bytes | np.ndarray:
        """What :func:`rita_demo.data.pictures.open_picture` takes."""
        if self.data is not None:
            return self.data
        if self.drawing is not None:
            return textures.draw(*self.drawing)
        assert self.path is not None  # one of the two is always given
        return self.path


@dataclass(frozen=True)
class Collection:
    """``names`` K prompts' class names; ``entries`` the chosen pictures; ``available`` how many there
    were to choose from; ``present`` how many of the K classes have pictures in this dataset."""

    dataset: str
    split: str
    names: tuple[str, ...]
    entries: tuple[Entry, ...]
    available: int
    present: int

    def stream(self, seed: int, order: str = "random") -> tuple[Entry, ...]:
        """The pictures in the order of a seed, the same on every machine.

        ``random``, or ``classes``: one class after the other (which one first, and the order within
        a class, are random).
        """
        mixed = sorted(self.entries, key=lambda entry: _mixed("order", seed, entry.id))
        if order == "classes":
            mixed.sort(key=lambda entry: _mixed("class order", seed, self.names[entry.label]))
        return tuple(mixed)


def picture_seed(seed: int, entry: Entry) -> int:
    """The seed of one picture's attack and views in a run with ``seed``.

    Every picture has its own, so that one lucky draw of boxes does not serve a whole dataset; the row
    names it, and ``explain --seed`` repeats it.
    """
    return int.from_bytes(_mixed("picture", seed, entry.id)[:4], "big") & 0x7FFFFFFF


def found_again(dataset: str, picture: str, root: Path | None) -> Path | np.ndarray:
    """A picture of a stored run by its id: what :func:`rita_demo.data.pictures.open_picture` takes.

    Raises:
        DataError: it is not below this data folder (any more).
    """
    base = dataset.removesuffix(PRESENT)
    if base == "textures":
        name, _, seed = picture.rpartition("/")
        if seed.isdecimal():
            return textures.draw(name, int(seed))
    elif root is not None:
        home = (root if base in DATASETS else root / base).resolve()
        path = (home / picture).resolve()
        if path.is_relative_to(home) and path.is_file():
            return path
    raise DataError(
        f"The picture {picture[:100]!r} of this run is not in the server's data folder.",
        "Its rows are here; to open it, start the server with the run's --data-root.",
    )


def is_attacked(seed: int, entry: Entry, share: int) -> bool:
    """Whether this picture is one of the ``share`` percent that arrive attacked in a run with ``seed``."""
    return int.from_bytes(_mixed("traffic", seed, entry.id)[:4], "big") < share * 2**32 // 100


def collect(
    dataset: str,
    root: Path | None,
    split: str,
    *,
    limit: int | None,
    allow_partial: bool,
    left_out: str = "",
) -> Collection:
    """Read what a dataset holds.

    Args:
        dataset: a name of ``DATASETS``, a folder with a folder per class, ``textures``; with
            ``:present`` behind it only the classes that occur are asked about.
        limit: take at most so many pictures, spread over the classes; a smaller choice is part of
            every larger one and does not depend on the run's seeds.
        allow_partial: a dataset that lacks classes or pictures is measured with what is there, and
            all class names as prompts.
        left_out: a class whose pictures are not measured: the one that every attack aims at.

    Raises:
        DataError: what is missing, and what to do. VocabularyError: no such class.
    """
    base, only_present = dataset.removesuffix(PRESENT), dataset.endswith(PRESENT)
    if base == "textures":
        names, entries, present = _drawn(split, limit, left_out)
    else:
        if root is None:
            raise DataError(
                f"The dataset {base[:60]!r} needs a data folder.", "Name it with --data-root."
            )
        names, entries, present = _listed(base, root, split, allow_partial, only_present)
        entries = [entry for entry in entries if entry.label not in _label(names, left_out)]
    title = (base if base in DATASETS else Path(base).name) + PRESENT * only_present
    if not entries:
        raise DataError(
            f"All pictures of {base[:60]!r} are of the target {left_out[:60]!r}, which is left out.",
            "Choose another target.",
        )
    chosen = entries if limit is None else _spread(entries, limit)
    split += OWN * is_own_split(base, root)
    return Collection(title, split, names, tuple(chosen), len(entries), present)


def _label(names: tuple[str, ...], name: str) -> tuple[int, ...]:
    return (index_of(names, name),) if name else ()


def _drawn(
    split: str, limit: int | None, left_out: str
) -> tuple[tuple[str, ...], list[Entry], int]:
    names = textures.CLASSES
    labels = sorted(range(len(names)), key=lambda label: _mixed("subset", 0, names[label]))
    labels = [label for label in labels if label not in _label(names, left_out)]
    each = DRAWN_PER_CLASS if limit is None else -(-limit // len(labels))
    entries = [
        Entry(f"{names[label]}/{seed}", label, 0, drawing=(names[label], seed))
        for seed in textures.seeds(split)[:each]
        for label in labels
    ]
    return names, entries[:limit], len(names)


def _listed(
    base: str, root: Path, split: str, allow_partial: bool, only_present: bool
) -> tuple[tuple[str, ...], list[Entry], int]:
    items = load_split(base, root, split, allow_partial=allow_partial or only_present)
    listed = class_names(base, root)
    found = _names(base, root, items, len(listed))
    known = VOCABULARIES[base].names if base in VOCABULARIES else listed
    if not set(found) <= set(known):  # a dataset of one's own, perhaps under a known name
        known = listed or found
    if only_present:
        known = tuple(name for name in known if name in set(found))
    elif len(found) < len(known) and not allow_partial:
        raise DataError(
            f"Only {len(found)} of the {len(known)} classes of {base!r} have pictures here.",
            f"Say --allow-partial to measure them among all {len(known)} class names, or name the "
            f"dataset {base + PRESENT} to ask about these {len(found)} alone.",
        )
    label = {name: index for index, name in enumerate(known)}
    home = root if base in DATASETS else root / base
    entries = [
        Entry(path.relative_to(home).as_posix(), label[name], path.stat().st_size, path)
        for path, _, name in items
    ]
    return known, entries, len(found)


def _names(base: str, root: Path, items: Sequence[Item], listed: int) -> tuple[str, ...]:
    """The classes that have pictures in any split, in the dataset's own order.

    Of ``listed`` classes at most (0: unknown): ImageNet's training pictures are not looked for in vain.
    """
    order = {name: label for _, label, name in items}
    for split in SPLITS:
        if len(order) == listed:
            break
        try:
            more = load_split(base, root, split, allow_partial=True)
        except DataError:  # the split is not there: that says nothing about the others
            continue
        for _, label, name in more:
            order.setdefault(name, label)
    return tuple(sorted(order, key=lambda name: (order[name], name)))


def _spread(entries: Iterable[Entry], limit: int) -> list[Entry]:
    """One picture of every class, then a second one, ...: the first ``limit`` of them."""
    mixed = sorted(entries, key=lambda entry: _mixed("subset", 0, entry.id))
    taken: dict[int, int] = {}
    turns = []
    for place, entry in enumerate(mixed):
        taken[entry.label] = taken.get(entry.label, 0) + 1
        turns.append((taken[entry.label], place, entry))
    return [entry for _, _, entry in sorted(turns, key=lambda turn: turn[:2])[:limit]]


def _mixed(purpose: str, seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{purpose}\x1f{seed}\x1f{name}".encode()).digest()
