"""What counts as a class and as a picture: links, splits, and what systems leave behind."""

from pathlib import Path

import pytest

from rita_demo.data.datasets import dataset_status, load_split, read_dataset
from rita_demo.data.folders import Skip, fault_of_name, is_leftover, pictures_below
from tests.data.test_datasets import make_file, status

_FOLDERS = ".ipynb_checkpoints __MACOSX @eaDir #recycle .Trash-1000 .git __pycache__ lost+found $RECYCLE.BIN"
_FILES = """._1.png .#1.png ~$1.png 1.png~ #1.png# 1.png.part 1.png.bak Thumbs.db thumbs.DB Desktop.ini .DS_Store
.hidden.png 1.png:Zone.Identifier"""
LEFTOVER_FOLDERS, LEFTOVER_FILES = _FOLDERS.split(), _FILES.split()
_NO_LEFTOVERS = "cup lost desktop thumbs x~y $100 @home #1 MacOSX git"  # they only resemble those of systems


def make_set(folder: Path) -> None:
    """Two classes with two pictures each."""
    for name in ("crab/1", "crab/2", "cup/1", "cup/2"):
        make_file(folder / f"{name}.png")


def leave_behind(folder: Path, class_folders: list[Path]) -> int:
    """Everything that systems and programs leave, with pictures in the folders; how many files and folders these are."""
    for name in LEFTOVER_FOLDERS:
        for place in (folder, *class_folders):
            make_file(place / name / "1.png")
    for name in LEFTOVER_FILES:
        for place in (folder, *class_folders):
            make_file(place / name)
    return (1 + len(class_folders)) * (len(LEFTOVER_FOLDERS) + len(LEFTOVER_FILES))


@pytest.mark.parametrize("splits", [[], ["train", "val"]])
def test_what_systems_leave_behind_is_neither_class_nor_picture(tmp_path: Path, splits: list[str]) -> None:
    places = [tmp_path / "mine" / split for split in splits] or [tmp_path / "mine"]
    for place in places:
        make_set(place)
    before = {split: load_split("mine", tmp_path, split) for split in splits or ["all"]}
    count = sum(leave_behind(place, [place / "crab", place / "cup"]) for place in places)
    assert {split: load_split("mine", tmp_path, split) for split in splits or ["all"]} == before
    assert [name for reason, name in read_dataset("mine", tmp_path).skipped if reason is not Skip.LEFTOVER] == []
    skipped = status("mine", tmp_path).skipped
    assert skipped.startswith(f"Hidden or left behind by a program, skipped ({count}): ")
    assert skipped.endswith(f" and {count - 3} more.")
    for name in LEFTOVER_FOLDERS:
        make_set(tmp_path / name)
    assert [row.name for row in dataset_status(tmp_path) if row.title == "a folder per class"] == ["mine"]
    assert not any(map(is_leftover, _NO_LEFTOVERS.split()))


#: Places of sets of two classes, further files, the splits that are read, and what is said to be skipped.
SPLITS: dict[str, tuple[str, str, str, str]] = {
    **{
        f"{split} is {folder}": (folder, "", f"{split} (folder {folder})", "")
        for split, folder in (("train", "TRAINING"), ("val", "valid"), ("test", "Test"))
    },
    "others beside them": (
        "train test",
        "extra/cup/1.png val/1.png test/cup/notes.txt README.md",
        "train, test",
        "No picture by its name, skipped (2): README.md, test/cup/notes.txt. A folder beside the splits, skipped (1): "
        "extra. Called like a split, without pictures of the classes (1): val.",
    ),
}


@pytest.mark.parametrize("kind", SPLITS)
def test_splits_are_found_by_their_usual_names_in_any_capitals(tmp_path: Path, kind: str) -> None:
    sets, files, splits, skipped = SPLITS[kind]
    for folder in sets.split(" "):
        make_set(tmp_path / "ours" / folder)
    for file in files.split():
        make_file(tmp_path / "ours" / file)
    row = status("ours", tmp_path)
    assert (row.sentence, row.skipped) == (f"2 classes; splits: {splits}.", skipped)
    for split in [name.partition(" ")[0] for name in splits.split(", ")]:
        assert len(load_split("ours", tmp_path, split)) == 4


@pytest.mark.parametrize("linked", ["data", "data/mine", "data/mine/cup", "data/mine/cup/1.png"])
def test_a_link_is_what_it_leads_to(tmp_path: Path, linked: str) -> None:
    make_set(tmp_path / "data/mine")
    (tmp_path / linked).rename(tmp_path / "store")
    (tmp_path / "chain").symlink_to("store")
    (tmp_path / linked).symlink_to(tmp_path / "chain")
    names = [
        path.relative_to(tmp_path / "data/mine").as_posix()
        for path, _, _ in load_split("mine", tmp_path / "data", "all")
    ]
    assert names == ["crab/1.png", "crab/2.png", "cup/1.png", "cup/2.png"]
    row = status("mine", tmp_path / "data")
    assert (row.sentence, row.skipped) == ("2 classes; splits: all.", "")


def test_loops_of_links_end(tmp_path: Path) -> None:
    make_set(tmp_path / "mine")
    (tmp_path / "mine/cup/up").symlink_to("..")
    (tmp_path / "mine/around").symlink_to("around")
    (tmp_path / "mine/all").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(".")
    assert len(load_split("mine", tmp_path, "all")) == 4
    assert [row.name for row in dataset_status(tmp_path) if row.title == "a folder per class"] == ["mine"]
    assert "A link that leads nowhere, skipped (1): around." in status("mine", tmp_path).skipped
    assert len(pictures_below(tmp_path)) == 4
    assert pictures_below(tmp_path / "gone") == []


NAMES = {
    "": ["cup/1.png", "a b/ä.png", "x:1.png", "...", "a/..b/c", "./cup/1.png", ""],
    "points outside its folder": [
        *("..", "../x", "a/../../b", "a/..", "/etc/passwd", "//x", "..\\x", "a\\..\\..\\b", "\\x", "a\0b", "\0")
    ],
    "names a picture that no disk can hold": ["a" * 256, "ä" * 128, "a/" * 1001],
}


@pytest.mark.parametrize(("fault", "name"), [(fault, name) for fault, names in NAMES.items() for name in names])
def test_a_name_that_leads_elsewhere_or_is_too_long_is_known_by_its_letters(fault: str, name: str) -> None:
    assert fault_of_name(name) == fault
