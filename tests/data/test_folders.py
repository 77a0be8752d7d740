"""What counts as a class and as a picture: links, what systems leave behind, and every suffix that is opened."""

import io
import os
import re
from pathlib import Path

import pytest
from PIL import Image

from rita_demo.cli import main as cli
from rita_demo.data.datasets import dataset_status, load_split, read_dataset
from rita_demo.data.folders import (
    FolderContent,
    Skip,
    fault_of_name,
    is_leftover,
    picture_suffixes,
    pictures_below,
    read_folder,
    skipped_text,
)
from rita_demo.data.pictures import open_picture
from rita_demo.evaluation.pictures import list_pictures
from rita_demo.records.errors import DataError, PictureError
from tests.data.hostile import photo
from tests.data.test_datasets import make_dataset, make_file, status
from tests.live_server import ROOT

LEFTOVER_FOLDERS = (
    *(".ipynb_checkpoints", "__MACOSX", "@eaDir", "#recycle", ".Trashes", ".Trash-1000", ".git", ".svn", "__pycache__"),
    *("lost+found", "$RECYCLE.BIN", "System Volume Information", ".AppleDouble", ".thumbnails", ".fseventsd"),
)
LEFTOVER_FILES = (
    *(
        "._1.png",
        ".#1.png",
        "~$1.png",
        ".1.png.swp",
        "1.png~",
        "#1.png#",
        "1.png.part",
        "1.png.crdownload",
        "1.png.bak",
    ),
    *("Thumbs.db", "thumbs.DB", "ehthumbs.db", "desktop.ini", "Desktop.ini", ".DS_Store", "Icon\r", ".nfs0000000001"),
    *(".directory", ".hidden.png", "1.png:Zone.Identifier", ".~lock.1.png#"),
)


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
    assert skipped.startswith(f"{count} files or folders are hidden or left behind by a program and are skipped: ")
    assert skipped.endswith(f" and {count - 3} more.")


@pytest.mark.parametrize("name", ["imagenet", "imagenet_r", "imagenet_v2"])
def test_what_systems_leave_behind_is_nothing_in_imagenets_layout(tmp_path: Path, name: str) -> None:
    make_dataset(tmp_path, name)
    items = load_split(name, tmp_path, "test")
    leave_behind(items[0][0].parents[1], [items[0][0].parent])
    assert load_split(name, tmp_path, "test") == items
    assert "hidden or left behind by a program" in status(name, tmp_path).skipped
    assert "1 file is no picture by its name and is skipped" in status(name, tmp_path).skipped  # README.txt


def test_what_systems_leave_behind_changes_no_random_split(tmp_path: Path) -> None:
    for name in ("dotted", "striped"):
        for number in range(10):
            make_file(tmp_path / f"dtd/images/{name}/{number}.png")
    before = [load_split("dtd", tmp_path, split) for split in ("train", "val", "test")]
    leave_behind(tmp_path / "dtd/images", [tmp_path / "dtd/images/dotted"])
    assert [load_split("dtd", tmp_path, split) for split in ("train", "val", "test")] == before
    assert "hidden or left behind by a program" in status("dtd", tmp_path).skipped


def test_what_systems_leave_beside_datasets_is_no_dataset(tmp_path: Path) -> None:
    make_set(tmp_path / "mine")
    for name in LEFTOVER_FOLDERS:
        make_set(tmp_path / name)
    assert [row.name for row in dataset_status(tmp_path) if row.title == "a folder per class"] == ["mine"]


@pytest.mark.parametrize(
    "name", ["cup", "lost", "desktop", "thumbs", "x~y", "$100", "@home", "#1", "_", "MacOSX", "git"]
)
def test_a_name_that_only_resembles_one_of_a_system_is_a_class(tmp_path: Path, name: str) -> None:
    assert not is_leftover(name)
    make_file(tmp_path / "mine" / name / "1.png")
    make_file(tmp_path / "mine/zebra/1.png")
    assert {label for _, _, label in load_split("mine", tmp_path, "all")} == {name.replace("_", " "), "zebra"}


