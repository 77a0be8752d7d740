"""Datasets in CoOp's layout (Zhou et al. 2022), and folders with a folder of pictures per class.

A row of ``datasets.toml`` is all that a dataset needs: files, prompt, class names, download, exceptions of the preset
``paper``. :mod:`rita_demo.data.split_files` reads its list of pictures. A folder per class needs no row: the classes lie in
the folder itself (its only split is ``all``) or below the folders of its splits. The drawn textures are such a folder, in
``assets``; their row is for their prompt.
"""

import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from rita_demo.data import split_files
from rita_demo.data.folder_names import name_classes
from rita_demo.data.folders import SPLIT_NAMES, FolderSet, Skip, classes_in, read_folder, read_folder_set, skipped_text
from rita_demo.data.split_files import Listing
from rita_demo.process.assets import ASSETS
from rita_demo.records.errors import DataError, did_you_mean
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import DEFAULT_PROMPT_TEMPLATE

Item = tuple[Path, int, str]  # picture, label, class name
SPLIT_FOLDERS = f"Splits are folders named {', '.join(chain.from_iterable(SPLIT_NAMES.values()))}, in any capitals."


@dataclass(frozen=True)
class Archive:
    """Where a dataset's pictures are downloaded: ``url``, ``md5``, size in ``megabytes`` (about), the folder of its
    ``pictures`` inside, and ``inner_archive``: the archive inside the archive that holds them, "" for none."""

    url: str
    md5: str
    megabytes: int
    pictures: str
    inner_archive: str = ""


@dataclass(frozen=True)
class Dataset:
    """A dataset and its place below the data root."""

    name: str
    title: str
    folder: str  # below the data root
    pictures: str = ""  # folder of the pictures, below ``folder``
    listing: str = ""  # the list of pictures or classes, below ``folder``
    reader: str = "split_file"  # the function of rita_demo.data.split_files that reads it, and its further arguments
    options: Mapping[str, Any] = field(default_factory=dict)
    shipped: bool = False  # lies in ``assets``, not below the data root
    template: str = DEFAULT_PROMPT_TEMPLATE
    list_title: str = ""  # of its ready list of class names, if ``assets/descriptions`` has a file of this name
    archive: Archive | None = None  # what the page downloads
    paper_settings: Mapping[str, JsonValue] = field(default_factory=dict)  # with another value in the preset ``paper``
    #: architecture -> further ones on its towers alone
    paper_by_tower: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    # where ``listing`` is absent, the picture folder (a folder per class) is split at random, as in CoOp; folder -> class
    # name where they differ, "" for a folder that is no class. None: it is not split.
    split_names: Mapping[str, str] | None = None


DATASETS = {
    name: Dataset(name, **row | {"archive": Archive(**row["archive"]) if "archive" in row else None})
    for name, row in tomllib.loads(Path(__file__).with_name("datasets.toml").read_text("utf-8")).items()
}


def paper_settings(dataset: str, backbone: str = "") -> dict[str, JsonValue]:
    """The settings of the preset ``paper`` that have another value on a dataset, with a model such as ``ViT-B/16`` or
    ``ViT-B-16-quickgelu:openai``; none for a dataset that the paper does not have."""
    if dataset not in DATASETS:
        return {}
    row, architecture = DATASETS[dataset], backbone.replace("/", "-")
    towers = (settings for tower, settings in row.paper_by_tower.items() if architecture.startswith(tower))
    return {**row.paper_settings, **next(towers, {})}


def paper_setting_names() -> frozenset[str]:
    """The settings of the preset ``paper`` that have another value on some dataset."""
    rows = DATASETS.values()
    return frozenset().union(*(part for row in rows for part in (row.paper_settings, *row.paper_by_tower.values())))


@dataclass(frozen=True)
class DatasetStatus:
    """One row of the command ``datasets``. ``sentence``: the files that are present or missing. ``template``: the
    dataset's prompt, "" for a folder per class. ``skipped``: what its folders hold beside pictures, "" for nothing."""

    name: str
    title: str
    usable: bool
    sentence: str
    template: str = ""
    skipped: str = ""


