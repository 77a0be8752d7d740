"""The training pictures, decoded once into one file of bytes, with their classes and captions. A cache folder holds `pixels.bin`, the RGB bytes (H, W, 3) of all pictures one after another, and `index.npz`, their
offsets and sizes. Its name is a hash of the list of files, so that new pictures make a new cache."""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import open_clip
from PIL import Image

from rita_demo.data import descriptions
from rita_demo.data.datasets import DATASETS, load_split
from rita_demo.data.folders import pictures_below, read_folder
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.process.text_file import read_text
from rita_demo.records.errors import DataError, DemoError
from rita_demo.records.spreadsheet import read_columns
from rita_demo.vlm.words import word_list
from tools import textures

LONGEST_SHORT_SIDE = 160
DTD_NAMES = VOCABULARIES["dtd"].names
#: Misleading folder names -> class names.
RENAMED = {"ear": "ear of corn", "upright": "upright piano", "slot": "slot machine", "file": "filing cabinet"}
RENAMED |= {"boxer": "boxer dog", "rock beauty": "rock beauty fish", "chime": "wind chime", "organ": "pipe organ"}
RENAMED |= {"reel": "fishing reel"}


@dataclass(frozen=True)
class Source:
    """One picture: its file or drawing, its group, and the names of its class or its captions."""

    origin: Path | tuple[str, int]  # a file, or (class, seed) of a drawn texture
    group: str
    names: tuple[str, ...]
    captions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """The data of all batches. P pictures, C classes, C' >= C names including negatives."""

    pixels: np.ndarray  # (bytes,) uint8, memory-mapped
    begin: np.ndarray  # (P,) int64
    size: np.ndarray  # (P, 2) int64: height, width
    label: np.ndarray  # (P,) int64, -1 for a captioned picture
    captions: tuple[tuple[str, ...], ...]  # P entries
    names: tuple[tuple[str, ...], ...]  # C' entries; those from C on have no pictures
    groups: dict[str, np.ndarray]  # group -> picture numbers
    ambiguous: np.ndarray  # (C', C') bool: pairs of names with similar meaning, never negatives
    described: tuple[tuple[str, ...], ...]  # C' entries: descriptions of the class
    imagenet: np.ndarray  # (1000,) int64: the class of each ImageNet class; (0,) if some are missing

    @property
    def classes(self) -> int:
        """C, the number of classes with pictures."""
        return int(self.label.max()) + 1

    def picture(self, number: int) -> np.ndarray:
        """Picture `number` as a uint8 view (H, W, 3)."""
        (height, width), begin = self.size[number], self.begin[number]
        return self.pixels[begin : begin + height * width * 3].reshape(height, width, 3)


def display_name(folder: str, rename: bool = False) -> str:
    """A folder name as words (`Soy_Milk_carton` -> `soy milk carton`); `rename` replaces misleading ones."""
    name = re.sub(r"\s+", " ", folder.replace("_", " ")).strip().lower()
    return RENAMED.get(name, name) if rename else name


def coop_split(data: Path, name: str, part: str) -> list[tuple[Path, str]]:
    """(file, class name) pairs of a dataset in CoOp's layout, `part` one of train, val, test; empty without its list. Raises
    DataError: listed pictures are missing, or the list is malformed."""
    dataset = DATASETS[name]
    if not (data / dataset.folder / dataset.listing).is_file():
        return []
    return [(path, display_name(class_name)) for path, _, class_name in load_split(name, data, part)]


def sources(data: Path) -> list[Source]:
    """Every training picture under `data`, in a fixed order."""
    pairs = ((group, *row) for group in ("caltech101", "dtd") for row in coop_split(data, group, "train"))
    found = [Source(path, group, (name,)) for group, path, name in pairs]
    files, official = pictures_below(data / "imagenet-one-per-class"), open_clip.IMAGENET_CLASSNAMES
    # n01440764_tench.jpg; with all 1,000 also open_clip's names, in the same order
    for number, path in enumerate(files):
        names = [official[number].lower()] if len(files) == len(official) else []
        names.append(display_name(path.stem.partition("_")[2]))
        found.append(Source(path, "imagenet", tuple(dict.fromkeys(names))))
    for path in pictures_below(data / "oxford-pets-sample"):
        breed = display_name(path.stem.rpartition("_")[0])
        found.append(Source(path, "pets", (breed, f"{breed} {path.parent.name.rstrip('s').lower()}")))
    extra = data / "extra"
    for folder in (extra / name for name in read_folder(extra).folders) if extra.is_dir() else ():
        if (folder / "captions.csv").is_file():
            found += captioned_pictures(folder)
            continue
        for path in pictures_below(folder):
            found.append(Source(path, folder.name, (display_name(path.parent.name, rename=True),)))
    if not found:
        hint = "Expected caltech-101/ and dtd/ in CoOp's layout, or extra/SET/CLASS/*.jpg."
        raise DemoError(f"No training pictures were found under {data}.", hint)
    return found


def seen_words(names: Iterable[str], tokens: Collection[int]) -> bytes:
    """The file seen_words.json: the words of these class names of which all tokens are in `tokens`, those met in training.
    A short training does not meet every name."""
    encode, met = open_clip.SimpleTokenizer().encode, frozenset(tokens)
    words = [word for word in word_list(names) if met.issuperset(encode(word))]
    return json.dumps(words, ensure_ascii=False).encode() + b"\n"


