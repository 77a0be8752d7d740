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
from rita_demo.data.vocabularies import index_of, label_index, parse_names, vocabulary
from rita_demo.records.errors import DataError, DemoError, PictureError, SettingError, VocabularyError
from tests.data.hostile import encoded, photo, png_header
from tests.data.test_datasets import VAL, make_dataset, make_file, status
from tests.data.tiff_files import GREY, LZW, PALETTE, RGB, YCBCR, tiff

Rows = list[tuple[Any, str]]  # input, words of the sentence
DAMAGED = "damaged or cut off"
MOVIE = b"\x00\x00\x00\x18ftyp"
FILES: Rows = [
    (b"Dear Sir or Madam, this is not a photograph.", "plain text"),
    (encoded(photo())[:2000], DAMAGED),
    (encoded(photo(300, 300), "JPEG")[:9000], DAMAGED),
    (b"\x89PNG\r\n\x1a\n", DAMAGED),
    (b"\xff\xd8\xff\xe0", DAMAGED),
    (png_header(50_000, 50_000), "64 million pixels"),
    (png_header(10_000, 10_000), "64 million pixels"),
    (png_header(8_000, 9_000), "8000 x 9000"),
    (png_header(0, 0), "damaged|0 x 0"),
    (png_header(300, 300), DAMAGED),  # promises more than it holds
    (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', "SVG"),
    (b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
    (b"", "empty"),
    (MOVIE + b"heic\0\0\0\0mif1heic" + b"\0" * 99, "HEIC"),
    (MOVIE + b"isom" + b"\0" * 99, "video"),
    (b"%PDF-1.7\n" + b"\xe2\xe3" * 50, "PDF"),
    (b"PK\x03\x04" + b"\0" * 99, "zip"),
    (bytes(range(128, 256)), "no kind known"),
    (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "PostScript"),
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
ONE, ONE_DEEP, ONE_DOUBLE = (samples[:, :, :1] for samples in (SQUARE, DEEP, DOUBLE))
UNSUPPORTED = {
    "of complex numbers": tiff(ONE.astype(np.complex64), colours=GREY),
    "with colours of the kind CFA": tiff(ONE, colours=32803),
    "with colours of the kind 777": tiff(ONE, colours=777),
    "in CIELAB colours and whole numbers of 16 bits": tiff(DEEP, colours=8),
    "in YCBCR colours and whole numbers of 8 bits": tiff(SQUARE, colours=YCBCR),
    "in PALETTE colours and whole numbers of 16 bits": tiff(ONE_DEEP, colours=PALETTE, t320=(0,) * 3 * 65536),
    "of whole numbers of 12 bits": tiff(ONE.astype(np.uint16), colours=GREY, bits=12),
    "of 2 channels that are neither colours nor transparency": tiff(SQUARE[:, :, :2], colours=GREY, extra=(0,)),
    "of 3 channels that are neither": tiff(DOUBLE.astype("f4"), colours=GREY, separate=True, extra=(0, 0)),
    "with the compression LERC": tiff(ONE, colours=GREY, compression=34887),
    "of 16 bits with the compression JPEG": tiff(DEEP, colours=RGB, separate=True, compression=7),
    "whose samples differ in size": tiff(SQUARE, colours=RGB, t258=(5, 6, 5)),
    "with more than 64 MB of samples": tiff(DOUBLE, colours=RGB, t256=(3000,), t257=(3000,)),
    "of more than 100000 strips or tiles": tiff(ONE_DOUBLE, colours=1, t256=(400,), t257=(300,), t322=(1,), t323=(1,)),
    "with a predictor": tiff(DOUBLE, colours=RGB, predictor=2, t317=(34892,)),
    "with more than 1,000,000 numbers in a tag": tiff(ONE, colours=GREY, t281=(1,) * 1_000_001),
    "with reversed bits": tiff(DOUBLE, colours=RGB, t266=(2,)),
}
TIFFS: Rows = [
    *((data, f"the file is a TIFF .*{why}.*not supported.*Save it as PNG") for why, data in UNSUPPORTED.items()),
    # several numbers where one is meant: tifffile takes a list times the number of channels, 8 GB
    *(
        (tiff(DOUBLE, colours=RGB, **{f"t{t}": (65_426,) * 300, "t279": ()}), DAMAGED)
        for t in (256, 257, 277, 284, 322)
    ),
    *((tiff(DOUBLE.astype("f4"), colours=RGB, compression=kind, t273=(10**6,) * 8), DAMAGED) for kind in (1, LZW)),
]
#: Kind and size of a picture with a very long side: 64 million pixels in one row took 700 MB.
LONG: Rows = [
    ((kind, size), f"at most 30,000 pixels a side, got {size[0]} x {size[1]}")
    for kind in ("PNG", "TIFF", "PPM")
    for size in ((64_000_000, 1), (1, 64_000_000), (30_001, 40))
]

TENSOR, FLOATS = torch.from_numpy(SQUARE), torch.from_numpy(SQUARE) / 255
#: What Python may have in the place of a picture; none of it is damaged.
VALUES: Rows = [
    ([[1, 2], [3, 4]], "Expected a path, an open file, .* or a tensor; got list"),
    (None, "got NoneType"),
    (torch.zeros(2, 3, 8, 8), r"one picture .* got 2 x 3 x 8 x 8"),
    (torch.zeros(5, 8, 8), "got 5 x 8 x 8"),
    (torch.zeros(9), "got 9"),
    (np.zeros((0, 5, 3), np.uint8), "0 x 5 x 3"),
    (np.zeros((), np.uint8), "a single number"),
    (np.full((40, 40), np.nan), "from 0 to 1"),
    (Image.fromarray(np.full((40, 40), np.nan, np.float32)), "not numbers"),
    (np.array([["a"]]), "got <U1"),
    (torch.randn(3, 64, 64), "from 0 to 1 .*take a normalisation back"),
    (TENSOR.long(), "got int64. Convert it to uint8"),
    (FLOATS.to(torch.complex64), "got complex64"),
    (torch.zeros(3, 8, 8, device="meta"), "numbers of the Tensor cannot be read"),
    (FLOATS.to_sparse(), "numbers of the Tensor cannot be read"),
    (io.StringIO("hello"), "open as text.*'rb'"),
    (type("Text", (), {"read": lambda self, n: "x"})(), "gives bytes; it gave str"),
    (io.BytesIO(), "the file is empty"),
]

#: The files of a folder per class, and the split that is asked for.
FOLDERS: Rows = [
    ((("cup/1.png",), "all"), "and at least two of them; it holds one: 'cup'"),
    ((("train/cup/1.png", "test/cup/1.png"), "all"), "at least two of them; it holds one: 'cup'"),
    (
        (("a/cup/1.png", "a/crab/1.png"), "all"),
        r"of them\. A folder of folders without pictures of its own, no class \(1\): a",
    ),
    ((("1.png",), "all"), "should hold a folder of pictures per class"),
    ((("Cup/1.png", "cup/1.png"), "all"), "'mine' gives two classes the same name"),
    ((("sea_horse/1.png", "sea horse/1.png"), "all"), "'mine' gives two classes the same name"),
    (
        (("cup/1.png", "crab/1.png"), "test"),
        "The folder 'mine' has the splits all; got 'test'. Splits are folders named",
    ),
    (
        (("TRAINING/cup/1.png", "TRAINING/crab/1.png"), "all"),
        r"has the splits train \(folder TRAINING\); got 'all'\. Splits are folders named train, training, val, valid, "
        "validation, test, testing, in any capitals",
    ),
    *(
        (
            (("train/cup/1.png", "train/crab/1.png", f"test/{inside}"), "test"),
            r"has the splits train; got 'test'\. Called like a split, without pictures of the classes \(1\): test",
        )
        for inside in ("unknown/1.png", "1.png")
    ),
]
#: A file of the names of the class folders 1, 10 and 2.
NAMES: Rows = [
    (("classnames.txt", "1 rose\n10 cup\n"), "classnames.txt has names for 2 of 3 class folders, and none for 2."),
    (("classnames.txt", "rose\ncup\n"), "classnames.txt has 2 lines for 3 class folders."),
    (("classnames.txt", "rose\ncup\nowl\n"), "a name per line, and the class folders have two orders"),
    (("classnames.txt", "1 rose\n10 cup\n2 Rose\n"), "classnames.txt gives two classes the same name: 'rose'."),
    (("classnames.txt", "1 rose\n10 cup\n2 owl\n1 fox\n"), "has two names for the class folder '1'"),
    (("classnames.txt", b"\xff\xfe\x00"), "is no text that can be read"),
    (("to_name.json", '{"1": "rose", "2": "cup"}'), "has names for 2 of 3 class folders, and none for 10."),
    (("to_name.json", '{"1": "a", "2": "b", "10": "A"}'), "json gives two classes the same name: 'a'."),
]
SPLITS: Rows = [
    (("caltech101", "all"), "has the splits train, val, test; got 'all'"),
    (("pets", "val"), "'pets' is incomplete; missing: oxford_pets"),
    (("nothing", "val"), "no dataset and no folder 'nothing'"),
    (("textures", "train"), "'textures' has the splits val, test; got 'train'"),
]
#: The list of a small dataset: its name, with the file where that is another one, and what is in it.
OUTSIDE = "points outside its folder"
LISTS: Rows = [
    *((("caltech101", text), "should hold lists of") for text in ("not json", "[" * 100_000, '{"train": 7}')),
    (("caltech101", '{"train": [["a.png", 0]]}'), "should hold lists of"),
    *((("caltech101", text), "has none of the splits") for text in ("[1, 2]", "{}")),
    (("caltech101", '{"train": [["a", 0, "cup"], ["b", 0, "crab"]]}'), "calls class 0 both 'cup' and 'crab'"),
    (("caltech101", '{"train": [["a", 0, "cup"], ["b", 1, "cup"]]}'), "two classes the same name"),
    *(
        (("caltech101", json.dumps({"train": [[path, 0, "cup"]]})), OUTSIDE)
        for path in ("../x", "/etc/passwd", "..\\b")
    ),
    (("aircraft", " \n\n"), "fgvc_aircraft/variants.txt is empty; expected a class"),
    (("aircraft", "MD-80\nmd-80\n"), "two classes the same name: 'md-80'"),
    (("aircraft", b"\xff\xfe\x41"), "variants.txt is missing or no text"),
    ((f"aircraft/{VAL}", "1 MD-80\n\n1025794\n"), f"{VAL}, line 3, should hold a picture's number and a class"),
    ((f"aircraft/{VAL}", "1 Concorde"), "line 1, .*; got '1 Concorde'"),
    (("aircraft/images_variant_test.txt", "../../secret MD-80"), f"test.txt {OUTSIDE}: '../../secret'"),
    (("imagenet", ""), "imagenet/classnames.txt is empty"),
    (("imagenet", "n01 tench\nn02\n"), "line 2, should hold a new WordNet number"),
    (("imagenet", "n01 tench\nn01 hen\n"), "line 2, .*; got 'n01 hen'"),
    (("imagenet", "n01 hen\nn02 hen\nn03 a\n"), "the same name: 'hen'"),
    (("imagenet", "n01 tench\nn02 hen\n"), "images/train/n03 belongs to no class"),
    (("imagenet_v2", "n01 tench\n"), "format-val/1 belongs to no class of"),
]
DESCRIPTIONS: Rows = [
    *((text, "not valid JSON") for text in ("{", b"\xff\xfe\x00", "[" * 100_000)),
    ("[]", r"got \[\]"),
    ("{}", "got {}"),
    ('{"dog": []}', r"got \[\]"),
    ('{"dog": "a dog"}', "got 'a dog'"),
    ('{"dog": [3]}', "is 3; expected text"),
    ('{"dog": ["a \\ud83d dog"]}', "half a character"),
    ('{"dog": [" "]}', "is ' '"),
    ('{" ": ["a dog"]}', "class name"),
    ('{"dog": ["a"], "dog ": ["b"]}', "described twice"),
    (json.dumps({"dog": ["a" * 301]}), "301 characters"),
    (json.dumps({"dog": [str(n) for n in range(65)]}), "has 65 sentences; at most 64"),
    ('{"cat": ["a"], "owl": ["b"]}', "no sentences for the class 'dog'"),
    (b" " * (descriptions.LARGEST_FILE + 1), "at most 2 MB"),
]
TYPED: Rows = [
    ("", "At least 2 different class names are needed; got none"),
    (" ,\n; ", "got none"),
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
    "descriptions by path": (
        DataError,
        lambda path, _: descriptions.load(path),
        [(path, "cannot be read") for path in ("no_such_file.json", ".", "a\0b")],
    ),
    "typed names": (VocabularyError, lambda text, _: parse_names(text), TYPED),
    "label": (
        SettingError,
        lambda label, _: label_index(CLASSES, label, "target"),
        [(label, "The target is a class name, or a whole number from 0 to 2; got ") for label in NOT_INDICES],
    ),
    "class": (
        VocabularyError,
        lambda name, _: index_of(CLASSES, name),
        [("carb", "no class 'carb' among the 3.*Closest: 'crab'"), ("zzz", "The first ones: 'cup'")],
    ),
    "vocabulary": (
        VocabularyError,
        lambda name, _: vocabulary(name),
        [("pets", "caltech101, dtd, imagenet; got 'pets'")],
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
