"""Pictures that cannot be opened are found before the run, named at once, and left out where that is allowed."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.data.pictures import png_bytes
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.page.clouds import cloud_set
from rita_demo.evaluation.pictures import REPORT_EVERY, PictureSet, choose_usable, collect
from rita_demo.records.errors import DataError
from rita_demo.scripting.evaluate import evaluate
from tests.evaluation.conftest import cells, headers

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


def test_a_class_of_which_no_picture_can_be_opened_is_named_among_what_is_left_out(root: Path) -> None:
    break_pictures(root)
    assert not collected(root).skipped
    for path in (root / "mine/cup").iterdir():
        path.write_bytes(b"")
    for limit in (None, 5):
        found = collected(root, limit)
        sentence = "mine: No picture of cup can be opened; a class stays a prompt until its folder is removed."
        assert found.notes[0] == sentence
        assert found.names == CLASSES


def test_a_broken_file_beside_the_same_pictures_is_added_to_the_header_alone(root, tmp_path, tiny_model_dir) -> None:
    command = command_line_of(root, tmp_path / "runs", tiny_model_dir, "--allow-partial")
    assert cli.main(command) == 0
    before, (first, *_) = cells(tmp_path / "runs"), headers(tmp_path / "runs")
    (root / "mine/cup/6.png").write_bytes(b"")
    assert cli.main(command) == 0
    assert cells(tmp_path / "runs") == before
    left_out = {"left_out": {"cup/6.png": "Expected a picture, but the file is empty."}}
    assert headers(tmp_path / "runs")[0].facts == first.facts | left_out
    (root / "mine/cup/6.png").unlink()
    assert cli.main(command) == 0
    assert headers(tmp_path / "runs")[0] == first


def test_a_limit_is_filled_with_pictures_that_can_be_used(root: Path) -> None:
    whole = [item.id for item in collected(root, 12).items]
    break_pictures(root)
    alone = [item.id for item in collected(root).items if item.id not in BROKEN]
    assert len(alone) == 14
    choices = {limit: collected(root, limit) for limit in (3, 7, 12, 14, 99)}
    for limit, chosen in choices.items():
        ids = [item.id for item in chosen.items]
        assert len(ids) == min(limit, 14)
        assert set(ids) <= set(alone)
        assert ids == [item.id for item in choices[99].items][:limit], "a smaller choice is part of a larger one"
        assert set(chosen.unusable) <= set(BROKEN)
    assert choices[99].available == 14
    assert set(whole) & set(BROKEN), "otherwise nothing was replaced"
    for name in BROKEN:
        (root / "mine" / name).unlink()
    assert choices[12].items == collected(root, 12).items, "as if the broken ones were not there"


def test_a_repaired_picture_is_used_again_and_a_set_of_broken_ones_is_refused_with_all_names(root: Path) -> None:
    break_pictures(root)
    assert len(collected(root).items) == 14
    for name in BROKEN:
        (root / "mine" / name).unlink()
        shutil.copyfile(root / "mine/crab/1.png", root / "mine" / name)
    assert len(collected(root, allow_partial=False).items) == 18
    for path in (root / "mine").rglob("*.png"):
        path.write_bytes(b"")
    with pytest.raises(DataError, match="18 of 18 pictures cannot be used") as refused:
        collected(root)
    assert all(f"{name}/{number}.png" in str(refused.value) for name in CLASSES for number in range(6))
    assert refused.value.hint == "Choose another dataset."


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


def test_a_long_check_reports_its_progress(root: Path) -> None:
    (item, *_), sentences = collected(root).items, list[str]()
    many = [type(item)(f"{number}", 0, item.source) for number in range(2 * REPORT_EVERY + 1)]
    chosen, unusable = choose_usable(many, lambda items: items, sentences.append)
    assert (len(chosen), unusable) == (2 * REPORT_EVERY + 1, {})
    assert sentences == [f"Opening every picture once: {n} of 1001" for n in (REPORT_EVERY, 2 * REPORT_EVERY)]


def test_a_cloud_takes_other_pictures_for_broken_ones(root: Path) -> None:
    before = cloud_set("mine", root, "all", 2, 4)
    assert len(before.items) == 8
    break_pictures(root)
    after = cloud_set("mine", root, "all", 2, 4)
    assert len(after.items) == 8
    assert not {item.id for item in after.items} & set(BROKEN)
    assert set(after.unusable) <= set(BROKEN)
    with pytest.raises(DataError, match="Only 2 classes of mine"):
        cloud_set("mine", root, "all", 3, 5)


def test_python_hears_of_it_too(root: Path, engine: Engine) -> None:
    break_pictures(root)
    heard: list[str] = []
    asked = {
        "methods": "clip",
        "attack": "none",
        "budget": 4,
        "protocols": "off",
        "split": "all",
        "allow_partial": True,
    }
    rows = evaluate("mine", **asked, data_root=root, engine=engine, settings={"views": 6}, report=heard.append)
    assert len(rows) == 14
    assert heard[0].startswith("mine: 4 of 18 pictures cannot be used.")
