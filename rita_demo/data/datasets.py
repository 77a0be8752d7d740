"""Datasets in CoOp's layout (Zhou et al. 2022), and folders with a folder of pictures per class.

A row of :data:`DATASETS` is all that a dataset needs: files, prompt, class names, download, exceptions of the preset
``paper``. :mod:`rita_demo.data.split_files` reads its list of pictures. A folder per class needs no row: the classes lie in
the folder itself (its only split is ``all``) or below the folders of its splits. The drawn textures are such a folder, in
``assets``; their row is for their prompt.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from rita_demo.data.folder_names import NAMES_JSON, FolderNames, name_classes
from rita_demo.data.folder_sets import SPLIT_NAMES, FolderSet, classes_in, read_folder_set
from rita_demo.data.folders import Skip, Skipped, read_folder, skipped_text
from rita_demo.data.split_files import (
    SEED,
    VARIANT_LISTS,
    Listing,
    Reader,
    aircraft_variants,
    class_folders,
    random_split,
    split_file,
    split_folders,
)
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
    pictures: str  # folder of the pictures, below ``folder``
    listing: str = ""  # the list of pictures or classes, below ``folder``
    read: Reader = split_file  # the function that reads it
    shipped: bool = False  # lies in ``assets``, not below the data root
    template: str = DEFAULT_PROMPT_TEMPLATE  # CoOp's for its classes (``CUSTOM_TEMPLATES`` of its zero-shot CLIP)
    list_title: str = ""  # of its ready list of class names (:mod:`rita_demo.data.vocabularies`), if it has one
    archive: Archive | None = None  # what the page downloads
    paper_settings: Mapping[str, JsonValue] = field(
        default_factory=dict
    )  # with another value here in the preset ``paper``
    #: architecture -> further ones on its towers alone
    paper_by_tower: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    # where ``listing`` is absent, the picture folder (a folder per class) is split at random, as in CoOp; folder -> class
    # name where they differ, "" for a folder that is no class. None: it is not split.
    split_names: Mapping[str, str] | None = None


#: Further settings of the preset ``paper``. C-TPT's weight on ImageNet and its variants is that of its authors. The others
#: are the paper's appendix B: 64 views in the loss and every description, but for these sets.
_CTPT: dict[str, JsonValue] = {"ctpt_weight": 20.0}
_FEWER_VIEWS: dict[str, JsonValue] = {"subset_size": 32}
_FEWER_VIEWS_ALONE: dict[str, JsonValue] = _FEWER_VIEWS | {"descriptions": "none"}
_EUROSAT = {"ViT-B-16": _FEWER_VIEWS_ALONE, "ViT-B-32": _FEWER_VIEWS}
_CALTECH_NAMES = {"airplanes": "airplane", "Faces": "face", "Leopards": "leopard", "Motorbikes": "motorbike"}
_CALTECH_NAMES |= {"BACKGROUND_Google": "", "Faces_easy": ""}
_SUBSET, _NUMBERED = partial(class_folders, subset=True), partial(class_folders, numbered=True)

_KIND = "a photo of a {}, a type of "

# addresses and checksums are torchvision's
_CALTECH_URL = "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip"
_CALTECH_INNER = "caltech-101/101_ObjectCategories.tar.gz"
_DTD_URL = "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz"


def _coop(name: str, title: str, folder: str, pictures: str, file: str, **more: Any) -> Dataset:
    """A dataset whose list is CoOp's ``split_zhou_*.json``; ``file``: the end of its name."""
    return Dataset(name, title, folder, pictures, f"split_zhou_{file}.json", **more)


def _imagenet(
    name: str,
    title: str,
    folder: str,
    pictures: str,
    read: Reader,
    paper: Mapping[str, JsonValue] = {},
    list_title: str = "",
) -> Dataset:
    """ImageNet or a variant: a folder per class and ``classnames.txt``."""
    paper = {**_CTPT, **paper}
    return Dataset(name, title, folder, pictures, "classnames.txt", read, list_title=list_title, paper_settings=paper)


