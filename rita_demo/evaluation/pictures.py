"""The pictures of a measurement, their order, and the class names of the prompts.

Each picture is opened before the first of them is measured. A header says nothing about the end of a file, so every one
is decoded, to a small square: 0.5 ms for one of 200 x 200 pixels, 2 ms for one of 500 x 375. The answer is remembered
while the file stays the same.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

from rita_demo.data.datasets import (
    DATASETS,
    is_shipped,
    present_pictures,
    random_split_note,
    read_dataset,
    root_of,
    unknown_dataset,
)
from rita_demo.data.folders import SPLITS, fault_of_name, skipped_text
from rita_demo.data.picture_sources import Source, file_bytes
from rita_demo.data.pictures import SMALLEST_SIDE, open_picture, picture_of, png_bytes, whole_pixels
from rita_demo.data.vocabularies import VOCABULARIES, index_of, label_index
from rita_demo.evaluation.request import PICTURE_COLUMNS, ChosenPictures
from rita_demo.records.errors import DataError, DemoError, PictureError, join_names
from rita_demo.records.grouping import group_by
from rita_demo.records.spreadsheet import SEPARATORS
from rita_demo.settings.setting import short_repr

PRESENT_SUFFIX = ":present"  # "dtd:present": prompts for the classes that have pictures, and no others
RANDOM_SPLIT_SUFFIX = ":own"  # "test:own": a random split made here, because CoOp's file is missing
CHOSEN_SUFFIX = ":chosen"  # "test:chosen": what is measured on chosen pictures is not the accuracy on the split
THREADS = 2  # as many pictures as are decoded at once
REPORT_EVERY = 500  # pictures
MAX_REMEMBERED = 1 << 16
MAX_NAMED = 200  # pictures with the same fault that a message lists,
MAX_NAMED_CHOSEN = 3  # and chosen ones that are missing
SHIPPED_SUFFIXES = (".png", ".jpg")  # of the pictures that come with the program


@dataclass(frozen=True)
class DatasetItem:
    """One picture; ``id`` identifies it on every machine, ``label`` is the index of its class name, ``source`` its file or the
    file's bytes."""

    id: str
    label: int
    source: Path | bytes = b""

    @cached_property
    def content(self) -> str:
        """SHA-256 of the file: another picture under the same name is measured anew. Raises PictureError: it cannot be read."""
        data = file_bytes(self.source) if isinstance(self.source, Path) else self.source
        return hashlib.sha256(data).hexdigest()

    def with_data(self) -> DatasetItem:
        """The item with its file's bytes, for a machine that does not have the file. Raises PictureError: it cannot be read."""
        return replace(self, source=file_bytes(self.source)) if isinstance(self.source, Path) else self


