"""What the classes of a folder per class are called where the folders have numbers. Files that are refused:
test_bad_inputs.py."""

import json
from pathlib import Path

import pytest

from rita_demo.data.datasets import read_dataset
from rita_demo.evaluation.page.streams import DataFolders
from rita_demo.evaluation.pictures import PictureSet, list_pictures
from rita_demo.ui.memory.streaming import dataset_choices
from tests.data.test_datasets import make_file, status

FLOWERS = {"1": "pink primrose", "10": "globe thistle", "2": "cup"}
NAMES = ("pink primrose", "globe thistle", "cup")  # in the order of the folders


def make_classes(folder: Path, *classes: str) -> None:
    """A picture per class folder."""
    for name in classes:
        make_file(folder / name / "1.png")


def listed(root: Path, split: str = "all") -> PictureSet:
    return list_pictures("mine", root, split, allow_partial=False)


LEFT_OUT = "The number before the name of every class folder is left out: "
STAYS = "The number before the name of every class folder stays: without it two names are equal."
NO_NAME = "class folders have a number and no name"
#: Class folders, their names where these are others, and the begin of the warning, "" for none.
FOLDERS: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
    # a number that counts the classes is no part of the name
    (
        ("120.Fox_Sparrow", "7.Wren"),
        ("Fox Sparrow", "Wren"),
        f"{LEFT_OUT}120.Fox_Sparrow is Fox Sparrow, 7.Wren is Wren.",
    ),
    (("01_cup", "07_crab", "12_owl"), ("cup", "crab", "owl"), LEFT_OUT),
    # any other is
    (("10_cents", "1_cent", "5_cents"), ("10 cents", "1 cent", "5 cents"), ""),
    (("2012 Audi", "2013 Tesla"), ("2012 Audi", "2013 Tesla"), ""),
    (("001.cup", "002.Cup", "003.crab"), ("001.cup", "002.Cup", "003.crab"), STAYS),
    # some are no names at all
    (("1", "10", "2"), ("1", "10", "2"), f"3 {NO_NAME}: 1, 10, 2."),
    (("class_3", "cup"), ("class 3", "cup"), "1 class folder has a number and no name: class_3."),
    (("c0", "c1", "c2"), ("c0", "c1", "c2"), "3 class folders differ by a number alone: c0, c1, c2."),
    (("covid19", "normal"), ("covid19", "normal"), ""),
    # WordNet numbers have names in ImageNet; "organism" is one of ImageNet-21k
    (
        ("crab", "n00004475", "n01440764", "n02102040", "n04355933", "n99999999"),
        ("crab", "organism", "tench", "English Springer Spaniel", "sunglass", "n99999999"),
        "4 class folders are WordNet numbers and get their names in ImageNet: n00004475 is organism, n01440764 is tench, "
        "n02102040 is English Springer Spaniel and 1 more. 1 class folder has a number and no name: n99999999.",
    ),
]


@pytest.mark.parametrize(("folders", "names", "warning"), FOLDERS, ids=lambda row: " ".join(row)[:30])
def test_a_class_folder_has_its_name_and_what_has_none_is_said(tmp_path, folders, names, warning) -> None:
    make_classes(tmp_path / "mine", *folders)
    found = listed(tmp_path)
    assert found.names == names
    assert found.names_warning.startswith(warning)
    assert bool(found.names_warning) == bool(warning)
    if "no name" in warning or "alone" in warning:
        (first,) = [folder for folder in folders if f": {folder}" in warning][-1:]
        assert f"a file mine/classnames.txt, with a line per class folder: {first} NAME." in found.names_warning
    assert found.names_warning in status("mine", tmp_path).sentence
    assert found.names_warning in dict(map(reversed, dataset_choices(DataFolders(tmp_path))))["mine"]  # type: ignore[arg-type]


FILES = {
    "cat_to_name.json": json.dumps(FLOWERS | {"3": "owl"}),
    "labels.json": json.dumps(FLOWERS),
    "classnames.txt": "1 pink primrose\n2 cup\n3 owl\n10 globe thistle\n",
    "ClassNames.txt": "number,name\n10,globe thistle\n1,pink primrose\n2,cup\n",
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("folders", [("1", "10", "2"), ("001", "010", "002"), ("class_1", "class_10", "class_2")])
def test_a_file_of_names_in_the_folder_counts(tmp_path: Path, file: str, folders: tuple[str, ...]) -> None:
    make_classes(tmp_path / "mine", *folders)
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "mine" / file).write_bytes(FILES[file].replace("\n", "\r\n").encode(encoding))
        found = listed(tmp_path)
        assert dict(zip(sorted(folders), found.names)) == dict(zip(folders, NAMES))
        assert found.notes == (f"mine: The class names are those of mine/{file}.",), "and it is not said to be skipped"
        assert found.names_warning == ""
    assert f"are those of mine/{file}." in status("mine", tmp_path).sentence
    assert status("mine", tmp_path).skipped == ""


def test_splits_with_numbers_share_the_names_of_all_their_folders(tmp_path: Path) -> None:
    make_classes(tmp_path / "mine/Train", "1", "10", "2")
    make_classes(tmp_path / "mine/valid", "10")
    (tmp_path / "mine/cat_to_name.json").write_text(json.dumps(FLOWERS))
    assert read_dataset("mine", tmp_path).names == NAMES
    found = listed(tmp_path, "val")
    assert found.names == NAMES
    assert [(item.id, item.label) for item in found.items] == [("valid/10/1.png", 1)]