_ROWS = (
    _coop(
        "caltech101",
        "Caltech101",
        "caltech-101",
        "101_ObjectCategories",
        "Caltech101",
        split_names=_CALTECH_NAMES,
        list_title="Caltech101: 100 kinds of things",  # Fei-Fei, Fergus, Perona 2004; CoOp's list (Zhou et al. 2022)
        archive=Archive(_CALTECH_URL, "3138e1922a9193bfa496528edbbc45d0", 130, "101_ObjectCategories", _CALTECH_INNER),
    ),
    _coop(
        "dtd",
        "Describable Textures",
        "dtd",
        "images",
        "DescribableTextures",
        template="{} texture.",
        split_names={},
        list_title="DTD: 47 textures",  # Cimpoi et al. 2014
        archive=Archive(_DTD_URL, "fff73e5086ae6bdbea199a49dfb8a4c1", 600, "dtd/images"),
    ),
    # they have DTD's class names, and so its prompt; tools/textures draws them
    Dataset("textures", "Drawn textures", "textures", "", "", split_folders, shipped=True, template="{} texture."),
    _coop("pets", "Oxford Pets", "oxford_pets", "images", "OxfordPets", template=_KIND + "pet."),
    _coop("cars", "Stanford Cars", "stanford_cars", "", "StanfordCars"),
    _coop("flowers102", "Oxford Flowers", "oxford_flowers", "jpg", "OxfordFlowers", template=_KIND + "flower."),
    Dataset(
        "aircraft",
        "FGVC Aircraft",
        "fgvc_aircraft",
        "images",
        "variants.txt",
        aircraft_variants,
        template=_KIND + "aircraft.",
    ),
    _coop(
        "eurosat",
        "EuroSAT",
        "eurosat",
        "2750",
        "EuroSAT",
        template="a centered satellite photo of {}.",
        paper_by_tower=_EUROSAT,
    ),
    _coop("ucf101", "UCF101", "ucf101", "UCF-101-midframes", "UCF101", template="a photo of a person doing {}."),
    _coop("sun397", "SUN397", "sun397", "SUN397", "SUN397"),
    _coop("food101", "Food-101", "food-101", "images", "Food101", template="a photo of {}, a type of food."),
    _imagenet(
        "imagenet",
        "ImageNet",
        "imagenet",
        "images",
        partial(class_folders, splits={"train": "train", "test": "val"}),
        list_title="ImageNet: 1000 things and animals",  # Deng et al. 2009; names of Radford et al. 2021 as in open_clip
    ),
    _imagenet("imagenet_a", "ImageNet-A", "imagenet-adversarial", "imagenet-a", _SUBSET, _FEWER_VIEWS),
    _imagenet("imagenet_v2", "ImageNet-V2", "imagenetv2", "imagenetv2-matched-frequency-format-val", _NUMBERED),
    _imagenet("imagenet_r", "ImageNet-R", "imagenet-rendition", "imagenet-r", _SUBSET, _FEWER_VIEWS),
    _imagenet("imagenet_sketch", "ImageNet-Sketch", "imagenet-sketch", "images", class_folders, _FEWER_VIEWS_ALONE),
)
DATASETS: dict[str, Dataset] = {row.name: row for row in _ROWS}


def paper_settings(dataset: str, backbone: str = "") -> dict[str, JsonValue]:
    """The settings of the preset ``paper`` that have another value on a dataset, with a model such as ``ViT-B/16`` or
    ``ViT-B-16-quickgelu:openai``; none for a dataset that the paper does not have."""
    if dataset not in DATASETS:
        return {}
    row, architecture = DATASETS[dataset], backbone.replace("/", "-")
    towers = (own for tower, own in row.paper_by_tower.items() if architecture.startswith(tower))
    return {**row.paper_settings, **next(towers, {})}


