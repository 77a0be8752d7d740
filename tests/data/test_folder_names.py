"""What the classes of a folder per class are called where the folders have numbers."""

import json
import re
from pathlib import Path

import pytest

from rita_demo.data import imagenet_names
from rita_demo.data.datasets import load_split, read_dataset
from rita_demo.evaluation.page.streams import DataFolders
from rita_demo.evaluation.pictures import PictureSet, list_pictures
from rita_demo.records.errors import DataError
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


def test_a_wordnet_number_gets_its_name_in_imagenet(tmp_path: Path) -> None:
    make_classes(tmp_path / "mine", "n02102040", "n01440764", "n04355933", "n00004475", "n99999999", "crab")
    found = listed(tmp_path)
    assert found.names == (
        *("crab", "organism", "tench", "English Springer Spaniel", "sunglass", "n99999999"),
    )  # "organism" is one of ImageNet-21k
    assert found.names_warning.startswith(
        "4 class folders are WordNet numbers and get their names in ImageNet: n00004475 is organism, "
        "n01440764 is tench, n02102040 is English Springer Spaniel and 1 more. "
        "1 class folder has a number and no name: n99999999."
    )
    assert found.names_warning in status("mine", tmp_path).sentence


def test_the_names_are_clips_and_two_numbers_of_one_name_need_other_names(tmp_path: Path) -> None:
    table, clip = imagenet_names.wordnet_names(), imagenet_names.imagenet_names()
    assert set(clip) <= set(table.values())
    assert (table["n04008634"], table["n15075141"]) == (clip[744], clip[999])
    first = dict[str, str]()
    number = next(n for n, name in table.items() if first.setdefault(name.casefold(), n) != n)
    make_classes(tmp_path / "mine", number, first[table[number].casefold()])
    with pytest.raises(DataError, match="'mine', with ImageNet's names, gives two classes the same name") as refused:
        listed(tmp_path)
    assert refused.value.hint == "Write other names into a file mine/classnames.txt, with a line per class folder."


def test_wordnet_numbers_stay_numbers_where_no_list_of_them_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_classes(tmp_path / "mine", "n02102040", "n01440764")
    imagenet_names.wordnet_names.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(imagenet_names, "_package", lambda _: tmp_path)
        found = listed(tmp_path)
    imagenet_names.wordnet_names.cache_clear()
    assert found.names == ("n01440764", "n02102040")
    assert "2 class folders have a number and no name: n01440764, n02102040." in found.names_warning


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (("001.Black_footed_Albatross", "002.Laysan_Albatross"), ("Black footed Albatross", "Laysan Albatross")),
        (("120.Fox_Sparrow", "7.Wren"), ("Fox Sparrow", "Wren")),
        (("01_cup", "07_crab", "12_owl"), ("cup", "crab", "owl")),
        (("1 - cup", "2 - crab"), ("cup", "crab")),
        (("0_cup", "1_crab"), ("cup", "crab")),
    ],
)
def test_a_number_that_counts_the_classes_is_no_part_of_the_name(
    tmp_path: Path, folders: tuple[str, ...], names: tuple[str, ...]
) -> None:
    make_classes(tmp_path / "mine", *folders)
    found = listed(tmp_path)
    assert found.names == names
    origin = "The number before the name of every class folder is left out: "
    assert found.names_warning == f"{origin}{', '.join(f'{c} is {name}' for c, name in zip(folders, names))}."
    assert found.names_warning in status("mine", tmp_path).sentence
    assert found.notes == ()


@pytest.mark.parametrize(
    "folders",
    [
        ("10_cents", "1_cent", "5_cents"),
        ("0-2 years", "3-5 years"),
        ("01_cup", "crab"),
        ("2012 Audi", "2013 Tesla"),
        ("3d printer", "cup"),
        ("3.5 inch", "5.25 inch"),
    ],
)
def test_a_number_that_counts_no_classes_stays_in_the_name(tmp_path: Path, folders: tuple[str, ...]) -> None:
    make_classes(tmp_path / "mine", *folders)
    found = listed(tmp_path)
    assert found.names == tuple(folder.replace("_", " ") for folder in folders)
    assert (found.notes, found.names_warning) == ((), "")