def test_every_suffix_that_is_opened_counts_and_no_other(tmp_path: Path) -> None:
    """What the decoder opens of all that the library can write, by the suffixes that it registers."""
    opened, written = set[str](), set[str]()
    for suffix, kind in Image.registered_extensions().items():
        picture, buffer = Image.fromarray(photo(40, 40)), io.BytesIO()
        picture = picture.convert({".pbm": "1", ".pfm": "F"}.get(suffix, "RGB"))
        if kind not in Image.SAVE:
            continue
        try:
            picture.save(buffer, kind)
        except (OSError, ValueError, RuntimeError):  # a format that needs another mode or program
            continue
        written.add(suffix)
        try:
            open_picture(buffer.getvalue())
        except PictureError:
            continue
        opened.add(suffix)
    assert opened == picture_suffixes()
    assert written > opened
    about = (
        (ROOT / "docs/command-line.md").read_text("utf-8").partition("**A picture** is")[2].partition(" A class is")[0]
    )
    assert set(re.findall(r"\.[a-z]+", about)) == opened, "the document lists them"
    wanted = {
        ".jpg",
        ".jpeg",
        ".jpe",
        ".jfif",
        ".png",
        ".tif",
        ".tiff",
        ".webp",
        ".gif",
        ".bmp",
        ".avif",
        ".ppm",
        ".mpo",
    }
    assert wanted <= opened
    for number, suffix in enumerate(sorted(opened)):
        make_file(tmp_path / "mine/cup" / f"{number}{suffix}")
        make_file(tmp_path / "mine/anchor" / f"{number}{suffix.upper()}")
    assert len(load_split("mine", tmp_path, "all")) == 2 * len(opened)
    assert status("mine", tmp_path).skipped == ""


def test_everything_else_is_counted_and_named_once_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_set(tmp_path / "mine")
    for name in ("notes.txt", "cup/a.heic", "cup/b.mp4", "cup/c.raw", "1.png", "cup/more/1.png", ".DS_Store"):
        make_file(tmp_path / "mine" / name)
    (tmp_path / "mine/anchor").mkdir()
    (tmp_path / "mine/gone").symlink_to("nowhere")
    (tmp_path / "mine/cup/folder.png").mkdir()
    assert cli.main(["datasets", "--data-root", str(tmp_path)]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if " mine " in line)
    assert (
        "2 classes; splits: all. 1 file or folder is hidden or left behind by a program and is skipped: .DS_Store."
        in line
    )
    for sentence in (
        "4 files are no pictures by their names and are skipped: notes.txt, cup/a.heic, cup/b.mp4 and 1 more.",
        "1 link leads nowhere and is skipped: gone.",
        "1 folder holds no pictures and is no class: anchor.",
        "2 folders lie inside a class's folder and are skipped: cup/folder.png, cup/more.",
        "1 picture lies in no class's folder and is skipped: 1.png.",
    ):
        assert line.count(sentence) == 1, sentence
    assert len(load_split("mine", tmp_path, "all")) == 4


def test_what_lies_beside_splits_is_named(tmp_path: Path) -> None:
    for split in ("train", "test"):
        make_set(tmp_path / "ours" / split)
    make_file(tmp_path / "ours/extra/cup/1.png")
    make_file(tmp_path / "ours/val/1.png")
    make_file(tmp_path / "ours/test/cup/notes.txt")
    make_file(tmp_path / "ours/README.md")
    row = status("ours", tmp_path)
    assert row.sentence == "2 classes; splits: train, test."
    assert row.skipped == (
        "2 files are no pictures by their names and are skipped: README.md, test/cup/notes.txt. "
        "1 folder lies beside the splits and is skipped: extra. "
        "1 folder is called like a split and holds no pictures of the classes: val."
    )


@pytest.mark.parametrize(
    ("folder", "split"),
    [
        *(("Train", "train"), ("TRAINING", "train"), ("val", "val"), ("Val", "val"), ("valid", "val")),
        *(("Validation", "val"), ("Test", "test"), ("testing", "test"), ("Testing", "test")),
    ],
)
def test_usual_names_of_a_split_are_understood_in_any_capitals(tmp_path: Path, folder: str, split: str) -> None:
    make_set(tmp_path / "ours" / folder)
    named = split if folder == split else f"{split} (folder {folder})"
    assert status("ours", tmp_path).sentence == f"2 classes; splits: {named}."
    places = [path.relative_to(tmp_path / "ours").parts[0] for path, _, _ in load_split("ours", tmp_path, split)]
    assert places == [folder] * 4
    with pytest.raises(DataError, match=re.escape(f"'ours' has the splits {named}; got 'all'.")) as refused:
        load_split("ours", tmp_path, "all")
    assert refused.value.hint == (
        "Splits are folders named train, training, val, valid, validation, test, testing, in any capitals."
    )


