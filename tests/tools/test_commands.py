"""The commands of tools: what they are asked is what is measured and trained; the lecture as the documents have it."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from rita_demo.cli.terminal import run_command
from rita_demo.ui.story.notes import CHAPTER, FILE, lecture
from rita_demo.ui.story.view import TEMPLATE
from tools.bench import __main__ as bench
from tools.story import lab, samples, site
from tools.story import lecture as command
from tools.train import __main__ as train


def test_the_training_gets_the_options_of_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, dict]] = []
    for name in ("train", "train_robust"):
        monkeypatch.setattr(train, name, lambda name=name, **options: calls.append((name, options)))
    words = ["--data", str(tmp_path), "--out", str(tmp_path / "o"), "--minutes", "1.5"]
    assert run_command(train.build_parser, [*words, "--resume"]) == 0
    assert run_command(train.build_parser, [*words, "--robust"]) == 0
    asked = {"data": tmp_path, "out": tmp_path / "o", "minutes": 1.5}
    assert calls == [("train", asked | {"resume": True}), ("train_robust", asked | {"resume": False})]


def test_an_architecture_alone_is_measured_with_random_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.gpu, "measure", lambda fast, exact, on_progress, **few: {"models": [fast, exact]})
    for name, random in (("ViT-S-32-alt", True), ("embedded", False)):
        models = bench.gpu.run(name, "cpu", print)["models"]
        assert [("random weights" in one.info.name, one.info.precision) for one in models] == [(random, "float32")] * 2


@pytest.mark.parametrize(
    ("command", "words", "status", "sentence"),
    [
        (train, "--data x --out y", 2, "--minutes"),
        (train, "--data no/such --out y --minutes 1", 1, "does not exist"),
        (bench, "--only pages", 2, "Did you mean page"),
        (bench, "--json no/such/f.json", 1, "cannot be written"),
    ],
)
def test_what_cannot_begin_says_why(command: ModuleType, words: str, status: int, sentence: str, capsys) -> None:
    assert run_command(command.build_parser, words.split()) == status
    assert sentence in capsys.readouterr().err


def test_the_lecture_has_seven_slides_in_the_order_of_the_page_and_thirteen_of_its_fifteen_minutes() -> None:
    assert len(lecture()) == 7
    for note in lecture():
        deeds = sum(int(spent) for spent in re.findall(r"\((\d+) s\)", note.does))
        assert note.seconds == 25 + 60 * len(re.findall(r"\S+", note.says)) / 100 + deeds
        assert ("reveal" in note.does) == ("reveal" in note.says), "the hands are asked where the words say so"
    assert 12.5 * 60 <= sum(note.seconds for note in lecture()) <= 13.5 * 60
    assert [len(note.shows) for note in lecture()] == [0] * 6 + [3], "three sentences to take home"
    sections = re.findall(r'<section class="[^"]+" data-slide>\s*<h2>([^<]+)</h2>', TEMPLATE)
    noted = [note.title for note in lecture() if note.title in sections]
    assert noted == [title for title in sections if title in noted]
    assert len(noted) >= 4


def test_every_word_of_the_chapter_is_a_note() -> None:
    chapter = FILE.read_text("utf-8").partition(CHAPTER)[2].partition("\n## ")[0].partition("\n### ")[2]
    written = re.sub(r"^(### |\d\. )|\*", "", f"### {chapter}", flags=re.MULTILINE).replace("### ", "").split()
    read = [" ".join((note.title, note.does, *note.shows, note.says)) for note in lecture()]
    assert written == " ".join(read).split()


def test_the_plan_says_when_each_slide_ends(capsys: pytest.CaptureFixture[str]) -> None:
    command.main([])
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.split() == ["slide", "time", "ends", "do"]
    assert [row[:40].strip() for row in rows] == [note.title for note in lecture()]
    minutes, seconds = rows[-1][46:54].split(":")
    assert abs(60 * int(minutes) + int(seconds) - sum(note.seconds for note in lecture())) < 1


@pytest.mark.parametrize("module", [command, samples, site, lab])
def test_a_command_explains_itself(module: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["command", "--help"])
    with pytest.raises(SystemExit) as end:
        module.main() if module is lab else module.main(["--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m {module.__name__}")
