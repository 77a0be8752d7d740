"""The real datasets, where they are: the folder that RITA_TEST_DATA names holds some in CoOp's layout.

Split files and pictures are read here a second time, by nothing but ``json`` and PIL, and compared.
"""

import csv
import io
import json
import os
from functools import cache
from pathlib import Path

import pytest
from PIL import Image

from rita_demo.cli import main as cli
from rita_demo.data.datasets import DATASETS, class_names, load_split
from rita_demo.data.vocabularies import vocabulary

DATA_ENV = os.environ.get("RITA_TEST_DATA", "").strip()
if not DATA_ENV:
    pytest.skip("RITA_TEST_DATA names no folder with real datasets", allow_module_level=True)

ROOT = Path(DATA_ENV)
OFFICIAL = ("caltech101", "dtd")
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]


def listed(name: str) -> dict[str, list[tuple[str, int, str]]]:
    """The split file as it is."""
    row = DATASETS[name]
    return json.loads((ROOT / row.folder / row.listing).read_text("utf-8"))


@cache
def class_names_of(name: str) -> tuple[str, ...]:
    """The class names of the split file in label order, written with spaces."""
    pairs = {(label, said) for rows in listed(name).values() for _, label, said in rows}
    return tuple(said.replace("_", " ") for _, said in sorted(pairs))


@pytest.mark.parametrize("name", OFFICIAL)
def test_class_names_are_those_of_the_split_file_and_official_ones(name: str) -> None:
    names, official = class_names(name, ROOT), vocabulary(name).names
    assert names == class_names_of(name)
    assert names == tuple(one for one in official if one in set(names))  # in the official order
    assert 2 <= len(names) <= len(official)
    paths = [path for rows in listed(name).values() for path, _, _ in rows]
    assert len(paths) == len(set(paths)), "the splits share no picture"


@pytest.mark.parametrize("split", ["train", "val", "test"])
@pytest.mark.parametrize("name", OFFICIAL)
def test_every_listed_picture_is_there_with_its_class_and_opens(name: str, split: str) -> None:
    items, rows = load_split(name, ROOT, split), listed(name)[split]
    home = ROOT / DATASETS[name].folder / DATASETS[name].pictures
    assert len(items) == len(rows) > 0
    assert [(path.relative_to(home).as_posix(), said) for path, _, said in items] == [
        (path, said.replace("_", " ")) for path, _, said in rows
    ]
    assert all(class_names_of(name)[label] == said for _, label, said in items)
    assert {label for _, label, _ in items} == set(range(len(class_names_of(name))))
    for path, _, _ in items:
        with Image.open(path) as picture:
            picture.load()
            assert min(picture.size) >= 16, path


def test_the_datasets_command_lists_them_as_usable(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["datasets", "--data-root", str(ROOT)]) == 0
    printed = {line.split()[1]: line for line in capsys.readouterr().out.splitlines() if "*" in line[:1]}
    for name in OFFICIAL:
        sizes = ", ".join(f"{split} {len(rows)}" for split, rows in listed(name).items())
        assert f"{len(class_names_of(name))} classes; pictures: {sizes}." in printed[name]


@pytest.mark.parametrize("name", OFFICIAL)
def test_two_pictures_of_it_are_measured(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs"
    words = ["evaluate", "--data-root", str(ROOT), "--dataset", f"{name}:present", "--limit", "2"]
    words += ["--methods", "clip,rita", "--attack", "none", "--budget", "4", "--protocols", "off"]
    assert cli.main([*words, "--set", "views=8", "--out", str(out)]) == 0
    capsys.readouterr()
    assert cli.main(["tables", str(out), "--format", "csv"]) == 0
    found = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {(row["method"], row["n"]) for row in found} == {("clip", "2"), ("rita", "2")}
    for header in (json.loads(path.read_text()) for path in out.glob("cells/*/header.json")):
        assert tuple(header["names"]) == class_names_of(name)
        assert header["available"] == len(listed(name)["val"])