def dataset_status(data_root: str | Path | None, *, look: bool = False) -> tuple[DatasetStatus, ...]:
    """The status of all datasets, then of the folders below ``data_root`` with a folder per class.

    Args:
        data_root: None means that there is no data folder; every dataset is listed with the files it needs.
        look: look for every picture that a list names, and say how many are missing; on a slow disk it takes a while.

    Raises DataError: the root is not a folder."""
    root = None if data_root is None else _root(data_root)
    rows, named = list[DatasetStatus](), {dataset.folder for dataset in DATASETS.values()}
    for name, dataset in DATASETS.items():
        home = root_of(name, root)
        try:
            if (missing := _missing(dataset, home)) or home is None:
                raise DataError(f"missing: {missing}.")
            listing = _read(dataset, home)
            about = _counts(dataset, listing, look), dataset.template, skipped_text(listing.skipped)
            rows.append(DatasetStatus(name, dataset.title, True, *about))
        except DataError as error:
            rows.append(DatasetStatus(name, dataset.title, False, error.message, dataset.template))
    try:
        folders = () if root is None else read_folder(root).folders
    except OSError as error:
        raise DataError(f"The data folder {str(root)[:200]!r} cannot be read.", "Check its permissions.") from error
    for folder in (root / name for name in folders if root and name not in named):
        if (folder_set := read_folder_set(folder)).rows:
            title = "a folder per class"
            try:
                listing = _folder_listing(folder, folder_set)
                counts = f"{len(listing.names)} classes; splits: {listing.splits_text}."
                sentence = " ".join(filter(None, (counts, listing.origin, listing.names_warning)))
                rows.append(DatasetStatus(folder.name, title, True, sentence, skipped=skipped_text(listing.skipped)))
            except DataError as error:
                rows.append(DatasetStatus(folder.name, title, False, str(error)))
    return tuple(rows)


def _counts(dataset: Dataset, listing: Listing, look: bool) -> str:
    """How many classes and pictures the dataset's list has, and how many of them are missing."""
    counts = ", ".join(f"{name} {len(rows)}" for name, rows in listing.splits.items())
    here = len({label for rows in listing.splits.values() for _, label in rows})
    sentence = f"{here}{f' of {len(listing.names)}' * (here < len(listing.names))} classes; pictures: {counts}."
    if listing.random:
        return f"{sentence} {random_split_note(dataset.name)}"
    if look and dataset.reader in ("split_file", "aircraft_variants"):  # others list what is in the folders
        splits = listing.splits.items()
        gone = {name: sum(not (listing.home / path).is_file() for path, _ in rows) for name, rows in splits}
        if any(gone.values()):
            sentence += f" Missing of these: {', '.join(f'{name} {count}' for name, count in gone.items() if count)}."
    return sentence


def random_split_note(name: str) -> str:
    """A sentence on the random split of a dataset whose split file is absent."""
    listing = DATASETS[name].listing
    return f"A random split (seed {split_files.SEED}): {listing} is absent, and numbers on it are not those of CoOp's split."


def uses_random_split(name: str, data_root: Path | None) -> bool:
    """Whether a random split takes the place of CoOp's split file, which is absent."""
    dataset = DATASETS.get(name)
    if dataset is None or data_root is None or dataset.split_names is None:
        return False
    folder = data_root / dataset.folder
    classes = classes_in(folder / dataset.pictures).pictures
    return not (folder / dataset.listing).is_file() and len(classes) > 1


def is_shipped(name: str) -> bool:
    """Whether a dataset comes with the program, in ``assets``."""
    return name in DATASETS and DATASETS[name].shipped


def root_of(name: str, data_root: Path | None) -> Path | None:
    """The folder that holds a dataset's folder: the data root, or ``assets`` for one that comes with the program."""
    return ASSETS if is_shipped(name) else data_root


def read_dataset(name: str, data_root: str | Path | None) -> Listing:
    """The class names and the pictures of all splits of a dataset, as they are listed.

    Args:
        name: a key of :data:`DATASETS`, or a folder (absolute, or below ``data_root``) with a folder per class, whose
            labels are the class folders of all splits in alphabetical order.
        data_root: None is the working folder, and no matter for a dataset that comes with the program.

    Raises DataError: a file is missing, or a list is malformed."""
    root = _root(data_root, name)
    if name not in DATASETS:
        folder = root / name  # an absolute name replaces the root
        if not folder.is_dir():
            raise unknown_dataset(name, root)
        return _folder_listing(folder, read_folder_set(folder))
    if missing := _missing(DATASETS[name], root):
        hint = "Put it below the data folder, laid out as CoOp describes."
        raise DataError(f"The dataset {name!r} is incomplete; missing: {missing}.", hint)
    return _read(DATASETS[name], root)


def load_split(name: str, data_root: str | Path | None, split: str, *, allow_partial: bool = False) -> list[Item]:
    """The pictures of one split as (path, label, class name), in the order of the dataset's list. Labels are indices of
    the names of :func:`read_dataset`.

    Args:
        name, data_root: as of :func:`read_dataset`.
        split: ``train``, ``val`` or ``test``; ``all`` for a folder without splits.
        allow_partial: leave out listed pictures that are missing, instead of raising.

    Raises DataError: a file or split is missing, or a list is malformed."""
    return present_pictures(name, read_dataset(name, data_root), split, allow_partial=allow_partial)[0]


