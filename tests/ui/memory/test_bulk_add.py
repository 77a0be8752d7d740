"""Several pictures at once into the memory, and the lesson about what they changed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.run import run_picture
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.memory import bulk_add
from rita_demo.ui.widgets import wording
from tests.ui.conftest import NAMES


def test_attacked_samples_are_added_and_before_after_has_the_numbers_of_both_memories(client, example_run) -> None:
    engine, key = client.context.engine_of(client.session), example_run.clean.picture.key
    then = client.session.history.cache_before(key)
    moments = len(client.session.history.entries)
    client.run(client.tab.add_attacked_samples(client.name))
    now = client.session.history.cache_before(key)
    for side in (example_run.clean, example_run.attacked):
        for state in (then, now):
            given = (side.encoded_views, example_run.class_prompts, state, example_run.settings)
            trace, _ = engine.decide(*given, tuning=side.trace.tuning)
            for said in (f"{trace.cache_distance[example_run.label]:.4f}", wording.margin(trace.verdict)):
                assert said in client.session.memory.before_after_html
    (added,) = client.session.history.entries[moments:]
    assert added.title == "A cup of coffee, attacked", "the others show other classes, and the motorbike is on screen"
    assert added.title in client.session.memory.before_after_html
    assert "What 1 picture changed" in client.session.memory.before_after_html
    wrong = [NAMES[e.label] != SAMPLES["coffee"].label for e in added.events]
    entered = f"{wording.view_count(len(wrong))} entered, {sum(wrong)} of them under a wrong class"
    assert entered in client.session.memory.before_after_html


def test_no_picture_is_added_twice_and_adding_or_running_it_again_replaces_its_views(engine, client) -> None:
    names = (*NAMES, *(one.label for one in SAMPLES.values() if one.label not in NAMES))
    run = run_picture(engine, SAMPLES["motorcycle"].load(), names, RECOMMENDED, label=0)
    session = client.session
    session.show(run, sample="motorcycle")
    session.add_to_history(run, "A motorbike")
    found = bulk_add.attacked_samples(session, engine)
    assert len({key for key, *_ in found}) == len(found) == bulk_add.MAX_SAMPLES
    client.run(client.tab.add_attacked_samples(client.name))
    once, moments = [item.picture for item in client.items], len(session.history.entries)
    client.run(client.tab.add_attacked_samples(client.name))
    again = session.history.entries[moments:]
    assert all("again (its earlier views were taken out)" in entry.title for entry in again)
    assert sorted(item.picture for item in client.items) == sorted(once)
    key, request, _ = next(one for one in found if one[1].title in once)
    clean = run_picture(engine, request.picture, names, RECOMMENDED, cache=session.history.cache_before(key), label=1)
    session.show(clean)
    session.add_to_history(clean, "run on the first tab")
    assert request.title not in [item.picture for item in client.items]


def test_uploads_are_added_in_order_and_an_invalid_one_is_named(client, coffee_file: str, tmp_path: Path) -> None:
    cat, bad = str(tmp_path / "cat.png"), tmp_path / "bad.png"
    Image.fromarray(SAMPLES["cat"].load().pixels).save(cat)
    bad.write_text("no picture")
    answers = list(client.tab.add_uploads(client.name, [coffee_file, str(bad), cat], False))
    said = next(a[client.context.error_banner] for a in answers if client.context.error_banner in a)
    assert "File 2 was left out" in said
    progress = [a[client.context.status] for a in answers if client.context.status in a]
    assert any("Adding Upload 3 (2 of 2)" in p for p in progress)
    client.run(client.tab.add_uploads(client.name, [coffee_file], True))
    titles = [e.title for e in client.session.history.entries[2:]]
    assert titles[:2] == ["Upload 1", "Upload 3"]
    assert titles[2].startswith("Upload 1, attacked, again")
    assert client.current.pictures == 4
    with pytest.raises(DemoError, match="File 1 was left out"):
        client.run(client.tab.add_uploads(client.name, [str(bad)], False))


@pytest.mark.parametrize("paths", [None, [], "x.png", [1], ["a"] * 99])
def test_an_invalid_file_list_gives_an_error_message(client, paths: Any) -> None:
    with pytest.raises(DemoError):
        client.run(client.tab.add_uploads(client.name, paths, False))


def test_nothing_is_added_to_a_disabled_memory_or_with_another_model(client) -> None:
    run = client.session.run
    for other, sentence in (
        (replace(run, settings=run.settings.replace(protocol="off")), "not kept"),
        (replace(run, backbone=replace(run.backbone, name="ViT-B-16:openai")), "Another model"),
    ):
        client.session.run = other
        with pytest.raises(DemoError, match=sentence):
            client.run(client.tab.add_attacked_samples(client.name))


def test_only_samples_of_listed_classes_are_added(client) -> None:
    run = client.session.run
    prompts = replace(run.class_prompts, names=("motorbike", "cup", *(f"no sample {k}" for k in range(2, len(NAMES)))))
    client.session.run = replace(run, class_prompts=prompts)
    engine = client.context.engine_of(client.session)
    added = bulk_add.attacked_samples(client.session, engine)
    assert {label for *_, label in added} == {"cup"}
    assert {request.label for _, request, _ in added} == {1}
    client.session.run = replace(run, class_prompts=replace(prompts, names=("motorbike", *prompts.names[2:], "other")))
    with pytest.raises(DemoError, match="No other sample shows a class of the list"):
        bulk_add.attacked_samples(client.session, engine)


def test_only_attacked_pictures_have_the_target_of_the_run_on_screen(example_run) -> None:
    aimed = replace(example_run, attack=replace(example_run.attack, target=2))
    targets = [
        bulk_add._request(aimed, aimed.clean.picture, label, "again", attack).target
        for label, attack in ((None, False), (None, True), (2, True))
    ]
    assert targets == [None, 2, None]