def test_of_two_folders_for_one_split_one_counts_and_the_other_is_named(tmp_path: Path) -> None:
    for folder in ("Val", "val", "valid", "train"):
        make_set(tmp_path / "ours" / folder)
    assert status("ours", tmp_path).sentence == "2 classes; splits: train, val."
    assert status("ours", tmp_path).skipped == "2 folders lie beside the splits and are skipped: Val, valid."


def test_a_split_with_one_of_the_classes_is_asked_among_all_of_them(tmp_path: Path) -> None:
    make_set(tmp_path / "ours/train")
    make_file(tmp_path / "ours/test/cup/1.png")
    assert status("ours", tmp_path).sentence == "2 classes; splits: train, test."
    for asked in ("ours", "ours:present"):
        found = list_pictures(asked, tmp_path, "test", allow_partial=False)
        assert found.names == ("crab", "cup")
        assert [(item.id, item.label) for item in found.items] == [("test/cup/1.png", 1)]


def test_each_split_may_have_a_class_of_its_own(tmp_path: Path) -> None:
    make_file(tmp_path / "ours/train/crab/1.png")
    make_file(tmp_path / "ours/test/cup/1.png")
    assert [row[1:] for row in load_split("ours", tmp_path, "test")] == [(1, "cup")]


@pytest.mark.parametrize("inside", ["unknown/1.png", "1.png", "empty"])
def test_a_test_folder_without_labels_adds_no_class_and_is_no_split(tmp_path: Path, inside: str) -> None:
    make_set(tmp_path / "ours/train")
    make_file(tmp_path / "ours/test" / inside) if inside != "empty" else (tmp_path / "ours/test").mkdir()
    assert status("ours", tmp_path).sentence == "2 classes; splits: train."
    sentence = "1 folder is called like a split and holds no pictures of the classes: test."
    assert status("ours", tmp_path).skipped == sentence
    with pytest.raises(DataError, match="has the splits train; got 'test'") as refused:
        load_split("ours", tmp_path, "test")
    assert refused.value.hint.startswith(sentence)


def test_a_class_that_is_called_like_a_split_is_a_class(tmp_path: Path) -> None:
    for name in ("train/1.png", "train/more/1.png", "bus/1.png"):
        make_file(tmp_path / "mine" / name)
    assert [name for _, _, name in load_split("mine", tmp_path, "all")] == ["bus", "train"]
    assert status("mine", tmp_path).skipped == "1 folder lies inside a class's folder and is skipped: train/more."


@pytest.mark.parametrize("places", [("mine",), ("mine/train", "mine/test")])
def test_one_class_alone_is_refused_and_named(tmp_path: Path, places: tuple[str, ...]) -> None:
    for place in places:
        make_file(tmp_path / place / "cup/1.png")
    with pytest.raises(DataError, match="and at least two of them; it holds one: 'cup'") as refused:
        load_split("mine", tmp_path, "all")
    assert refused.value.hint == ""
    assert "mine" not in {row.name for row in dataset_status(tmp_path)}


def test_classes_that_lie_deeper_are_said_to(tmp_path: Path) -> None:
    make_set(tmp_path / "mine/images")
    with pytest.raises(DataError) as refused:
        load_split("mine", tmp_path, "all")
    assert refused.value.hint == "1 folder holds folders and no pictures of its own and is no class: images."


def test_a_folder_of_one_class_says_what_was_skipped(tmp_path: Path) -> None:
    for name in ("cup/1.png", "crab/1.heic", ".ipynb_checkpoints/1.png"):
        make_file(tmp_path / "mine" / name)
    with pytest.raises(DataError, match="a folder of pictures per class, and at least two") as refused:
        load_split("mine", tmp_path, "all")
    assert "1 file is no picture by its name and is skipped: crab/1.heic." in refused.value.hint
    assert "1 folder holds no pictures and is no class: crab." in refused.value.hint


