"""Datasets in CoOp's layout and folders per class, built in a temporary folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rita_demo.data.datasets import DATASETS, load_split, present
from rita_demo.errors import DataError

from .hostile import encoded, photo

CONTRACT = [
    "caltech101",
    "dtd",
    "textures",
    "pets",
    "cars",
    "flowers102",
    "aircraft",
    "eurosat",
    "ucf101",
    "sun397",
    "food101",
    "imagenet",
    "imagenet_a",
    "imagenet_v2",
    "imagenet_r",
    "imagenet_sketch",
]
SPLIT = {
    "train": [["cup/1.png", 3, "cup"], ["sea_horse/1.png", 8, "sea_horse"]],
    "val": [["cup/2.png", 3, "cup"]],
    "test": [["sea_horse/2.png", 8, "sea_horse"]],
}


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(photo(8, 8)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data folder with a small Caltech101, a folder per class, one with splits and one without."""
    for picture in ("cup/1", "cup/2", "sea_horse/1", "sea_horse/2"):
        put(tmp_path / "caltech-101/101_ObjectCategories" / f"{picture}.png")
        put(tmp_path / "mine" / f"{picture}.png")
        put(tmp_path / "ours/val" / f"{picture}.png")
    put(tmp_path / "flat/1.png")
    write(tmp_path, SPLIT)
    return tmp_path


def write(root: Path, content: object) -> None:
    path = root / "caltech-101/split_zhou_Caltech101.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def test_the_registry_knows_the_names_of_the_contract() -> None:
    assert list(DATASETS) == CONTRACT


def test_present_says_what_is_here_and_what_is_missing(root: Path) -> None:
    rows = {row.name: row for row in present(root)}
    assert list(rows) == [*CONTRACT, "mine", "ours"]
    assert rows["caltech101"].usable
    assert rows["caltech101"].sentence == "2 classes; pictures: train 2, val 1, test 1."
    assert rows["mine"].sentence == "2 classes; splits: all."
    assert rows["ours"].sentence == "2 classes; splits: val."
    assert rows["pets"].sentence == "missing: oxford_pets."
    (root / "dtd/images").mkdir(parents=True)
    rows = {row.name: row for row in present(root)}
    assert rows["dtd"].sentence == "missing: dtd/split_zhou_DescribableTextures.json."
    assert not rows["dtd"].usable


def test_a_split_is_paths_labels_and_readable_names(root: Path) -> None:
    pictures = root / "caltech-101/101_ObjectCategories"
    assert load_split("caltech101", root, "train") == [
        (pictures / "cup/1.png", 0, "cup"),
        (pictures / "sea_horse/1.png", 1, "sea horse"),
    ]
    assert [row[1:] for row in load_split("caltech101", root, "test")] == [(1, "sea horse")]


@pytest.mark.parametrize(("name", "split"), [("mine", "all"), ("ours", "val")])
def test_a_folder_per_class_is_a_dataset(root: Path, name: str, split: str) -> None:
    for given in (name, str(root / name)):
        rows = load_split(given, root, split)
        assert [row[1:] for row in rows] == [(0, "cup")] * 2 + [(1, "sea horse")] * 2
        assert all(path.is_file() for path, _, _ in rows)


def test_missing_pictures_are_refused_unless_a_part_is_allowed(root: Path) -> None:
    (root / "caltech-101/101_ObjectCategories/cup/1.png").unlink()
    with pytest.raises(DataError, match=r"1 of 2 pictures of 'caltech101' \(train\) are missing"):
        load_split("caltech101", root, "train")
    assert len(load_split("caltech101", root, "train", allow_partial=True)) == 1
    (root / "caltech-101/101_ObjectCategories/cup/2.png").unlink()
    with pytest.raises(DataError, match="1 of 1"):
        load_split("caltech101", root, "val", allow_partial=True)


@pytest.mark.parametrize(
    ("name", "split", "words"),
    [
        ("caltech101", "all", "has the splits train, val, test; got 'all'"),
        ("mine", "test", "has the splits all; got 'test'"),
        ("flat", "all", "should hold a folder of pictures per class"),
        ("pets", "val", "'pets' is incomplete: oxford_pets is missing"),
        ("nothing", "val", "no dataset and no folder 'nothing'"),
        ("textures", "val", "cannot read"),
    ],
)
def test_what_is_not_there_gets_a_sentence(root: Path, name: str, split: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        load_split(name, root, split)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("not json", "should hold lists of"),
        ("[" * 100_000, "should hold lists of"),
        ([1, 2], "has none of the splits"),
        ({}, "has none of the splits"),
        ({"train": [["a.png", 0]]}, "should hold lists of"),
        ({"train": 7}, "should hold lists of"),
        ({"train": [["a", 0, "cup"], ["b", 0, "crab"]]}, "calls class 0 both 'cup' and 'crab'"),
        ({"train": [["a", 0, "cup"], ["b", 1, "cup"]]}, "two classes the same name"),
        ({"train": [["../../secret.png", 0, "cup"]]}, "points outside its folder"),
        ({"train": [["/etc/passwd", 0, "cup"]]}, "points outside its folder"),
    ],
)
def test_a_malformed_split_file_gets_a_sentence(root: Path, content: object, words: str) -> None:
    write(root, content)
    with pytest.raises(DataError, match=words):
        load_split("caltech101", root, "train")


def test_a_data_folder_that_is_not_there_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"The data folder .* does not exist"):
        present(tmp_path / "gone")