def captioned_pictures(folder: Path) -> list[Source]:
    """Pictures with sentences: captions.csv with the columns file and caption."""
    rows = read_columns(read_text(folder / "captions.csv"), "file", "caption")
    if rows is None:
        raise DataError(f"{folder.name}/captions.csv has no columns file and caption.", "Name them in its first row.")
    by_file: dict[str, list[str]] = {}
    for file, caption in rows:
        place = file if (folder / file).is_file() else file.replace("\\", "/")
        by_file.setdefault(place, []).append(caption.strip())
    return [Source(folder / file, folder.name, (), tuple(captions)) for file, captions in by_file.items()]


def load_corpus(data: Path, cache: Path, drawn: int = 0) -> Corpus:
    """Index the training pictures under `data` and `drawn` textures per class; decode them once into `cache`."""
    found, seeds = sources(data), textures.SEEDS["train"][:drawn]
    found += [Source((name, seed), "textures", (name,)) for seed in seeds for name in DTD_NAMES]
    pixels, begin, size = decode_pictures(found, cache)
    names: list[tuple[str, ...]] = []
    home: list[set[str]] = []  # the groups of every name
    number: dict[str, int] = {}
    label = np.full(len(found), -1, dtype=np.int64)
    for position, source in enumerate(found):
        if source.names:
            label[position] = number.setdefault(source.names[0], len(names))
            if label[position] == len(names):
                names.append(source.names)
                home.append(set())
            home[label[position]].add(source.group)
    known = {name for entry in names for name in entry}
    for name in (*DTD_NAMES, *(name.lower() for name in open_clip.IMAGENET_CLASSNAMES)):
        if name not in known:
            names.append((name,))
            home.append({"dtd"} if name in DTD_NAMES else {"imagenet"})
    files = [descriptions.load(name) for name in descriptions.BUILT_IN]
    sentences = {display_name(name): written for file in files for name, written in file.items()}
    group_names = np.array([source.group for source in found])
    singles = label[group_names == "imagenet"]  # in the order of ImageNet's numbers
    return Corpus(
        pixels=pixels,
        begin=begin,
        size=size,
        label=label,
        captions=tuple(source.captions for source in found),
        names=tuple(names),
        groups={group: np.flatnonzero(group_names == group) for group in dict.fromkeys(group_names)},
        ambiguous=ambiguous_pairs(names, home),
        described=tuple(sentences.get(entry[0], ()) for entry in names),
        imagenet=singles if len(singles) == len(open_clip.IMAGENET_CLASSNAMES) else singles[:0],
    )


def ambiguous_pairs(names: list[tuple[str, ...]], home: list[set[str]]) -> np.ndarray:
    """(C', C') bool: two different classes that share a word and no data set ("dog", "beagle dog")."""
    # words that count are longer than two letters; a plural s does not
    found = [re.findall(r"[a-z]{3,}", " ".join(entry).lower()) for entry in names]
    words = [{word.rstrip("s") for word in entry if word not in {"and", "the"}} for entry in found]
    matrix = [[not a.isdisjoint(b) and x.isdisjoint(y) for b, y in zip(words, home)] for a, x in zip(words, home)]
    return np.array(matrix)


def read_picture(source: Source) -> np.ndarray:
    """A picture as uint8 (H, W, 3), its shorter side at most LONGEST_SHORT_SIDE."""
    if not isinstance(source.origin, Path):
        return textures.draw(*source.origin, size=LONGEST_SHORT_SIDE)
    with Image.open(source.origin) as opened:
        image = opened.convert("RGB")
    scale = LONGEST_SHORT_SIDE / min(image.size)
    if scale < 1:
        width, height = (max(1, round(side * scale)) for side in image.size)
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(image)


def decode_pictures(found: list[Source], cache: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bytes (memory-mapped), beginnings (P,) and sizes (P, 2) of all pictures, decoded if need be."""
    origins = [source.origin for source in found]
    listing = "\n".join(
        f"{o.name} {o.stat().st_size}" if isinstance(o, Path) else "drawn {} {}".format(*o) for o in origins
    )
    folder = cache / hashlib.sha256(f"{LONGEST_SHORT_SIDE}\n{listing}".encode()).hexdigest()[:16]
    if not (folder / "index.npz").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        sizes = []
        with (folder / "pixels.bin").open("wb") as out, ThreadPoolExecutor(2) as pool:
            for picture in pool.map(read_picture, found, chunksize=1):
                sizes.append(picture.shape[:2])
                out.write(picture.tobytes())
        size = np.array(sizes, dtype=np.int64)
        ends = np.cumsum(size[:, 0] * size[:, 1] * 3)
        np.savez(folder / "partial.npz", begin=np.concatenate([[0], ends[:-1]]), size=size)
        os.replace(folder / "partial.npz", folder / "index.npz")
    index = np.load(folder / "index.npz")
    return np.memmap(folder / "pixels.bin", dtype=np.uint8, mode="r"), index["begin"], index["size"]