@pytest.mark.parametrize("pair", [("Cup", "cup"), ("sea_horse", "sea horse")])
def test_two_folders_with_one_class_name_are_refused(tmp_path: Path, pair: tuple[str, str]) -> None:
    for name in (*pair, "crab"):
        make_file(tmp_path / "mine" / name / "1.png")
    with pytest.raises(DataError, match="'mine' gives two classes the same name"):
        load_split("mine", tmp_path, "all")


def test_a_name_that_is_no_text_is_skipped_and_named(tmp_path: Path) -> None:
    make_set(tmp_path / "mine")
    for name in (b"mine/cup/\xff.png", b"mine/\xfe/1.png"):
        make_file(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)))
    assert len(load_split("mine", tmp_path, "all")) == 4
    skipped = status("mine", tmp_path).skipped
    assert "2 names are no text in UTF-8 and are skipped: " in skipped
    skipped.encode()


# --- links
def linked_set(tmp_path: Path, what: str) -> Path:
    """A data folder with the dataset ``mine``, ``what`` of which is a link; its pictures are those of ``make_set``."""
    store, root = tmp_path / "store", tmp_path / "data"
    make_set(store / "mine")
    root.mkdir()
    if what == "root":
        root.rmdir()
        root.symlink_to(store)
    elif what == "set":
        (root / "mine").symlink_to(store / "mine")
    elif what == "chain":
        (tmp_path / "one").symlink_to(store)
        (tmp_path / "two").symlink_to("one")
        (root / "mine").symlink_to(Path("..", "two", "mine"))
    elif what == "class":
        make_file(root / "mine/crab/1.png")
        make_file(root / "mine/crab/2.png")
        (root / "mine/cup").symlink_to(store / "mine/cup")
    else:
        for name in ("crab/1", "crab/2", "cup/1", "cup/2"):
            (root / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "mine" / f"{name}.png").symlink_to(store / "mine" / f"{name}.png")
    return root


LINKED = ("root", "set", "chain", "class", "files")


@pytest.mark.parametrize("what", LINKED)
def test_a_linked_folder_is_the_folder_that_it_leads_to(tmp_path: Path, what: str) -> None:
    root = linked_set(tmp_path, what)
    items = load_split("mine", root, "all")
    names = [path.relative_to(root).as_posix() for path, _, _ in items]
    assert names == ["mine/crab/1.png", "mine/crab/2.png", "mine/cup/1.png", "mine/cup/2.png"]
    assert status("mine", root).sentence == "2 classes; splits: all."
    assert status("mine", root).skipped == ""


def test_loops_of_links_end(tmp_path: Path) -> None:
    make_set(tmp_path / "mine")
    (tmp_path / "mine/cup/up").symlink_to("..")
    (tmp_path / "mine/around").symlink_to("around")
    (tmp_path / "mine/all").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(".")
    assert len(load_split("mine", tmp_path, "all")) == 4
    assert [row.name for row in dataset_status(tmp_path) if row.title == "a folder per class"] == ["mine"]
    assert "1 link leads nowhere and is skipped: around." in status("mine", tmp_path).skipped
    assert len(pictures_below(tmp_path)) == 4


def test_pictures_below_a_folder_are_found_behind_links_and_without_leftovers(tmp_path: Path) -> None:
    make_set(tmp_path / "store")
    leave_behind(tmp_path / "store", [tmp_path / "store/cup"])
    (tmp_path / "extra").mkdir()
    for name in ("one", "two"):
        (tmp_path / "extra" / name).symlink_to(tmp_path / "store")
    found = [path.relative_to(tmp_path / "extra").as_posix() for path in pictures_below(tmp_path / "extra")]
    names = ("crab/1.png", "crab/2.png", "cup/1.png", "cup/2.png")
    assert found == [f"{place}/{name}" for place in ("one", "two") for name in names]
    assert pictures_below(tmp_path / "gone") == []


# --- names
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


def test_an_empty_folder_and_nothing_skipped_say_nothing(tmp_path: Path) -> None:
    assert read_folder(tmp_path) == FolderContent()
    assert skipped_text(()) == ""
