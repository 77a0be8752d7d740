"""Datasets in CoOp's layout and folders per class, built in a temporary folder."""

import json
from pathlib import Path

import pytest

from rita_demo.data import split_files, vocabularies
from rita_demo.data.datasets import DATASETS, DatasetStatus, dataset_status, load_split, read_dataset
from rita_demo.data.pictures import open_picture
from rita_demo.records.errors import DataError
from tests.data.hostile import encoded, photo

_CONTRACT = """caltech101 dtd textures pets cars flowers102 aircraft eurosat ucf101 sun397 food101 imagenet imagenet_a
imagenet_v2 imagenet_r imagenet_sketch"""
CONTRACT = _CONTRACT.split()
FILES = [name for name in CONTRACT if not DATASETS[name].shipped]
VAL = "images_variant_val.txt"
SPLIT = {
    "train": [["cup/1.png", 3, "cup"], ["sea_horse/1.png", 8, "sea_horse"]],
    "val": [["cup/2.png", 3, "cup"]],
    "test": [["sea_horse/2.png", 8, "sea_horse"]],
}


def make_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(photo(8, 8), "PNG" if path.suffix == ".png" else "JPEG"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data folder with a small Caltech101, a folder per class, one with splits and one without."""
    make_dataset(tmp_path, "caltech101")
    for picture in ("cup/1", "cup/2", "sea_horse/1", "sea_horse/2"):
        make_file(tmp_path / "mine" / f"{picture}.png")
        make_file(tmp_path / "ours/val" / f"{picture}.png")
    return tmp_path


def test_dataset_status_lists_present_and_missing_files(root: Path) -> None:
    rows = {row.name: row for row in dataset_status(root)}
    assert list(rows)[: len(CONTRACT)] == CONTRACT, "the names of the contract, before any others"
    assert list(rows)[-2:] == ["mine", "ours"]
    assert len(FILES) == 15  # the tests below make a small folder of each
    assert rows["caltech101"].usable
    assert rows["caltech101"].sentence == "2 classes; pictures: train 2, val 1, test 1."
    assert rows["mine"].sentence == "2 classes; splits: all."
    assert rows["ours"].sentence == "2 classes; splits: val."
    assert rows["pets"].sentence == (
        "missing: oxford_pets; expected: oxford_pets/split_zhou_OxfordPets.json, and pictures below oxford_pets/images."
    )
    (root / "dtd/images").mkdir(parents=True)
    assert status("dtd", root).sentence == "missing: dtd/split_zhou_DescribableTextures.json."


@pytest.mark.parametrize(("name", "split"), [("mine", "all"), ("ours", "val")])
def test_a_folder_per_class_is_a_dataset(root: Path, name: str, split: str) -> None:
    for given in (name, str(root / name)):
        rows = load_split(given, root, split)
        assert [row[1:] for row in rows] == [(0, "cup")] * 2 + [(1, "sea horse")] * 2
        assert all(path.is_file() for path, _, _ in rows)


def test_missing_pictures_are_refused_unless_partial_is_allowed(root: Path) -> None:
    (root / "caltech-101/101_ObjectCategories/cup/1.png").unlink()
    with pytest.raises(DataError, match=r"1 of 2 pictures of 'caltech101' \(train\) are missing") as error:
        load_split("caltech101", root, "train")
    assert "the first of them caltech-101/101_ObjectCategories/cup/1.png." in str(error.value)
    assert str(root) not in str(error.value)
    assert len(load_split("caltech101", root, "train", allow_partial=True)) == 1
    (root / "caltech-101/101_ObjectCategories/cup/2.png").unlink()
    with pytest.raises(DataError, match="1 of 1"):
        load_split("caltech101", root, "val", allow_partial=True)


Rows = dict[str, list[tuple[str, int, str]]]  # split -> (path below the dataset's folder, label, name)
#: In another order than the folders' names; no dataset has pictures of the last class.
WORDNET = {"n02": "great white shark", "n01": "tench", "n03": "sea_horse", "n00": "crane"}


def make_dataset(root: Path, name: str) -> tuple[tuple[str, ...], Rows]:
    """A small dataset of that name: the class names and pictures that it should be read as."""
    row = DATASETS[name]
    folder = root / row.folder
    if row.listing == "variants.txt":
        names, rows = _aircraft(folder)
    elif row.listing == "classnames.txt":
        names, rows = _wordnet(folder, name)
    else:
        names, below = ("cup", "sea horse"), row.pictures + "/" * bool(row.pictures)
        rows = {
            split: [(below + path, {3: 0, 8: 1}[label], name.replace("_", " ")) for path, label, name in given]
            for split, given in SPLIT.items()
        }
    for path, _, _ in (picture for pictures in rows.values() for picture in pictures):
        make_file(folder / path)
    if row.listing.endswith(".json"):
        (folder / row.listing).write_text(json.dumps(SPLIT))
    return names, rows


def _aircraft(folder: Path) -> tuple[tuple[str, ...], Rows]:
    folder.mkdir()
    (folder / "variants.txt").write_text("MD-80\n707-320\nCessna 172\n")
    given = {"train": "0034309 707-320\n1025794 Cessna 172\n", "val": "0000001 MD-80\n", "test": "0000002 Cessna 172\n"}
    for split, text in given.items():
        (folder / f"images_variant_{split}.txt").write_text(text)
    return ("MD-80", "707-320", "Cessna 172"), {
        "train": [("images/0034309.jpg", 1, "707-320"), ("images/1025794.jpg", 2, "Cessna 172")],
        "val": [("images/0000001.jpg", 0, "MD-80")],
        "test": [("images/0000002.jpg", 2, "Cessna 172")],
    }


def _wordnet(folder: Path, name: str) -> tuple[tuple[str, ...], Rows]:
    below = {"imagenet": "images/val"}.get(name, DATASETS[name].pictures)
    (folder / below).mkdir(parents=True)
    (folder / "classnames.txt").write_text("".join(f"{k} {v}\n" for k, v in WORDNET.items()))
    (folder / below / "README.txt").write_text("no class")  # as in ImageNet-A and -R
    (folder / below / ".hidden").mkdir()
    names: tuple[str, ...] = ("great white shark", "tench", "sea horse", "crane")
    label_of = {"n01": 1, "n02": 0, "n03": 2}
    if name in ("imagenet_a", "imagenet_r"):
        names, label_of = ("tench", "great white shark", "sea horse"), {"n01": 0, "n02": 1, "n03": 2}
    elif name == "imagenet_v2":
        label_of = {"0": 0, "1": 1, "2": 2}
    pictures = [(place, label, number) for place, label in label_of.items() for number in (1, 2)]
    rows = {"test": [(f"{below}/{place}/{n}.JPEG", label, names[label]) for place, label, n in pictures]}
    if name == "imagenet":
        rows["train"] = [(f"images/train/n03/{i}.JPEG", 2, "sea horse") for i in (1, 2, 3)]
    return names, rows


def status(name: str, root: Path | None) -> DatasetStatus:
    return next(row for row in dataset_status(root) if row.name == name)


@pytest.mark.parametrize("name", FILES)
def test_every_layout_is_read_as_classes_labels_splits_and_pictures(tmp_path: Path, name: str) -> None:
    row, absent = DATASETS[name], status(name, tmp_path)
    assert absent == status(name, None)
    assert not absent.usable
    assert f"missing: {row.folder}; expected: {row.folder}/{row.listing}," in absent.sentence
    assert absent.sentence.endswith(f"pictures below {Path(row.folder, row.pictures).as_posix()}.")
    names, rows = make_dataset(tmp_path, name)
    assert read_dataset(name, tmp_path).names == names
    for split in ("train", "val", "test", "all"):
        if split not in rows:
            with pytest.raises(DataError, match=f"'{name}' has the splits .*; got '{split}'"):
                load_split(name, tmp_path, split)
            continue
        items = load_split(name, tmp_path, split)
        home = tmp_path / DATASETS[name].folder
        assert [(p.relative_to(home).as_posix(), *rest) for p, *rest in items] == rows[split]
        assert all(names[label] == called for _, label, called in items)
        assert all(open_picture(path).pixels.shape[2] == 3 for path, _, _ in items)
    line = status(name, tmp_path)
    assert line.usable
    here = len({label for pictures in rows.values() for _, label, _ in pictures})
    assert line.sentence.startswith(f"{here} {f'of {len(names)} ' * (here < len(names))}classes; ")
    assert all(f" {split} {len(pictures)}" in line.sentence for split, pictures in rows.items())


def test_two_classes_with_the_same_clip_name_stay_distinct(tmp_path: Path) -> None:
    make_dataset(tmp_path, "imagenet_r")
    folder = tmp_path / "imagenet-rendition"
    list_, both = folder / "classnames.txt", "n04355933 sunglasses\nn04356056 sunglasses\n"
    list_.write_text(list_.read_text() + both)
    make_file(folder / "imagenet-r/n04355933/1.jpg")
    assert read_dataset("imagenet_r", tmp_path).names[3:] == ("sunglasses",)  # the other is not asked about
    make_file(folder / "imagenet-r/n04356056/1.jpg")
    assert read_dataset("imagenet_r", tmp_path).names[3:] == ("sunglass", "sunglasses")
    known = vocabularies.vocabulary("imagenet").names
    assert [known[744], known[836]] == list(split_files.DUPLICATE_NAMES.values())
