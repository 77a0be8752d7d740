"""The lecture as the documents have it, and the commands of the Story."""

import re
from types import ModuleType

import pytest

from rita_demo.ui.story.notes import CHAPTER, FILE, lecture
from rita_demo.ui.story.view import TEMPLATE
from tools.story import lab, samples, site
from tools.story import lecture as command


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