@dataclass(frozen=True)
class PictureSet:
    """The pictures of a dataset that are measured.

    ``names``: the K class names of the prompts. ``available``: number of pictures before the limit.
    ``classes_present``: number of the K classes that have pictures. ``unusable``: ids of pictures that cannot be opened and
    are left out, and why. ``skipped``: sentences on what the folders hold beside usable pictures. ``folder``: where a folder
    per class lies below the data folder, "" for directly in it or elsewhere. ``missing``: pictures that the list of the split
    names and that are not there, as paths below the data folder; ``listed``: how many it names, 0 where none is missing.
    ``origin``: a sentence on the file of the class names; ``names_warning``: on class folders that are called by numbers.
    """

    dataset: str
    split: str
    names: tuple[str, ...]
    items: tuple[DatasetItem, ...]
    available: int
    classes_present: int
    unusable: Mapping[str, str] = field(default_factory=dict)
    skipped: str = ""
    folder: str = ""
    missing: tuple[str, ...] = ()
    listed: int = 0
    origin: str = ""
    names_warning: str = ""

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences on what makes these pictures others than the dataset's split (missing ones, or a random split), and on
        class folders that are called by numbers."""
        sentences = [split_note(self.dataset, self.split)]
        if self.missing:
            sentences.append(missing_text(len(self.missing), self.listed, self.missing[0]))
        notes = [f"{self.dataset} ({self.split}): {sentence}" for sentence in sentences if sentence]
        return (*notes, *([f"{self.dataset}: {self.names_warning}"] if self.names_warning else []))

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the file of the class names, and on what is in the dataset's folders and is not measured."""
        unusable = unusable_text(self.unusable, len(self.items)) if self.unusable else ""
        sentences = (self.origin, self.skipped, unusable)
        return tuple(f"{self.dataset}: {sentence}" for sentence in sentences if sentence)

    def stream(self, seed: int, order: str = "random") -> tuple[DatasetItem, ...]:
        """The pictures in an order that depends on the seed alone, not on the machine. ``order``: ``random``, or ``classes``
        for one class after the other in random order."""
        mixed = sorted(self.items, key=lambda item: _hashed_seed("order", seed, item.id))
        if order == "classes":
            mixed.sort(key=lambda item: _hashed_seed("class order", seed, self.names[item.label]))
        return tuple(mixed)

    @cached_property
    def digest(self) -> str:
        """A hash of the pictures by name and content; in which order they arrive follows from it, the seed and the order."""
        lines = sorted(f"{item.id}\x1f{item.content}\n" for item in self.items)
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]

    def attacked(self, seed: int, share: int) -> frozenset[str]:
        """The ids of the pictures that arrive attacked in a run with ``seed``: ``share`` percent of them, rounded, and
        at least one."""
        drawn = sorted(self.items, key=lambda item: _hashed_seed("traffic", seed, item.id))
        return frozenset(item.id for item in drawn[: max(1, (len(drawn) * share + 50) // 100)])


def pick(chosen: ChosenPictures, whole: PictureSet) -> PictureSet:
    """The chosen pictures of ``whole``, in the order of the dataset. Raises DataError: one of them is not there, or of
    a class that is not asked."""
    here = {item.id for item in whole.items}
    # a person or Windows may have written a name with \\, and spaces or quotes around it
    spelled = {name: name.strip().strip('"').strip().replace("\\", "/").removeprefix("./") for name in chosen.ids}
    wanted = dict.fromkeys(name if name in here else spelled[name] for name in chosen.ids)
    if missing := [name for name in wanted if name not in here]:
        raise DataError(
            f"{len(missing)} of {len(wanted)} chosen pictures are not in {whole.dataset} ({whole.split}): "
            f"{join_names(missing, MAX_NAMED_CHOSEN)}. A name there is {join_names(sorted(here)[:1], 1)}.",
            "Name their dataset and split."
            if missing[0] != next(iter(wanted)) or not re.search(f"[{SEPARATORS}]", missing[0])
            else f"In a table the first row names the column of the pictures: {' or '.join(PICTURE_COLUMNS)}.",
        )
    names, items = chosen.names or whole.names, [item for item in whole.items if item.id in wanted]
    if others := sorted({whole.names[item.label] for item in items} - set(names)):
        raise DataError(
            f"Pictures of {join_names(others, MAX_NAMED_CHOSEN)} are chosen, which are not among the class names asked.",
            "Add these names, or leave the pictures out.",
        )
    items = [replace(item, label=names.index(whole.names[item.label])) for item in items]
    present = whole.classes_present if names == whole.names else len({item.label for item in items})
    split = whole.split + CHOSEN_SUFFIX
    return replace(whole, split=split, names=names, items=tuple(items), classes_present=present, missing=(), listed=0)


def picture_seed(seed: int, item: DatasetItem) -> int:
    """The seed of one picture's attack and views in a run with ``seed``. Every picture has another one, so that one draw of
    boxes does not decide a whole dataset. It is in the row, and ``explain --seed`` repeats it."""
    return int.from_bytes(_hashed_seed("picture", seed, item.id)[:4], "big") & 0x7FFFFFFF


def find_picture(dataset: str, picture: str, root: Path | None) -> Path:
    """The file of a picture of a stored run by its id. ``dataset``: its name, or its folder below the data folder. The
    run is untrusted: its names are plain names below the data folder. Links there are followed. Raises DataError: it is
    not in the data folder ``root``."""
    base = dataset.removesuffix(PRESENT_SUFFIX)
    if (root := root_of(base, root)) is not None:
        names = ["" if base in DATASETS else base, picture]
        places = [root.joinpath(*names)]
        if is_shipped(base):
            folder = root / DATASETS[base].folder
            places = [folder / split / f"{picture}{suffix}" for split in SPLITS for suffix in SHIPPED_SUFFIXES]
        if not any(map(fault_of_name, names)) and (path := next(filter(Path.is_file, places), None)):
            return path
    raise DataError(
        f"The picture {picture[:100]!r} of this run is not in the server's data folder.",
        "To open it, start the server with the run's --data-root.",
    )


def collect(
    dataset: str,
    root: Path | None,
    split: str,
    *,
    limit: int | None,
    allow_partial: bool,
    exclusions: str = "",
    chosen: ChosenPictures | None = None,
    report: Callable[[str], object] = lambda _: None,
) -> PictureSet:
    """The pictures of a dataset, each of them opened once.

    Args:
        dataset: a name of ``DATASETS``, or a folder with a folder per class (below ``root``, or any path); with the suffix
            ``:present`` only classes that have pictures become prompts.
        limit: at most so many pictures, spread over the classes; a smaller choice is part of every larger one and
            does not depend on the seeds of the run.
        allow_partial: accept a dataset that lacks classes or pictures, and leave out pictures that cannot be opened; all
            class names become prompts.
        exclusions: a class whose pictures are left out: the target of all attacks.
        chosen: these alone (:func:`pick`), before any is opened.
        report: gets a sentence of progress from time to time.

    Raises:
        DataError: something is missing, or cannot be opened. VocabularyError: no such class.
    """
    whole = list_pictures(dataset, root, split, allow_partial=allow_partial, exclusions=exclusions)
    whole = whole if chosen is None else pick(chosen, whole)
    by_class = is_shipped(dataset.removesuffix(PRESENT_SUFFIX))
    items, unusable = choose_usable(whole.items, lambda usable: spread_over_classes(usable, limit, by_class), report)
    if unusable and not (items and allow_partial):
        hint = "Repair or remove them, or leave them out with --allow-partial." if items else "Choose another dataset."
        raise DataError(f"{whole.dataset} ({split}): {unusable_text(unusable, len(items))}", hint)
    empty = {item.label for item in whole.items} - {item.label for item in whole.items if item.id not in unusable}
    skipped = [whole.skipped] if whole.skipped else []
    if empty:
        names = join_names([whole.names[label] for label in sorted(empty)], MAX_NAMED)
        skipped.append(f"No picture of {names} can be opened; a class stays a prompt until its folder is removed.")
    available = whole.available - len(unusable)
    return replace(whole, items=items, available=available, unusable=unusable, skipped=" ".join(skipped))


def list_pictures(
    dataset: str, root: Path | None, split: str, *, allow_partial: bool, exclusions: str = ""
) -> PictureSet:
    """All pictures of a dataset as they are listed, without opening any. Arguments and errors are those of
    :func:`collect`."""
    base, only_present = dataset.removesuffix(PRESENT_SUFFIX), dataset.endswith(PRESENT_SUFFIX)
    folder, root = "", root_of(base, root)
    if root is None and base in DATASETS:
        raise DataError(f"The dataset {base[:60]!r} needs a data folder.", "Name it with --data-root.")
    root = root or Path()
    if base not in DATASETS and not (root / base).is_dir():
        if not Path(base).is_dir():
            raise unknown_dataset(dataset, root, PRESENT_SUFFIX)
        base = str(Path(base).absolute())  # a folder elsewhere; absolute, it replaces the data root
    listing = read_dataset(base, root)
    pictures, missing = present_pictures(base, listing, split, allow_partial=allow_partial or only_present)
    order = {name: label for _, label, name in pictures}  # of the classes that have pictures in any split
    for other in SPLITS:
        if len(order) == len(listing.names):  # so that ImageNet's training split is not looked for in vain
            break
        with suppress(DataError):  # this split is missing; the others may be there
            order |= {name: label for _, label, name in present_pictures(base, listing, other, allow_partial=True)[0]}
    names = VOCABULARIES[base].names if base in VOCABULARIES else listing.names
    if not order.keys() <= set(names):  # a user's dataset, perhaps under a known name
        names = listing.names
    if only_present:
        names = tuple(name for name in names if name in order)
    elif len(order) < len(names) and not allow_partial:
        raise DataError(
            f"Only {len(order)} of the {len(names)} classes of {base!r} have pictures here.",
            f"Add --allow-partial to measure them among all {len(names)} class names, or name the "
            f"dataset {base + PRESENT_SUFFIX} to use these {len(order)} alone.",
        )
    label = {name: index for index, name in enumerate(names)}
    excluded = index_of(names, exclusions) if exclusions else None

    def name_of(path: Path) -> str:
        """What a picture is called on every machine: its path below the data folder, or below its folder with a folder per
        class. One that comes with the program is called by its class and number, whatever its split and format: it was drawn
        under that name, and its seeds are made of it."""
        if is_shipped(base):
            return f"{path.parent.name}/{path.stem}"
        return path.relative_to(root if base in DATASETS else root / base).as_posix()

    items = [DatasetItem(name_of(path), label[name], path) for path, _, name in pictures if label[name] != excluded]
    if not items:
        raise DataError(
            f"All pictures of {base[:60]!r} are of the target {exclusions[:60]!r}, which is left out.",
            "Choose another target.",
        )
    home, above = Path(os.path.abspath(root / base)), Path(os.path.abspath(root))
    if base not in DATASETS and home.parent.is_relative_to(above) and home.parent != above:
        folder = home.relative_to(above).as_posix()
    return PictureSet(
        (base if base in DATASETS else Path(base).absolute().name) + PRESENT_SUFFIX * only_present,
        split + RANDOM_SPLIT_SUFFIX * listing.random,
        names,
        tuple(items),
        len(items),
        len(order),
        skipped=skipped_text(listing.skipped),
        folder=folder,
        missing=missing,
        listed=len(pictures) + len(missing) if missing else 0,
        origin=listing.origin,
        names_warning=listing.names_warning,
    )


def own_pictures(
    name: str, names: tuple[str, ...], pairs: Iterable[tuple[Source, int | str]], limit: int | None = None
) -> PictureSet:
    """A dataset from (picture, label) pairs: pictures as :func:`rita_demo.data.pictures.open_picture` takes them, a
    label is a class name or its index in ``names``. The pictures stay in memory as PNG, whole. ``limit``: as in
    :func:`collect`. Raises DataError: there are none, or one cannot be used. SettingError, VocabularyError: no such
    class."""
    items = []
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(f"Item {number} is a pair (picture, label); got {short_repr(pair)}.")
        try:
            pixels = whole_pixels(pair[0])
        except PictureError as error:
            raise DataError(f"Picture {number}: {error.message}", error.hint) from error
        index = label_index(names, pair[1], f"label of picture {number}")
        items.append(DatasetItem(f"{number:06d}-{picture_of(pixels).key}", index, png_bytes(pixels)))
    if not items:
        raise DataError("The dataset has no pictures.", "Pass (picture, label) pairs.")
    present = len({item.label for item in items})
    return PictureSet(name, "all", names, spread_over_classes(items, limit), len(items), present)


def spread_over_classes(
    items: Sequence[DatasetItem], limit: int | None, by_class: bool = False
) -> tuple[DatasetItem, ...]:
    """One picture of every class, then a second one, ...: the first ``limit`` of them; None: all as they are. ``by_class``:
    of a class those with the lowest numbers first, and the classes in one order."""
    if limit is None:
        return tuple(items)
    names = {item.id: item.id.rpartition("/")[0] if by_class else item.id for item in items}
    mixed = sorted(items, key=lambda item: _hashed_seed("subset", 0, names[item.id]))
    by_label = group_by(mixed, lambda item: item.label).values()
    rank = {item.id: place for same in by_label for place, item in enumerate(same)}
    return tuple(sorted(mixed, key=lambda item: rank[item.id])[:limit])  # a stable sort


def _hashed_seed(purpose: str, seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{purpose}\x1f{seed}\x1f{name}".encode()).digest()


def choose_usable(
    items: Sequence[DatasetItem],
    choose: Callable[[Sequence[DatasetItem]], Sequence[DatasetItem]],
    report: Callable[[str], object] = lambda _: None,
) -> tuple[tuple[DatasetItem, ...], dict[str, str]]:
    """What ``choose`` takes of the pictures that can be used, and the ids of those that would have been taken and cannot, with
    why. Only chosen pictures are opened; others take the places of those that cannot be used."""
    usable, faults = set[str](), dict[str, str]()
    while True:
        chosen = choose([item for item in items if item.id not in faults])
        files = {item.id: item.source for item in chosen if isinstance(item.source, Path) and item.id not in usable}
        new, pool = dict[str, str](), ThreadPoolExecutor(THREADS)
        try:
            for done, (name, fault) in enumerate(zip(files, pool.map(_fault, files.values()))):
                if done and done % REPORT_EVERY == 0:
                    report(f"Opening every picture once: {done} of {len(files)}")
                new |= {name: fault} if fault else {}
        finally:  # after Ctrl-C the others are not waited for
            pool.shutdown(cancel_futures=True)
        if not new:
            return tuple(chosen), dict(sorted(faults.items()))
        faults |= new
        usable |= {item.id for item in chosen} - faults.keys()


def split_note(dataset: str, split: str) -> str:
    """A sentence on a random split; "" for a dataset's own. ``dataset`` and ``split``: as in the tables."""
    base = dataset.removesuffix(PRESENT_SUFFIX)
    return random_split_note(base) if RANDOM_SPLIT_SUFFIX in split and base in DATASETS else ""


def missing_text(count: int, listed: int, first: str = "") -> str:
    """How many of the listed pictures are missing, perhaps with the ``first``."""
    named = f", the first of them {first}" if first else ""
    return f"{count} of the {listed} listed pictures are missing and are not measured{named}."


def unusable_text(unusable: Mapping[str, str], usable: int) -> str:
    """How many cannot be used beside ``usable`` others, and every reason with the pictures that it holds for."""
    groups = group_by(unusable, unusable.__getitem__).items()
    reasons = (f"{why.rstrip('.')} ({join_names(names, MAX_NAMED)})." for why, names in groups)
    return f"{len(unusable)} of {len(unusable) + usable} pictures cannot be used. {' '.join(reasons)}"


def _fault(path: Path) -> str:
    """Why a picture cannot be used, "" if it can."""
    try:
        facts = path.stat()
    except OSError:
        return _fault_of_file(path, 0, 0)
    return _fault_of_file(path, facts.st_size, facts.st_ctime_ns)


@lru_cache(MAX_REMEMBERED)
def _fault_of_file(path: Path, size: int, changed: int) -> str:
    """The same; ``size`` and ``changed`` are others once the file is another one."""
    try:
        open_picture(path, square="model", side=SMALLEST_SIDE)
    except DemoError as error:
        return error.message
    return ""