def present_pictures(
    name: str, listing: Listing, split: str, *, allow_partial: bool = False
) -> tuple[list[Item], tuple[str, ...]]:
    """The pictures of :func:`load_split` of a dataset that is read, and the listed ones that are left out because they are
    missing, as paths below the data root. Arguments and errors are those of :func:`load_split`."""
    if split not in listing.splits:
        title, hint = repr(name), ""
        if name not in DATASETS:
            title = f"The folder {listing.home.name!r}"
            beside = skipped_text(skip for skip in listing.skipped if skip[0] is Skip.NO_SPLIT)
            hint = f"{beside} {SPLIT_FOLDERS}".lstrip()
        raise DataError(f"{title} has the splits {listing.splits_text}; got {split[:60]!r}.", hint)
    items = [(listing.home / path, label, listing.names[label]) for path, label in listing.splits[split]]
    if name not in DATASETS:
        return items, ()
    if not items:
        counts = [f"{other!r} has {len(rows)}" for other, rows in listing.splits.items() if rows]
        message = f"{name!r}: split {split!r} has no pictures; {', '.join(counts) or 'nor has any other'}."
        raise DataError(message, "Choose another split." if counts else "Complete the dataset.")
    absent = [not path.is_file() for path, _, _ in items]
    below = Path(DATASETS[name].folder, DATASETS[name].pictures)
    missing = tuple((below / path).as_posix() for (path, _), gone in zip(listing.splits[split], absent) if gone)
    if missing and (len(missing) == len(items) or not allow_partial):
        counts_ = f"{len(missing)} of {len(items)} pictures of {name!r} ({split}) are missing"
        raise DataError(f"{counts_}, the first of them {missing[0]}.", "Complete the dataset, or allow a partial one.")
    return [item for item, gone in zip(items, absent) if not gone], missing


def unknown_dataset(name: str, root: Path, ending: str = "") -> DataError:
    """The error for a name that is neither a dataset nor a folder, with the near one. ``ending``: what may follow a name,
    such as ``:present``."""
    word, _, option = name.partition(":")
    near = ending if ending and did_you_mean(option, [ending.removeprefix(":")]) else ""
    folders = set[str]()
    with suppress(OSError):
        folders = {*read_folder(root).folders} - {dataset.folder for dataset in DATASETS.values()}
    datasets = f"Datasets: {', '.join(DATASETS)}; or a folder with a folder of pictures per class."
    hint = did_you_mean(word, [*DATASETS, *sorted(folders)], datasets, near)
    return DataError(f"There is no dataset and no folder {name[:200]!r}.", hint)


def _root(data_root: str | Path | None, name: str = "") -> Path:
    root = root_of(name, Path(data_root or ""))
    assert root is not None  # nor is the one given
    if not root.is_dir():
        message = f"The data folder {str(data_root)[:200]!r} does not exist."
        raise DataError(message, "Say where the datasets are with --data-root.")
    return root


def _missing(dataset: Dataset, root: Path | None) -> str:
    """The first missing file or folder below the data root, for a folder with its content; "" when all are present."""
    folder = Path(dataset.folder)
    listing, pictures = (folder / dataset.listing).as_posix(), (folder / dataset.pictures).as_posix()
    if root is None or not (root / folder).is_dir():
        return f"{folder}; expected: {listing}, and pictures below {pictures}"
    if not (root / pictures).is_dir():
        return pictures
    return "" if not dataset.listing or (root / listing).is_file() or uses_random_split(dataset.name, root) else listing


def _read(dataset: Dataset, root: Path) -> Listing:
    """The content of the dataset's list, or the random split in its place."""
    folder, where = root / dataset.folder, f"{dataset.folder}/{dataset.pictures}"
    if uses_random_split(dataset.name, root):
        listing = split_files.random_split(classes_in(root / where), dataset.split_names or {}, where)
    else:
        read: Callable[..., Listing] = getattr(split_files, dataset.reader)
        listing = read(folder, dataset.pictures, dataset.listing, **dataset.options)
    return replace(listing, home=folder / dataset.pictures, splits_text=", ".join(listing.splits))


def _folder_listing(folder: Path, tree: FolderSet) -> Listing:
    """A folder per class, with what its classes are called."""
    if not tree.rows:
        message = f"The folder {folder.name!r} should hold a folder of pictures per class, and at least two of them"
        single = "".join(f"; it holds one: {c[:60]!r}" for c in tree.classes)
        raise DataError(f"{message}{single}.", skipped_text(tree.skipped))
    named = name_classes(folder, tree.classes)
    skipped = tuple(skip for skip in tree.skipped if skip != (Skip.NO_PICTURE, named.file))
    names = tuple(named.names.values())
    return Listing(names, tree.rows, skipped, folder, tree.classes, tree.splits_text, named.origin, named.warning)