def test_numbers_stay_where_two_names_would_be_equal_without_them_and_this_is_said(tmp_path: Path) -> None:
    make_classes(tmp_path / "mine", "001.cup", "002.Cup", "003.crab")
    found = listed(tmp_path)
    assert found.names == ("001.cup", "002.Cup", "003.crab")
    said = "The number before the name of every class folder stays: without it two names are equal."
    assert found.names_warning == said


@pytest.mark.parametrize(
    ("folders", "nameless"),
    [
        (("1", "10", "2"), "3 class folders have a number and no name: 1, 10, 2."),
        (("000", "001"), "2 class folders have a number and no name: 000, 001."),
        (("class_3", "cup"), "1 class folder has a number and no name: class_3."),
        (("Class 1", "Class 2"), "2 class folders have a number and no name: Class 1, Class 2."),
        (("c0", "c1", "c2"), "3 class folders differ by a number alone: c0, c1, c2."),
        (("7", "crab"), "1 class folder has a number and no name: 7."),
        (("crab", "cup"), ""),
        (("A320", "F-16"), ""),
        (("covid19", "normal"), ""),
    ],
)
def test_class_folders_that_are_no_names_are_named(tmp_path: Path, folders: tuple[str, ...], nameless: str) -> None:
    make_classes(tmp_path / "mine", *folders)
    found = listed(tmp_path)
    assert found.names == tuple(folder.replace("_", " ") for folder in folders)
    assert found.names_warning.startswith(nameless)
    assert bool(found.names_warning) == bool(nameless)
    if nameless:
        first = re.findall(r": ([^,.]+)", nameless)[0]
        assert f"a file mine/classnames.txt, with a line per class folder: {first} NAME." in found.names_warning
    assert found.names_warning in status("mine", tmp_path).sentence
    assert found.names_warning in dict(map(reversed, dataset_choices(DataFolders(tmp_path))))["mine"]  # type: ignore[arg-type]


