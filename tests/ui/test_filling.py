"""Several pictures at once into the memory, and the lesson about what they changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rita_demo.data.samples import SAMPLES
from rita_demo.errors import DemoError
from rita_demo.ui import filling, recall, words
from tests.ui.conftest import NAMES


def test_attacked_samples_fill_the_memory_and_the_lesson_says_what_changed(visit) -> None:
    moments = len(visit.session.history.entries)
    visit.run(visit.tab.fill_poison(visit.name))
    titles = [e.title for e in visit.session.history.entries[moments:]]
    assert len(titles) == filling.SEEDS * sum(s.label in NAMES for s in SAMPLES.values())
    assert all("attacked" in t for t in titles)
    for text in ("before", "now", "clean picture", "attacked picture", "cosine distance"):
        assert text in recall.lesson(visit.session)


def test_the_lessons_numbers_are_those_of_both_memories(visit, story) -> None:
    engine, key = visit.desk.engine_of(visit.session), story.clean.picture.key
    then = visit.session.history.before(key)
    moments = len(visit.session.history.entries)
    visit.run(visit.tab.fill_poison(visit.name))
    now = visit.session.history.before(key)
    for side in (story.clean, story.attacked):
        for state in (then, now):
            trace, _ = engine.decide(
                side.glance, story.bank, state, story.settings, tuning=side.trace.tuning
            )
            assert f"{float(trace.cache_distance[story.label]):.4f}" in visit.session.lesson
            assert words.margin(trace.verdict) in visit.session.lesson
    truth = {f"{s.title}, attacked": s.label for s in SAMPLES.values()}
    events = [
        (NAMES[e.label], truth[entry.title.split(" (seed")[0]])
        for entry in visit.session.history.entries[moments:]
        for e in entry.events
    ]
    wrong = sum(one != other for one, other in events)
    assert f"{words.views(len(events))} entered, {wrong} of them under a wrong class" in (
        visit.session.lesson
    )


def test_several_uploads_enter_one_after_another(visit, tmp_path: Path) -> None:
    paths = []
    for number, key in enumerate(("coffee", "cat")):
        path = tmp_path / f"{number}.png"
        Image.fromarray(SAMPLES[key].load().pixels).save(path)
        paths.append(str(path))
    visit.run(visit.tab.fill_uploads(visit.name, paths, False))
    visit.run(visit.tab.fill_uploads(visit.name, paths[:1], True))
    titles = [e.title for e in visit.session.history.entries[2:]]
    assert titles[:2] == ["Upload 1", "Upload 2"]
    assert titles[2].startswith("Upload 1, attacked, again")
    assert visit.now.pictures == 4


def test_a_bad_file_among_uploads_is_named_and_the_others_are_remembered(
    visit, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    Image.fromarray(SAMPLES["coffee"].load().pixels).save(good)
    bad.write_text("no picture")
    answers = list(visit.tab.fill_uploads(visit.name, [str(bad), str(good)], False))
    said = next(a[visit.desk.notice] for a in answers if visit.desk.notice in a)
    assert "File 1 was left out" in said
    assert [e.title for e in visit.session.history.entries[2:]] == ["Upload 2"]
    progress = [a[visit.desk.status] for a in answers if visit.desk.status in a]
    assert any("Remembering Upload 2 (1 of 1)" in p for p in progress)
    with pytest.raises(DemoError, match="File 1 was left out"):
        visit.run(visit.tab.fill_uploads(visit.name, [str(bad)], False))


@pytest.mark.parametrize("paths", [None, [], "x.png", [1], ["a"] * 99])
def test_what_is_no_list_of_files_gets_a_sentence(visit, paths: Any) -> None:
    with pytest.raises(DemoError):
        visit.run(visit.tab.fill_uploads(visit.name, paths, False))


def test_a_memory_that_is_switched_off_cannot_be_filled(visit) -> None:
    story = visit.session.story
    visit.session.story = replace(story, settings=story.settings.but(protocol="off"))
    with pytest.raises(DemoError, match="not kept"):
        visit.run(visit.tab.fill_poison(visit.name))


def test_a_story_of_another_model_is_not_filled_into(visit) -> None:
    story = visit.session.story
    visit.session.story = replace(story, backbone=replace(story.backbone, name="ViT-B-16:openai"))
    with pytest.raises(DemoError, match="Another model"):
        filling.told(visit.session, visit.desk.engine_of(visit.session))
