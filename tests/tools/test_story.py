"""The lecture as the documents have it."""

import re
from pathlib import Path

from rita_demo.ui.story.notes import LECTURE
from rita_demo.ui.story.view import TEMPLATE
from tools.story.lecture import lecture


def test_the_lecture_has_a_note_for_every_slide_and_takes_thirteen_of_its_fifteen_minutes() -> None:
    sections = re.findall(r'<section class="(\w+)" (?:aria-label|data-slide)', TEMPLATE)
    assert sections == list(LECTURE)
    seconds = {name: note.seconds for name, note in LECTURE.items()}
    words = {name: len(re.findall(r"\S+", note.says)) for name, note in LECTURE.items()}
    for name, note in LECTURE.items():
        assert seconds[name] == 25 + 60 * words[name] / 100 + sum(spent for _, spent in note.does)
        assert ("reveal" in dict(note.does)) == (f'data-about="{ {"attack": "noise"}.get(name, name) }"' in TEMPLATE), (
            name
        )
    assert 12.5 * 60 <= sum(seconds.values()) <= 13.5 * 60


def test_the_documents_have_the_lecture_as_it_is_printed() -> None:
    written = (Path(__file__).parents[2] / "docs/teaching.md").read_text(encoding="utf-8")
    assert lecture() in written
