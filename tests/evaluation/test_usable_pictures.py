"""Pictures that cannot be opened or are missing, and a random split, are named before the run and in the tables."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.data.pictures import png_bytes
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import PictureSet, collect
from tests.evaluation.conftest import cells, draw_dataset, headers

CLASSES = ("crab", "cup", "owl")
BROKEN = ("crab/2.png", "cup/0.png", "cup/5.png", "owl/3.png")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The data folder with three classes of six pictures."""
    for label, name in enumerate(CLASSES):
        for number in range(6):
            path = tmp_path / "data/mine" / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png_bytes(np.random.default_rng([label, number]).integers(0, 256, (40, 40, 3), np.uint8)))
    return tmp_path / "data"


def break_pictures(root: Path) -> None:
    """One of each kind: cut off, empty, something else, a link that leads nowhere."""
    cut, empty, other, link = (root / "mine" / name for name in BROKEN)
    cut.write_bytes(cut.read_bytes()[:2000])
    empty.write_bytes(b"")
    other.write_bytes(b"%PDF-1.7")
    link.unlink()
    link.symlink_to("nowhere.png")


def command_line_of(root: Path, out: Path, tiny_model_dir: Path, *more: str) -> list[str]:
    """The command line of a short measurement of the folder."""
    given = ["--data-root", root, "--dataset", "mine", "--split", "all", "--methods", "clip,rita", "--attack", "none"]
    given += ["--budget", "4", "--protocols", "stream", "--set", "views=6", "--set", "prompts=2"]
    return ["evaluate", *map(str, given), "--backbone", f"local-dir:{tiny_model_dir}", "--out", str(out), *more]


def collected(root: Path, limit: int | None = None, allow_partial: bool = True) -> PictureSet:
    return collect("mine", root, "all", limit=limit, allow_partial=allow_partial)


def test_all_broken_pictures_are_named_at_once_before_a_model_is_loaded(
    root, tmp_path, tiny_model_dir, capsys, monkeypatch
) -> None:
    break_pictures(root)
    monkeypatch.setattr(Engine, "__init__", lambda *_: pytest.fail("a model was loaded"))
    assert cli.main(command_line_of(root, tmp_path / "runs", tiny_model_dir)) == 1
    message = capsys.readouterr().err
    for sentence in (
        "mine (all): 4 of 18 pictures cannot be used.",
        "it starts like one but cannot be read to the end (crab/2.png).",
        "Expected a picture, but the file is empty (cup/0.png).",
        "Expected a picture, but the file is a PDF document (cup/5.png).",
        "The link '3.png' leads nowhere (owl/3.png).",
    ):
        assert sentence in message
    assert message.rstrip().endswith("Repair or remove them, or leave them out with --allow-partial.")
    assert str(root) not in message
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_with_allow_partial_rows_header_and_tables_say_what_was_left_out(root, tmp_path, tiny_model_dir, capsys):
    break_pictures(root)
    (root / "mine/notes.txt").write_text("no picture")
    command = command_line_of(root, tmp_path / "runs", tiny_model_dir, "--allow-partial")
    assert cli.main(command) == 0
    printed = capsys.readouterr().out
    assert printed.count("mine: No picture by its name, skipped (1): notes.txt.") == 1
    assert printed.count("mine: 4 of 18 pictures cannot be used.") == 1
    assert "2 cells, 28 rows, 28 of them new" in printed
    for rows in cells(tmp_path / "runs").values():
        assert len(rows) == 14
        assert not {row["picture"] for row in rows} & set(BROKEN)
    for header in headers(tmp_path / "runs"):
        facts = header.facts
        assert (facts["pictures"], facts["available"], tuple(sorted(facts["left_out"]))) == (14, 14, BROKEN)
        assert facts["left_out"]["cup/0.png"] == "Expected a picture, but the file is empty."
        assert header.names == CLASSES
    assert cli.main(["tables", str(tmp_path / "runs")]) == 0
    left_out = f"Left out, because they cannot be opened: {', '.join(BROKEN)}."
    scope = "Accuracy on 14 pictures, among 3 prompts. There are no class descriptions for these classes."
    assert f"{scope} {left_out}" in capsys.readouterr().out
    assert cli.main(["tables", str(tmp_path / "runs"), "--format", "csv"]) == 0
    assert capsys.readouterr().out.count(",14,") == 2  # n
    assert cli.main(command) == 0
    assert "28 rows, 0 of them new" in capsys.readouterr().out


def test_what_is_no_regular_file_is_never_opened_and_named(root: Path) -> None:
    path = root / "mine/cup/0.png"
    for make in (
        lambda: os.mkfifo(path),  # opening it would wait for ever
        lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to("0.png"),
    ):
        path.unlink()
        make()
        assert list(collected(root).unusable) == ["cup/0.png"]


MISSING = "5 of the 12 listed pictures are missing and are not measured"
FIRST = "the first of them dtd/images/dotted/1.png."
ABSENT = "split_zhou_Caltech101.json is absent"
RANDOM = f"A random split (seed 0): {ABSENT}, and numbers on it are not those of CoOp's split."


@pytest.fixture
def incomplete(tmp_path: Path) -> Path:
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


def test_missing_pictures_of_a_list_are_counted_at_the_start_in_the_header_and_in_every_table(
    incomplete, tmp_path, tiny_model_dir, capsys
) -> None:
    out = tmp_path / "runs"
    assert measured(incomplete, out, tiny_model_dir, "dtd", "--allow-partial") == 0
    assert f"dtd (test): {MISSING}, {FIRST}" in capsys.readouterr().err.splitlines()
    (header,) = headers(out)
    assert tuple(header.facts[name] for name in ("pictures", "missing", "listed")) == (7, 5, 12)
    assert cli.main(["tables", str(out)]) == 0
    assert capsys.readouterr().out.count(f"{MISSING}.") == 1


def test_a_random_split_is_named_at_the_start_and_in_every_table(incomplete, tmp_path, tiny_model_dir, capsys):
    out = tmp_path / "runs"
    assert measured(incomplete, out, tiny_model_dir, "caltech101") == 0
    assert f"caltech101 (test:own): {RANDOM}" in capsys.readouterr().err.splitlines()
    assert cli.main(["tables", str(out)]) == 0
    printed = capsys.readouterr().out.partition("## How to read")[0]
    assert printed.count(RANDOM) == 1
    for form in ("csv", "points"):
        assert cli.main(["tables", str(out), "--format", form]) == 0
        printed, said = capsys.readouterr()
        assert RANDOM not in printed
        assert said == f"caltech101 (test:own): {RANDOM}\n"