def paper_setting_names() -> frozenset[str]:
    """The settings of the preset ``paper`` that have another value on some dataset."""
    each = (part for row in DATASETS.values() for part in (row.paper_settings, *row.paper_by_tower.values()))
    return frozenset().union(*each)


_NAME_PICTURES = (split_file, aircraft_variants)  # whose lists name every picture; others list what is in the folders


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

    Raises:
        DataError: the root is not a folder.
    """
    root = None if data_root is None else _root(data_root)
    rows = [_status(dataset, root_of(dataset.name, root), look) for dataset in DATASETS.values()]
    known = {dataset.folder for dataset in DATASETS.values()}
    for folder in _folders(root):
        if folder.name not in known and (found := read_folder_set(folder)).splits:
            rows.append(_folder_status(folder, found))
    return tuple(rows)


def _folder_status(folder: Path, found: FolderSet) -> DatasetStatus:
    title = "a folder per class"
    try:
        named = name_classes(folder, found.classes)
    except DataError as error:
        return DatasetStatus(folder.name, title, False, str(error))
    sentence = f"{len(found.classes)} classes; splits: {found.splits_text}."
    said = " ".join(filter(None, (sentence, named.origin, named.warning)))
    return DatasetStatus(folder.name, title, True, said, skipped=skipped_text(_skipped(found, named)))


def _status(dataset: Dataset, root: Path | None, look: bool) -> DatasetStatus:
    usable, sentence, skipped = True, "", ""
    if (missing := _missing(dataset, root)) or root is None:
        usable, sentence = False, f"missing: {missing}."
    else:
        try:
            listing = _read(dataset, root)
            sentence, skipped = _counts(dataset, listing, root, look), skipped_text(listing.skipped)
        except DataError as error:
            usable, sentence = False, error.message
    return DatasetStatus(dataset.name, dataset.title, usable, sentence, dataset.template, skipped)


def _counts(dataset: Dataset, listing: Listing, root: Path, look: bool) -> str:
    """How many classes and pictures the dataset's list has, and how many of them are missing."""
    counts = ", ".join(f"{name} {len(rows)}" for name, rows in listing.splits.items())
    here = len({label for rows in listing.splits.values() for _, label in rows})
    sentence = f"{here}{f' of {len(listing.names)}' * (here < len(listing.names))} classes; pictures: {counts}."
    if uses_random_split(dataset.name, root):
        return f"{sentence} {random_split_note(dataset.name)}"
    if look and dataset.read in _NAME_PICTURES:
        home = root / dataset.folder / dataset.pictures
        gone = {name: sum(not (home / path).is_file() for path, _ in rows) for name, rows in listing.splits.items()}
        if any(gone.values()):
            sentence += f" Missing of these: {', '.join(f'{name} {count}' for name, count in gone.items() if count)}."
    return sentence


def random_split_note(name: str) -> str:
    """A sentence on the random split of a dataset whose split file is absent."""
    listing = DATASETS[name].listing
    return f"A random split (seed {SEED}): {listing} is absent, and numbers on it are not those of CoOp's split."


def uses_random_split(name: str, data_root: Path | None) -> bool:
    """Whether a random split takes the place of CoOp's split file, which is absent."""
    dataset = DATASETS.get(name)
    if dataset is None or data_root is None or dataset.split_names is None:
        return False
    here = (data_root / dataset.folder / dataset.listing).is_file()
    return not here and bool(classes_in(data_root / dataset.folder / dataset.pictures).pictures)


def is_shipped(name: str) -> bool:
    """Whether a dataset comes with the program, in ``assets``."""
    return name in DATASETS and DATASETS[name].shipped


def root_of(name: str, data_root: Path | None) -> Path | None:
    """The folder that holds a dataset's folder: the data root, or ``assets`` for one that comes with the program."""
    return ASSETS if is_shipped(name) else data_root


