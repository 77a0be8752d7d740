"""Several pictures at once into the memory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rita_demo.data.samples import SAMPLES
from rita_demo.records.errors import DemoError


def test_uploads_are_added_in_order_and_an_invalid_one_is_named(client, coffee_file: str, tmp_path: Path) -> None:
    cat, bad = str(tmp_path / "cat.png"), tmp_path / "bad.png"
    Image.fromarray(SAMPLES["cat"].load().pixels).save(cat)
    bad.write_text("no picture")
    answers = list(client.tab.add_uploads(client.name, [coffee_file, str(bad), cat]))
    said = next(a[client.context.error_banner] for a in answers if client.context.error_banner in a)
    assert "File 2 was left out" in said
    progress = [a[client.context.status] for a in answers if client.context.status in a]
    assert any("Adding Upload 3 (2 of 2)" in p for p in progress)
    client.run(client.tab.add_uploads(client.name, [coffee_file]))
    titles = [e.title for e in client.session.history.moments[2:]]
    assert titles[:2] == ["Upload 1", "Upload 3"]
    assert titles[2] == "Upload 1, again (its earlier views were taken out)"
    assert client.current.pictures == 4
    added = [item for item in client.items if item.picture.startswith("Upload")]
    assert added
    assert all(item.truth == "" and item.attacked is False and item.thumbnail is not None for item in added)
    with pytest.raises(DemoError, match="File 1 was left out"):
        client.run(client.tab.add_uploads(client.name, [str(bad)]))


@pytest.mark.parametrize("paths", [None, [], "x.png", [1], ["a"] * 99])
def test_an_invalid_file_list_gives_an_error_message(client, paths: Any) -> None:
    with pytest.raises(DemoError):
        client.run(client.tab.add_uploads(client.name, paths))


def test_nothing_is_added_to_a_disabled_memory_or_with_another_model(client, coffee_file: str) -> None:
    run = client.session.run
    for other, sentence in (
        (replace(run, settings=run.settings.replace(protocol="off")), "not kept"),
        (replace(run, backbone=replace(run.backbone, name="ViT-B-16:openai")), "Another model"),
    ):
        client.session.run = other
        with pytest.raises(DemoError, match=sentence):
            client.run(client.tab.add_uploads(client.name, [coffee_file]))
