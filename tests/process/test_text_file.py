"""Every reader of text takes what editors and shells of other systems write: a byte order mark, or UTF-16."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rita_demo.data import descriptions, split_files
from rita_demo.pipeline.run_request import read_settings
from rita_demo.process.text_file import decode_text, read_text

ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "UTF-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big-endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "lines of Windows": lambda text: text.replace("\n", "\r\n").encode(),
}
CLASSES = "n01 fly agaric\nn02 crème brûlée\n"


def pictures_of_classes(path: Path) -> Any:
    for name in ("n01", "n02"):
        (path.parent / "images" / name).mkdir(parents=True, exist_ok=True)
        (path.parent / "images" / name / "1.png").write_bytes(b"")
    return split_files.class_folders(path.parent, "images", path.name).names


#: File name, text, reader.
READERS: dict[str, tuple[str, str, Callable[[Path], Any]]] = {
    "settings": ("s.json", json.dumps({"settings": {"views": 8}}), read_settings),
    "descriptions": ("d.json", json.dumps({"crème": ["it is brown"]}, ensure_ascii=False), descriptions.load),
    "split file": (
        "split.json",
        json.dumps({"val": [["a/é.png", 0, "é"], ["b/1.png", 1, "b"]]}, ensure_ascii=False),
        lambda path: split_files.split_file(path.parent, "images", path.name),
    ),
    "class names": ("classnames.txt", CLASSES, pictures_of_classes),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("what", READERS)
def test_every_reader_reads_what_it_reads_in_plain_utf_8(what: str, encoding: str, tmp_path: Path) -> None:
    name, text, read = READERS[what]
    path = tmp_path / name
    path.write_bytes(text.encode())
    plain = read(path)
    path.write_bytes(ENCODINGS[encoding](text))
    assert read(path) == plain


def test_the_lines_end_in_one_way_and_other_bytes_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes(b"one\rtwo\r\nthree\n")
    assert read_text(tmp_path / "old.txt") == "one\ntwo\nthree\n"
    assert decode_text("é".encode("utf-32")) == "é"
    with pytest.raises(ValueError, match="utf-8"):
        decode_text("é".encode("latin-1"))