def load_split(name: str, data_root: str | Path | None, split: str, *, allow_partial: bool = False) -> list[Item]:
    """The pictures of one split as (path, label, class name), in the order of the dataset's list. Labels are indices of
    :func:`class_names`.

    Args:
        name: a key of :data:`DATASETS`, or a folder (absolute, or below ``data_root``) with a folder per class, whose
            labels are the class folders of all splits in alphabetical order.
        data_root: None is the working folder, and no matter for a dataset that comes with the program.
        split: ``train``, ``val`` or ``test``; ``all`` for a folder without splits.
        allow_partial: leave out listed pictures that are missing, instead of raising.

    Raises:
        DataError: a file or split is missing, or a list is malformed.
    """
    return load_present(name, data_root, split, allow_partial=allow_partial)[0]


def load_present(
    name: str, data_root: str | Path | None, split: str, *, allow_partial: bool = False
) -> tuple[list[Item], tuple[str, ...]]:
    """The pictures of :func:`load_split`, and the listed ones that are left out because they are missing, as paths below
    the data root. Arguments and errors are those of :func:`load_split`."""
    root = _root(data_root, name)
    if name not in DATASETS:
        return _load_folder(name, root, split), ()
    dataset, listing = DATASETS[name], _listing(name, root)
    if split not in listing.splits:
        raise DataError(f"{name!r} has the splits {', '.join(listing.splits)}; got {split[:60]!r}.")
    pictures = root / dataset.folder / dataset.pictures
    items = [(pictures / path, label, listing.names[label]) for path, label in listing.splits[split]]
    if not items:
        raise _empty_split(name, split, listing)
    missing = [path for path, _, _ in items if not path.is_file()]
    if len(missing) == len(items) or (missing and not allow_partial):
        first = missing[0].relative_to(root).as_posix()
        message = (
            f"{len(missing)} of {len(items)} pictures of {name!r} ({split}) are missing, the first of them {first}."
        )
        raise DataError(message, "Complete the dataset, or allow a partial one.")
    gone = set(missing)
    return [item for item in items if item[0] not in gone], tuple(one.relative_to(root).as_posix() for one in missing)


def _empty_split(name: str, split: str, listing: Listing) -> DataError:
    counts = [f"{other!r} has {len(rows)}" for other, rows in listing.splits.items() if rows]
    message = f"{name!r}: split {split!r} has no pictures; {', '.join(counts) or 'nor has any other'}."
    return DataError(message, "Choose another split." if counts else "Complete the dataset.")


def skipped_of(name: str, data_root: str | Path | None) -> Skipped:
    """What the folders of a dataset hold beside its pictures; nothing where a list names them.

    Raises:
        DataError: as :func:`load_split`.
    """
    root = _root(data_root, name)
    if name in DATASETS:
        return _listing(name, root).skipped
    return _skipped(*_read_folder(name, root))


def class_names(name: str, data_root: str | Path | None) -> tuple[str, ...]:
    """The class names of a dataset in label order: of its list, with or without pictures here, or of its class folders.

    Raises:
        DataError: as :func:`load_split`.
    """
    root = _root(data_root, name)
    return _listing(name, root).names if name in DATASETS else tuple(_read_folder(name, root)[1].names.values())


def names_of_folders(name: str, data_root: str | Path) -> FolderNames:
    """What the class folders of a dataset without a row in :data:`DATASETS` are called.

    Raises:
        DataError: as :func:`load_split`.
    """
    return _read_folder(name, _root(data_root))[1]