FILES = {
    "cat_to_name.json": json.dumps(FLOWERS | {"3": "owl"}),
    "labels.json": json.dumps(FLOWERS),
    "classnames.txt": "1 pink primrose\n2 cup\n3 owl\n10 globe thistle\n",
    "ClassNames.txt": "number,name\n10,globe thistle\n1,pink primrose\n2,cup\n",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("folders", [("1", "10", "2"), ("001", "010", "002"), ("class_1", "class_10", "class_2")])
def test_a_file_of_names_in_the_folder_counts(
    tmp_path: Path, file: str, folders: tuple[str, ...], encoding: str
) -> None:
    make_classes(tmp_path / "mine", *folders)
    (tmp_path / "mine" / file).write_bytes(FILES[file].replace("\n", "\r\n").encode(encoding))
    found = listed(tmp_path)
    assert dict(zip(sorted(folders), found.names)) == dict(zip(folders, NAMES))
    assert found.notes == (f"mine: The class names are those of mine/{file}.",), "and it is not said to be skipped"
    assert found.names_warning == ""
    assert f"are those of mine/{file}." in status("mine", tmp_path).sentence
    assert status("mine", tmp_path).skipped == ""


def test_a_name_per_line_is_in_the_order_of_the_folders(tmp_path: Path) -> None:
    make_classes(tmp_path / "mine", "00", "01", "02")
    (tmp_path / "mine/classnames.txt").write_text("red fox\n\nsea_horse\ncup\n")
    assert listed(tmp_path).names == ("red fox", "sea horse", "cup")


def test_a_list_of_the_folders_is_no_list_of_names(tmp_path: Path) -> None:
    make_classes(tmp_path / "mine", "n02102040", "n01440764")
    (tmp_path / "mine/classnames.txt").write_text("n02102040\nn01440764\n")
    assert listed(tmp_path).names == ("tench", "English Springer Spaniel")


@pytest.mark.parametrize("file", ["cat_to_name.json", "classnames.txt"])
def test_a_file_of_names_beside_the_folder_counts_where_it_names_exactly_these_classes(
    tmp_path: Path, file: str
) -> None:
    make_classes(tmp_path / "mine", *FLOWERS)
    names = FLOWERS | {"3": "owl"}
    for _ in range(2):
        lines = "".join(f"{c} {name}\n" for c, name in names.items())
        (tmp_path / file).write_text(json.dumps(names) if file.endswith("json") else lines)
        if "3" in names:
            assert listed(tmp_path).names == ("1", "10", "2")
            del names["3"]
    found = listed(tmp_path)
    assert found.names == NAMES
    assert found.notes == (f"mine: The class names are those of {file} beside the folder.",)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("classnames.txt", "1 rose\n10 cup\n", "classnames.txt has names for 2 of 3 class folders, and none for 2."),
        ("classnames.txt", "rose\ncup\n", "classnames.txt has 2 lines for 3 class folders."),
        ("classnames.txt", "rose\ncup\nowl\n", "a name per line, and the class folders have two orders"),
        ("classnames.txt", "1 rose\n10 cup\n2 Rose\n", "classnames.txt gives two classes the same name: 'rose'."),
        ("classnames.txt", "1 rose\n10 cup\n2 owl\n1 fox\n", "has two names for the class folder '1'"),
        ("classnames.txt", "", "has 0 lines for 3 class folders"),
        ("classnames.txt", b"\xff\xfe\x00", "is no text that can be read"),
        ("cat_to_name.json", '{"1": "rose", "2": "cup"}', "has names for 2 of 3 class folders, and none for 10."),
        ("cat_to_name.json", '{"1": "a", "2": "b", "10": "A"}', "json gives two classes the same name: 'a'."),
    ],
)
def test_a_file_that_lacks_names_or_has_two_meanings_is_refused_and_listed(
    tmp_path: Path, file: str, content: str | bytes, words: str
) -> None:
    make_classes(tmp_path / "mine", *FLOWERS)
    (tmp_path / "mine" / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=re.escape(words)) as refused:
        load_split("mine", tmp_path, "all")
    assert refused.value.hint
    row = status("mine", tmp_path)
    assert not row.usable
    assert words in row.sentence


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("labels.json", '{"1": "train", "10": "test", "2": "train"}'),
        ("labels.json", '{"1": "rose"}'),
        ("names.json", '["rose", "cup", "owl"]'),
        ("names.json", '{"1": 3, "10": 4, "2": 5}'),
        ("names.json", '{"a": "rose", "b": "cup"}'),
        ("names.json", "{"),
        ("names.json", "[" * 100000),
        ("info.json", json.dumps(FLOWERS)),
        ("._classnames.txt", "rose"),
    ],
)
def test_a_file_on_something_else_is_skipped_and_said_to_be(tmp_path: Path, file: str, content: str) -> None:
    make_classes(tmp_path / "mine", *FLOWERS)
    (tmp_path / "mine" / file).write_text(content)
    found = listed(tmp_path)
    assert found.names == ("1", "10", "2")
    assert found.names_warning
    assert file in found.skipped


def test_folders_of_several_words_are_found_at_the_begin_of_a_line(tmp_path: Path) -> None:
    make_classes(tmp_path / "mine", "class", "class 3", "class 3 b")
    (tmp_path / "mine/classnames.txt").write_text("class 3 b: red fox\nclass 3\tcup\nclass owl, white\n")
    assert listed(tmp_path).names == ("owl, white", "cup", "red fox")


def test_splits_with_numbers_share_the_names_of_all_their_folders(tmp_path: Path) -> None:
    make_classes(tmp_path / "mine/Train", "1", "10", "2")
    make_classes(tmp_path / "mine/valid", "10")
    (tmp_path / "mine/cat_to_name.json").write_text(json.dumps(FLOWERS))
    assert read_dataset("mine", tmp_path).names == NAMES
    found = listed(tmp_path, "val")
    assert found.names == NAMES
    assert [(item.id, item.label) for item in found.items] == [("valid/10/1.png", 1)]
