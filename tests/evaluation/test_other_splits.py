"""What makes measured pictures others than the dataset's split is said: pictures that are missing, a random split, a wrong
name of a dataset."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation.pictures import collect, pick
from rita_demo.evaluation.report import tables
from rita_demo.evaluation.request import ChosenPictures
from rita_demo.records.errors import DataError
from rita_demo.scripting.evaluate import evaluate
from tests.evaluation.conftest import draw_dataset, headers
from tests.evaluation.frames import cell, table

MISSING = "5 of the 12 listed pictures are missing and are not measured"
FIRST = "the first of them dtd/images/dotted/1.png."
ABSENT = "split_zhou_Caltech101.json is absent"
RANDOM = f"A random split (seed 0): {ABSENT}, and numbers on it are not those of CoOp's split."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """DTD without one of its three classes and without a picture of another; Caltech101 without its split file."""
    root = tmp_path / "data"
    root.mkdir()
    draw_dataset(root, "dtd", "images", "split_zhou_DescribableTextures.json", ["dotted", "striped", "lined"], 4)
    shutil.rmtree(root / "dtd/images/lined")
    (root / "dtd/images/dotted/1.png").unlink()
    draw_dataset(root, "caltech-101", "101_ObjectCategories", "split_zhou_Caltech101.json", ["cat", "dog", "cup"], 8)
    (root / "caltech-101/split_zhou_Caltech101.json").unlink()
    return root


def measured(root: Path, out: Path, model: Path, dataset: str, *more: str) -> int:
    given = ["--data-root", root, "--dataset", dataset, "--split", "test", "--methods", "clip", "--attack", "none"]
    given += ["--budget", "4", "--protocols", "off", "--set", "views=4", "--backbone", f"local-dir:{model}"]
    given += ["--out", out]
    return cli.main(["evaluate", *map(str, given), *more])


@pytest.mark.parametrize(("dataset", "more"), [("dtd:present", ()), ("dtd", ("--allow-partial",))])
def test_missing_pictures_of_a_list_are_counted_at_the_start_in_the_header_and_in_every_table(
    dataset: str,
    more: Sequence[str],
    root: Path,
    tmp_path: Path,
    tiny_model_dir: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "runs"
    assert measured(root, out, tiny_model_dir, dataset, *more) == 0
    assert f"{dataset} (test): {MISSING}, {FIRST}" in capsys.readouterr().err.splitlines()
    (header,) = headers(out)
    assert tuple(header.facts[name] for name in ("pictures", "missing", "listed")) == (7, 5, 12)
    assert cli.main(["tables", str(out)]) == 0
    assert capsys.readouterr().out.count(f"{MISSING}.") == 1


def test_nothing_is_said_to_be_missing_where_all_is_there_or_what_was_chosen_is(root: Path) -> None:
    whole = collect("dtd:present", root, "test", limit=None, allow_partial=False)
    assert len(whole.missing) == 5
    chosen = pick(ChosenPictures(("dtd/images/dotted/0.png",)), whole)
    assert (chosen.missing, chosen.cautions) == ((), ())
    shutil.copytree(root / "dtd/images/striped", root / "dtd/images/lined")
    shutil.copy(root / "dtd/images/dotted/0.png", root / "dtd/images/dotted/1.png")
    assert collect("dtd", root, "test", limit=None, allow_partial=True).cautions == ()


def test_the_command_datasets_counts_missing_pictures_and_names_a_random_split(root, capsys) -> None:
    assert cli.main(["datasets", "--data-root", str(root)]) == 0
    lines = {line.strip("* ").split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip("* ")}
    assert lines["dtd"].endswith("pictures: train 12, val 12, test 12. Missing of these: train 5, val 5, test 5.")
    assert lines["caltech101"].endswith(RANDOM)


@pytest.mark.parametrize("dataset", ["caltech101", "caltech101:present"])
def test_a_random_split_is_named_at_the_start_and_in_every_table(dataset, root, tmp_path, tiny_model_dir, capsys):
    out = tmp_path / "runs"
    assert measured(root, out, tiny_model_dir, dataset) == 0
    assert f"{dataset} (test:own): {RANDOM}" in capsys.readouterr().err.splitlines()
    assert cli.main(["tables", str(out)]) == 0
    printed = capsys.readouterr().out.partition("## How to read")[0]
    assert printed.count(RANDOM) == 1
    for form in ("csv", "points"):
        assert cli.main(["tables", str(out), "--format", form]) == 0
        printed, said = capsys.readouterr()
        assert RANDOM not in printed
        assert said == f"{dataset} (test:own): {RANDOM}\n"


def test_python_warns_of_missing_pictures_and_of_a_random_split(root: Path, tiny_model_dir: Path) -> None:
    asked = {"methods": "clip", "attack": "none", "budget": 0, "protocols": "off", "split": "test", "limit": 2}
    with pytest.warns(UserWarning, match="are missing|A random split") as said:
        evaluate("dtd:present,caltech101", **asked, data_root=root, backbone=f"local-dir:{tiny_model_dir}")
    sentences = [str(one.message) for one in said]
    assert f"dtd:present (test): {MISSING}, {FIRST}" in sentences
    assert f"caltech101 (test:own): {RANDOM}" in sentences


def test_the_table_of_all_datasets_together_names_a_random_split() -> None:
    names = {"caltech101": RANDOM, "dtd": RANDOM.replace("Caltech101", "DescribableTextures")}

    def together(split: str) -> str:
        both = [cell(method, dataset=name, split=split) for name in names for method in ("rita", "ensemble")]
        return tables.as_markdown(table(*both)).partition("### All datasets together")[2]

    for name, note in names.items():
        assert f"{name} (test:own): {note}" in together("test:own")
    assert "(test): " not in together("test")


def test_the_near_name_of_a_dataset_has_the_near_ending_and_one_that_is_near_to_none_lists_all(root: Path) -> None:
    (root / "own pictures").mkdir()
    for name, meant in (
        ("dtd:presnt", "dtd:present"),
        ("DTD:Present", "dtd:present"),
        ("dtd:", "dtd"),
        ("textures:x", "textures"),
        ("caltech-101:presen", "caltech101:present"),
        ("own picture:presnt", "own pictures:present"),
    ):
        with pytest.raises(DataError) as refused:
            collect(name, root, "test", limit=None, allow_partial=False)
        assert str(refused.value) == f"There is no dataset and no folder {name!r}. Did you mean {meant}?"
    with pytest.raises(
        DataError, match=r"Datasets: caltech101, dtd, .*; or a folder with a folder of pictures per class"
    ):
        collect("zzzz:present", root, "test", limit=None, allow_partial=False)