def list_files(name: str, data_root: str | Path) -> dict[str, bytes]:
    """Path below the data root -> content of the files that list the pictures and classes of a dataset; where CoOp's split
    file is absent, one with the random split in its place. Of a folder per class: a file of its names, where they are not
    the folders'.

    Raises:
        DataError: as :func:`load_split`.
    """
    root = _root(data_root)
    if name not in DATASETS:
        names = _read_folder(name, root)[1].names
        others = any(called != c.replace("_", " ") for c, called in names.items())
        return {f"{name}/{NAMES_JSON}": json.dumps(names).encode()} if others else {}
    dataset = DATASETS[name]
    listing, folder = _listing(name, root), Path(dataset.folder)
    if uses_random_split(name, root):
        rows = {
            split: [[path, label, listing.names[label]] for path, label in found]
            for split, found in listing.splits.items()
        }
        return {(folder / dataset.listing).as_posix(): json.dumps(rows).encode()}
    return {
        (folder / file).as_posix(): (root / folder / file).read_bytes()
        for file in (dataset.listing, *VARIANT_LISTS)
        if (root / folder / file).is_file()
    }


def _listing(name: str, root: Path) -> Listing:
    dataset = DATASETS[name]
    if missing := _missing(dataset, root):
        hint = "Put it below the data folder, laid out as CoOp describes."
        raise DataError(f"The dataset {name!r} is incomplete; missing: {missing}.", hint)
    return _read(dataset, root)


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
    if dataset.split_names is not None and uses_random_split(dataset.name, root):
        classes = classes_in(root / dataset.folder / dataset.pictures)
        return random_split(classes, dataset.split_names, f"{dataset.folder}/{dataset.pictures}")
    return dataset.read(root / dataset.folder, dataset.pictures, dataset.listing)


def unknown_dataset(name: str, root: Path, ending: str = "") -> DataError:
    """The error for a name that is neither a dataset nor a folder, with the near one. ``ending``: what may follow a name,
    such as ``:present``."""
    word, _, said = name.partition(":")
    near = ending if ending and did_you_mean(said, [ending.removeprefix(":")]) else ""
    folders = set[str]()
    with suppress(OSError):
        folders = {*read_folder(root).folders} - {dataset.folder for dataset in DATASETS.values()}
    known = f"Datasets: {', '.join(DATASETS)}; or a folder with a folder of pictures per class."
    hint = did_you_mean(word, [*DATASETS, *sorted(folders)], known, near)
    return DataError(f"There is no dataset and no folder {name[:200]!r}.", hint)


def _load_folder(name: str, root: Path, split: str) -> list[Item]:
    found, named = _read_folder(name, root)
    folder = root / name
    if split not in found.splits:
        hint = skipped_text(skip for skip in found.skipped if skip[0] is Skip.NO_SPLIT)
        raise DataError(
            f"The folder {folder.name!r} has the splits {found.splits_text}; got {split[:60]!r}.",
            f"{hint} {SPLIT_FOLDERS}".lstrip(),
        )
    label = {c: index for index, c in enumerate(found.classes)}
    place, pictures = folder / found.places[split], found.splits[split].pictures
    return [(place / c / file, label[c], named.names[c]) for c, files in pictures.items() for file in files]


def _read_folder(name: str, root: Path) -> tuple[FolderSet, FolderNames]:
    """A folder per class, and what its classes are called."""
    folder = root / name  # an absolute name replaces the root
    if not folder.is_dir():
        raise unknown_dataset(name, root)
    found = read_folder_set(folder)
    if not found.splits:
        message = f"The folder {folder.name!r} should hold a folder of pictures per class, and at least two of them"
        one = "".join(f"; it holds one: {c[:60]!r}" for c in found.classes)
        raise DataError(f"{message}{one}.", skipped_text(found.skipped))
    return found, name_classes(folder, found.classes)


def _skipped(found: FolderSet, named: FolderNames) -> Skipped:
    """What a folder per class holds beside pictures and the file of its names."""
    return tuple(skip for skip in found.skipped if skip != (Skip.NO_PICTURE, named.file))


def _folders(root: Path | None) -> tuple[Path, ...]:
    """The folders in the data folder, without what systems leave behind."""
    try:
        return () if root is None else tuple(root / name for name in read_folder(root).folders)
    except OSError as error:
        raise DataError(f"The data folder {str(root)[:200]!r} cannot be read.", "Check its permissions.") from error
