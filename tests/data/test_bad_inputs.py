"""Bad input x sentence, for every reader of data: what is wrong is said in a sentence, with a hint and without the folder."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from rita_demo.data import descriptions, paper_results, shipped_results
from rita_demo.data.datasets import DATASETS, dataset_status, load_split
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import index_of, label_index, parse_names
from rita_demo.records.errors import DataError, DemoError, PictureError, SettingError, VocabularyError
from tests.data.hostile import encoded, photo, png_header
from tests.data.test_datasets import VAL, make_dataset, make_file, status
from tests.data.tiff_files import GREY, LZW, RGB, tiff

Rows = list[tuple[Any, str]]  # input, words of the sentence
DAMAGED = "damaged or cut off"
FILES: Rows = [
    (b"Dear Sir or Madam, this is not a photograph.", "plain text"),
    (encoded(photo())[:2000], DAMAGED),
    (encoded(photo(300, 300), "JPEG")[:9000], DAMAGED),
    (png_header(50_000, 50_000), "64 million pixels"),
    (png_header(8_000, 9_000), "8000 x 9000"),
    (png_header(0, 0), "damaged|0 x 0"),
    (png_header(300, 300), DAMAGED),  # promises more than it holds
    (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', "SVG"),
    (b"", "empty"),
    (b"\x00\x00\x00\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 99, "HEIC"),
    (bytes(range(128, 256)), "no kind known"),
]
PATHS: Rows = [
    (".", "is a folder"),
    ("missing.png", "There is no file 'missing.png'"),
    ("x" * 5000, "cannot be read"),
    ("a\0b.png", "cannot be read|There is no file"),
    ("link.png", "The link 'link.png' leads nowhere"),
    ("pipe.png", "is not a regular file"),
]

SQUARE = photo(50, 50)
DEEP, DOUBLE = SQUARE.astype(np.uint16) * 257, SQUARE / 255
ONE, ONE_DOUBLE = SQUARE[:, :, :1], DOUBLE[:, :, :1]
UNSUPPORTED = {
    "of complex numbers": tiff(ONE.astype(np.complex64), colours=GREY),
    "in CIELAB colours and whole numbers of 16 bits": tiff(DEEP, colours=8),
    "of whole numbers of 12 bits": tiff(ONE.astype(np.uint16), colours=GREY, bits=12),
    "with the compression LERC": tiff(ONE, colours=GREY, compression=34887),
    "with more than 64 MB of samples": tiff(DOUBLE, colours=RGB, t256=(3000,), t257=(3000,)),
    "of more than 100000 strips or tiles": tiff(ONE_DOUBLE, colours=1, t256=(400,), t257=(300,), t322=(1,), t323=(1,)),
    "with more than 1,000,000 numbers in a tag": tiff(ONE, colours=GREY, t281=(1,) * 1_000_001),
}
TIFFS: Rows = [
    *((data, f"the file is a TIFF .*{why}.*not supported.*Save it as PNG") for why, data in UNSUPPORTED.items()),
    # several numbers where one is meant: tifffile takes a list times the number of channels, 8 GB
    *((tiff(DOUBLE, colours=RGB, **{f"t{t}": (65_426,) * 300, "t279": ()}), DAMAGED) for t in (256, 277, 322)),
    *((tiff(DOUBLE.astype("f4"), colours=RGB, compression=kind, t273=(10**6,) * 8), DAMAGED) for kind in (1, LZW)),
]
#: Kind and size of a picture with a very long side: 64 million pixels in one row took 700 MB.
LONG: Rows = [
    ((kind, size), f"at most 30,000 pixels a side, got {size[0]} x {size[1]}")
    for kind in ("PNG", "TIFF", "PPM")
    for size in ((64_000_000, 1), (30_001, 40))
]
#: What Python may have in the place of a picture; none of it is damaged.
VALUES: Rows = [
    ([[1, 2], [3, 4]], "Expected a path, an open file, .* or a tensor; got list"),
    (torch.zeros(2, 3, 8, 8), r"one picture .* got 2 x 3 x 8 x 8"),
    (np.zeros((0, 5, 3), np.uint8), "0 x 5 x 3"),
    (np.full((40, 40), np.nan), "from 0 to 1"),
    (Image.fromarray(np.full((40, 40), np.nan, np.float32)), "not numbers"),
    (torch.randn(3, 64, 64), "from 0 to 1 .*take a normalisation back"),
    (torch.from_numpy(SQUARE).long(), "got int64. Convert it to uint8"),
    (torch.zeros(3, 8, 8, device="meta"), "numbers of the Tensor cannot be read"),
    (io.StringIO("hello"), "open as text.*'rb'"),
]

#: The files of a folder per class, and the split that is asked for.
FOLDERS: Rows = [
    ((("cup/1.png",), "all"), "and at least two of them; it holds one: 'cup'"),
    ((("1.png",), "all"), "should hold a folder of pictures per class"),
    ((("Cup/1.png", "cup/1.png"), "all"), "'mine' gives two classes the same name"),
    ((("cup/1.png", "crab/1.png"), "test"), "The folder 'mine' has the splits all; got 'test'. Splits are folders"),
]
#: A file of the names of the class folders 1, 10 and 2.
NAMES: Rows = [
    (("classnames.txt", "1 rose\n10 cup\n"), "classnames.txt has names for 2 of 3 class folders, and none for 2."),
    (("classnames.txt", "rose\ncup\nowl\n"), "a name per line, and the class folders have two orders"),
    (("classnames.txt", b"\xff\xfe\x00"), "is no text that can be read"),
    (("to_name.json", '{"1": "a", "2": "b", "10": "A"}'), "json gives two classes the same name: 'a'."),
]
SPLITS: Rows = [
    (("caltech101", "all"), "has the splits train, val, test; got 'all'"),
    (("pets", "val"), "'pets' is incomplete; missing: oxford_pets"),
    (("nothing", "val"), "no dataset and no folder 'nothing'"),
]
#: The list of a small dataset: its name, with the file where that is another one, and what is in it.
OUTSIDE = "points outside its folder"
LISTS: Rows = [
    *((("caltech101", text), "should hold lists of") for text in ("not json", "[" * 100_000, '{"train": 7}')),
    (("caltech101", "{}"), "has none of the splits"),
    (("caltech101", '{"train": [["a", 0, "cup"], ["b", 0, "crab"]]}'), "calls class 0 both 'cup' and 'crab'"),
    *(
        (("caltech101", json.dumps({"train": [[path, 0, "cup"]]})), OUTSIDE)
        for path in ("../x", "/etc/passwd", "..\\b")
    ),
    (("aircraft", b"\xff\xfe\x41"), "variants.txt is missing or no text"),
    ((f"aircraft/{VAL}", "1 MD-80\n\n1025794\n"), f"{VAL}, line 3, should hold a picture's number and a class"),
    (("aircraft/images_variant_test.txt", "../../secret MD-80"), f"test.txt {OUTSIDE}: '../../secret'"),
    (("imagenet", "n01 tench\nn01 hen\n"), "line 2, .*; got 'n01 hen'"),
    (("imagenet", "n01 tench\nn02 hen\n"), "images/train/n03 belongs to no class"),
]
DESCRIPTIONS: Rows = [
    *((text, "not valid JSON") for text in (b"\xff\xfe\x00", "[" * 100_000)),
    ("[]", r"got \[\]"),
    ('{"dog": [3]}', "is 3; expected text"),
    ('{"dog": ["a"], "dog ": ["b"]}', "described twice"),
    (json.dumps({"dog": ["a" * 301]}), "301 characters"),
    ('{"cat": ["a"], "owl": ["b"]}', "no sentences for the class 'dog'"),
    (b" " * (descriptions.LARGEST_FILE + 1), "at most 2 MB"),
]
TYPED: Rows = [
    ("cup, CUP", "got only 'cup'"),
    ("x" * 300 + ", crab", "at most 100 characters; 'xxx.*' has 300"),
    (",".join(map(str, range(2000))), "At most 1200 class names can be compared; got 2000"),
]
CLASSES = ("cup", "crab", "sea horse")
NOT_INDICES = (3, -1, True, np.True_, torch.tensor(True), 1.0, np.float32(1), [1], None, 10**30)


def read_file(data: bytes, folder: Path) -> None:
    (folder / "holiday.jpg").write_bytes(data)
    open_picture(folder / "holiday.jpg")


def read_path(name: str, folder: Path) -> None:
    (folder / "link.png").symlink_to("nowhere")
    (folder / "pipe.png").symlink_to("/dev/null")
    open_picture(str(folder / name))


def read_value(value: Any, _: Path) -> None:
    with pytest.raises(PictureError) as caught:
        open_picture(value)
    assert "damaged" not in str(caught.value)
    raise caught.value


def read_folder(given: tuple[tuple[str, ...], str], folder: Path) -> None:
    for path in given[0]:
        make_file(folder / "mine" / path)
    load_split("mine", folder, given[1])


def read_names(given: tuple[str, str | bytes], folder: Path) -> None:
    for name in ("1", "10", "2"):
        make_file(folder / "mine" / name / "1.png")
    (folder / "mine" / given[0]).write_bytes(given[1] if isinstance(given[1], bytes) else given[1].encode())
    with pytest.raises(DataError) as caught:
        load_split("mine", folder, "all")
    row = status("mine", folder)
    assert (row.usable, row.sentence) == (False, str(caught.value))
    assert caught.value.hint
    raise caught.value


def read_split(given: tuple[str, str], folder: Path) -> None:
    make_dataset(folder, "caltech101")
    load_split(given[0], folder, given[1])


def read_list(given: tuple[str, str | bytes], folder: Path) -> None:
    name, _, file = given[0].partition("/")
    make_dataset(folder, name)
    path = folder / DATASETS[name].folder / (file or DATASETS[name].listing)
    path.write_bytes(given[1].encode() if isinstance(given[1], str) else given[1])
    load_split(name, folder, "test")


def read_descriptions(content: str | bytes, folder: Path) -> None:
    (folder / "mine.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    descriptions.descriptions_for(("dog",), str(folder / "mine.json"))


def read_table(reader: Callable[[Path], object], folder: Path) -> None:
    (folder / "cells.csv").write_text("table,backbone\nmain,x\n")
    reader(folder / "cells.csv")


READERS: dict[str, tuple[type[DemoError], Callable[[Any, Path], object], Rows]] = {
    "file": (PictureError, read_file, FILES),
    "path": (PictureError, read_path, PATHS),
    "tiff": (PictureError, lambda data, _: open_picture(data), TIFFS),
    "long": (PictureError, lambda given, _: open_picture(encoded(Image.new("1", given[1]), given[0])), LONG),
    "value": (PictureError, read_value, VALUES),
    "folder": (DataError, read_folder, FOLDERS),
    "names": (DataError, read_names, [(given, re.escape(words)) for given, words in NAMES]),
    "split": (DataError, read_split, SPLITS),
    "data root": (DataError, lambda name, _: dataset_status(name), [("/gone", "The data folder .* does not exist")]),
    "list": (DataError, read_list, LISTS),
    "descriptions": (DataError, read_descriptions, DESCRIPTIONS),
    "typed names": (VocabularyError, lambda text, _: parse_names(text), TYPED),
    "label": (
        SettingError,
        lambda label, _: label_index(CLASSES, label, "target"),
        [(label, "The target is a class name, or a whole number from 0 to 2; got ") for label in NOT_INDICES],
    ),
    "class": (
        VocabularyError,
        lambda name, _: index_of(CLASSES, name),
        [("carb", "no class 'carb' among the 3.*Closest: 'crab'")],
    ),
    "table": (
        DataError,
        read_table,
        [(read, r"cells\.csv is not a table") for read in (shipped_results.read, paper_results.paper_results)],
    ),
}


CASES = [
    pytest.param(error, read, bad, words, id=f"{name} {number}: {words[:30]}")
    for name, (error, read, rows) in READERS.items()
    for number, (bad, words) in enumerate(rows)
]


@pytest.mark.filterwarnings("error", "ignore:Sparse")
@pytest.mark.parametrize(("error", "read", "bad", "words"), CASES)
def test_bad_input_is_refused_with_a_sentence_that_names_no_folder(error, read, bad, words, tmp_path) -> None:
    with pytest.raises(error, match=words) as caught:
        read(bad, tmp_path)
    assert str(tmp_path) not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert caught.value.hint or error is not PictureError
