"""Chosen pictures: measured alone they get the same rows as in the whole run."""

from pathlib import Path

import pytest

from rita_demo.evaluation.pictures import PictureSet, collect
from rita_demo.evaluation.request import ChosenPictures, read_pictures
from rita_demo.records.errors import DataError
from rita_demo.records.spreadsheet import csv_bytes
from tests.evaluation.conftest import Run, cells, headers

CHOSEN = ("caltech-101/101_ObjectCategories/cup/2.png", "caltech-101/101_ObjectCategories/cat/1.png")
STREAM_FREE = ("--protocols", "off", "--split", "test")
CHANGES = ("split", "place")  # of a row


def rows_of(out: Path) -> list[dict]:
    """The rows of all cells without what may differ, in one order."""
    found = (row for rows in cells(out).values() for row in rows)
    return sorted(({k: v for k, v in row.items() if k not in CHANGES} for row in found), key=str)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, run_evaluate: Run) -> Path:
    """All pictures of the test split, without a memory."""
    return run_evaluate(tmp_path_factory.mktemp("whole") / "runs", *STREAM_FREE)


def test_chosen_pictures_get_the_same_rows_as_in_the_whole_run(whole: Path, run_evaluate: Run, tmp_path: Path) -> None:
    listed = tmp_path / "won.csv"
    listed.write_text("picture,file\n" + "".join(f"{n},{name}\n" for n, name in enumerate((*CHOSEN, CHOSEN[0]))))
    alone = run_evaluate(tmp_path / "runs", *STREAM_FREE, "--pictures", str(listed))
    expected = [row for row in rows_of(whole) if row["picture"] in CHOSEN]
    assert len(expected) == 3 * len(CHOSEN)
    assert rows_of(alone) == expected
    for header in headers(alone):
        assert header.columns["split"] == "test:chosen", "its accuracy is not that of the split"
        assert header.names == ("cat", "dog", "cup")


def chosen_of(names: tuple[str, ...], dataset: str = "textures", root: Path | None = None, **more) -> PictureSet:
    split = "val" if dataset == "textures" else "test"
    chosen = more.pop("chosen", None) or ChosenPictures(names)
    return collect(dataset, root, more.get("split", split), limit=None, allow_partial=True, chosen=chosen)


def test_drawn_textures_are_chosen_by_name_and_others_are_refused() -> None:
    found = chosen_of(("lined/1000005", "dotted/1000007"))
    assert [(found.names[item.label], item.id) for item in found.items] == [
        ("dotted", "dotted/1000007"),
        ("lined", "lined/1000005"),
    ]
    for name in ("lined/7", "lined/1000500", "nothing/1000001", "lined/x", "../lined/1000001", "lined/" + "9" * 30):
        with pytest.raises(DataError, match="1 of 1 chosen pictures are not in textures"):
            chosen_of((name,))


def test_chosen_pictures_can_be_asked_among_fewer_names_but_not_without_their_own(data_root: Path) -> None:
    found = chosen_of((), "caltech101", data_root, chosen=ChosenPictures(CHOSEN, ("cup", "cat")))
    assert {item.id: found.names[item.label] for item in found.items} == dict(zip(CHOSEN, ("cup", "cat")))
    with pytest.raises(DataError, match="Pictures of cat are chosen"):
        chosen_of((), "caltech101", data_root, chosen=ChosenPictures(CHOSEN, ("cup", "dog")))


def test_a_list_of_pictures_is_a_table_or_a_name_per_line(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    for text, names in (
        ("a/1.png\n\nb/2.png\na/1.png\n", ("a/1.png", "b/2.png")),
        ('picture,file\n3,"a, b/1.png"\n', ("a, b/1.png",)),  # of a stream: the number is no name
        ("dataset,picture\ndtd,a/1.png\n", ("a/1.png",)),
    ):
        path.write_text(text)
        assert read_pictures(path) == names
    path.write_bytes(csv_bytes([("picture", "file"), (1, "=own/a.png"), (2, "-/b.png")]))
    assert read_pictures(path) == ("=own/a.png", "-/b.png")
    for text in ("", "\n", "file\n"):
        path.write_text(text)
        with pytest.raises(DataError, match="is empty"):
            read_pictures(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_pictures(tmp_path / "missing.csv")


TABLE = 'dataset,picture,label\nmine,"crab, red/1.png",crab\nmine,cup/2.png,cup\n'
SAVED: dict[str, str] = {
    "semicolons": 'dataset;picture;label\nmine;"crab, red/1.png";crab\nmine;cup/2.png;cup\n',
    "a line that says the separator": 'sep=;\r\npicture;label\r\n"crab, red/1.png";crab\r\ncup/2.png;cup\r\n',
    "blank rows": "\n,,\n" + TABLE + ",,\n",
    "numbers of pandas": "\tfile\n0\tcrab, red/1.png\n1\tcup/2.png\n",
}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("kind", SAVED)
def test_a_list_is_read_as_every_spreadsheet_saves_it(kind: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_bytes(SAVED[kind].encode(encoding))
    assert read_pictures(tmp_path / "list.csv") == ("crab, red/1.png", "cup/2.png")


def test_a_list_that_fits_nothing_says_why(data_root: Path, tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    for text, sentence in (
        ("path,label\ncat/1.png,cat\n", "the first row names the column of the pictures: file or picture"),
        ("cat/1.png\n", r"A name there is caltech-101/101_ObjectCategories/cat/0\.png\. Name their dataset"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=sentence):
            chosen_of(read_pictures(path), "caltech101", data_root)
    latin = "picture;n\nBücher/1.png;1\n".encode("latin-1")
    for data in (latin, b"PK\3\4\x14\0\6\0\xff\xfe", b'picture\n"' + b"x" * 200_000):
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"UTF-8 or UTF-16, or a quote in it never ends\. Save it as CSV in UTF-8"):
            read_pictures(path)
