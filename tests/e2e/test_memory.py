"""The memory's tab in a real browser: what entered, the time slider, undo, emptying, export and import."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from safetensors.numpy import load

from rita_demo.data.samples import SAMPLES

pytestmark = pytest.mark.e2e


@pytest.fixture
def memory(page: Page) -> Page:
    """The tab, opened on the worked example, whose views entered the memory."""
    page.get_by_role("tab", name="Memory (cache)").click()
    expect(page.locator("#contents section").first).to_be_visible()
    return page


def items(page: Page) -> int:
    """How many remembered views are shown."""
    return page.locator("#contents button").count()


def test_the_views_that_entered_are_shown_with_their_crop_and_can_be_chosen(memory: Page) -> None:
    assert items(memory) >= 1
    strip = memory.locator("#memory-strip")
    expect(strip.locator("img")).to_have_count(3)
    expect(strip).to_contain_text("RITA")
    assert memory.locator("#contents button img").count() == items(memory)
    first = memory.locator("#contents button").first
    first.click()
    expect(memory.locator("#contents button[aria-pressed=true]")).to_have_count(1)
    expect(memory.locator("#item-detail")).to_contain_text("slot 0")
    expect(memory.locator("#compared")).to_contain_text("With an empty one")
    memory.get_by_role("tab", name="Attack & defend").click()
    expect(memory.locator("#view-detail")).to_contain_text("may enter the memory")


def test_the_time_slider_goes_back_to_the_beginning(memory: Page) -> None:
    number = memory.locator("#moment input[type=number]")
    number.fill("0")
    number.press("Enter")
    expect(memory.locator("#moment-title")).to_contain_text("The beginning")
    expect(memory.locator("#contents")).to_contain_text("empty at this moment")
    expect(memory.locator("#log tr.here")).to_contain_text("The beginning")


def test_the_memory_is_exported_emptied_and_brought_back(memory: Page, tmp_path: Path) -> None:
    held = items(memory)
    with memory.expect_download() as download:
        memory.get_by_role("button", name="Export", exact=True).click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == ".safetensors"
    assert len(load(path.read_bytes())["label"]) == held
    memory.get_by_role("button", name="Empty the memory").click()
    expect(memory.locator("#contents")).to_contain_text("empty at this moment")
    memory.get_by_role("button", name="Undo").click()
    expect(memory.locator("#contents button")).to_have_count(held)
    memory.get_by_role("button", name="Empty the memory").click()
    expect(memory.locator("#contents button")).to_have_count(0)
    with memory.expect_file_chooser() as chooser:
        memory.get_by_role("button", name="Import").click()
    chooser.value.set_files(path)
    expect(memory.locator("#contents button")).to_have_count(held)
    expect(memory.locator("#log")).to_contain_text("Imported from a file")


def test_a_file_that_is_no_memory_gets_a_sentence_and_the_page_lives_on(
    memory: Page, tmp_path: Path
) -> None:
    held, path = items(memory), tmp_path / "memory.safetensors"
    path.write_bytes(b"\xff" * 200)
    with memory.expect_file_chooser() as chooser:
        memory.get_by_role("button", name="Import").click()
    chooser.value.set_files(path)
    expect(memory.get_by_role("alert")).to_contain_text("not a safetensors file")
    assert items(memory) == held


def choose_first(memory: Page) -> None:
    """Choose a remembered view and wait until everything shows it."""
    memory.locator("#contents button").first.click()
    expect(memory.locator("#contents button[aria-pressed=true]")).to_have_count(1)


def figure(page: Page, name: str) -> list[dict]:
    """What Plotly drew, trace by trace."""
    expect(page.locator(f"#{name} .js-plotly-plot svg").first).to_be_visible()
    return page.evaluate(
        """(name) => document.querySelector(`#${name} .js-plotly-plot`)._fullData.map(
             (t) => ({ name: t.name, x: [...t.x], y: [...t.y] }))""",
        name,
    )


def test_distances_and_procrustes_are_drawn_for_the_chosen_class(memory: Page) -> None:
    choose_first(memory)
    drawn = {t["name"]: t for t in figure(memory, "distances")}
    assert len(drawn["with the memory"]["x"]) == len(drawn["empty memory"]["x"]) == 10
    stages = {t["name"]: t for t in figure(memory, "plane")}
    places = [len(stages[s]["x"]) for s in ("before", "smallest", "svd")]
    assert places[0] >= 1
    assert len(set(places)) == 1
    expect(memory.locator("#plane-words")).to_contain_text("°")
    expect(memory.locator("#plane-words")).to_contain_text("variance about the origin")


def test_one_view_is_removed_with_the_keyboard_and_undo_brings_it_back(memory: Page) -> None:
    held = items(memory)
    memory.locator("#contents button[tabindex='0']").focus()
    memory.keyboard.press("ArrowRight")
    memory.keyboard.press("Enter")
    expect(memory.locator("#contents button[aria-pressed=true]")).to_be_focused()
    expect(memory.locator("#remove")).to_be_enabled()
    memory.locator("#remove").focus()
    memory.keyboard.press("Enter")
    expect(memory.locator("#contents button")).to_have_count(held - 1)
    expect(memory.locator("#log")).to_contain_text("Removed view")
    memory.get_by_role("button", name="Undo").click()
    expect(memory.locator("#contents button")).to_have_count(held)


def test_the_json_is_saved_with_settings_classes_and_log(memory: Page, tmp_path: Path) -> None:
    with memory.expect_download() as download:
        memory.get_by_role("button", name="Export as JSON").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    found = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "memory.json"
    assert sum(len(c["items"]) for c in found["held"].values()) == items(memory)
    assert found["settings"]["slots"] == found["slots"]
    assert found["log"][0]["title"] == "The beginning"


def test_several_files_at_once_fill_it_and_a_bad_one_is_named(memory: Page, tmp_path: Path) -> None:
    files = [SAMPLES["cat"].path, tmp_path / "bad.png", SAMPLES["coffee"].path]
    assert files[1] is not None
    files[1].write_text("no picture")
    with memory.expect_file_chooser() as chooser:
        memory.get_by_role("button", name="Remember several pictures").click()
    assert chooser.value.is_multiple()
    chooser.value.set_files([f for f in files if f is not None])
    expect(memory.locator("#status progress")).to_be_visible()
    expect(memory.get_by_role("alert")).to_contain_text("File 2 was left out")
    expect(memory.locator("#status")).to_contain_text("2 pictures decided in", timeout=180_000)
    for title in ("Upload 1", "Upload 3"):
        expect(memory.locator("#log")).to_contain_text(title)
    expect(memory.locator("#log")).not_to_contain_text("Upload 2")


def test_attacked_pictures_fill_the_memory_and_the_lesson_has_numbers(memory: Page) -> None:
    memory.get_by_role("button", name="Fill it with attacked samples").click()
    expect(memory.locator("#stop-filling")).to_be_visible()
    lesson = memory.locator("#lesson")
    expect(lesson.locator("table")).to_be_visible(timeout=240_000)
    expect(lesson).to_contain_text(
        re.compile(r"\d+ views? entered, \d+ of them under a wrong class")
    )
    expect(lesson).to_contain_text("cosine distance")
    expect(lesson.locator("tbody tr:not(.sub)")).to_have_count(2)
    expect(memory.locator("#log")).to_contain_text("attacked (seed 1)")
    expect(memory.locator("#stop-filling")).to_be_hidden()
