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
def memory_page(page: Page) -> Page:
    """The tab, opened on the worked example, whose views entered the memory."""
    page.get_by_role("tab", name="Memory (cache)").click()
    expect(page.locator("#contents section").first).to_be_visible()
    return page


def items(page: Page) -> int:
    """How many stored views are shown."""
    return page.locator("#contents button").count()


def test_cached_views_are_shown_with_their_crop_and_can_be_selected(memory_page: Page) -> None:
    assert items(memory_page) >= 1
    strip = memory_page.locator("#memory-strip")
    expect(strip.locator("img")).to_have_count(3)
    expect(strip).to_contain_text("RITA")
    assert memory_page.locator("#contents button img").count() == items(memory_page)
    first = memory_page.locator("#contents button").first
    first.click()
    expect(memory_page.locator("#contents button[aria-pressed=true]")).to_have_count(1)
    expect(memory_page.locator("#item-detail")).to_contain_text("slot 0")
    expect(memory_page.locator("#compared")).to_contain_text("With an empty one")
    memory_page.get_by_role("tab", name="Attack & defend").click()
    expect(memory_page.locator("#view-detail")).to_contain_text("may enter the memory")


def test_the_time_slider_goes_back_to_the_beginning(memory_page: Page) -> None:
    number = memory_page.locator("#moment input[type=number]")
    number.fill("0")
    number.press("Enter")
    expect(memory_page.locator("#moment-title")).to_contain_text("The beginning")
    expect(memory_page.locator("#contents")).to_contain_text("empty at this moment")
    expect(memory_page.locator("#log tr.here")).to_contain_text("The beginning")


def test_the_memory_is_exported_cleared_and_imported(memory_page: Page, tmp_path: Path) -> None:
    held = items(memory_page)
    with memory_page.expect_download() as download:
        memory_page.get_by_role("button", name="Export", exact=True).click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == ".safetensors"
    assert len(load(path.read_bytes())["label"]) == held
    memory_page.get_by_role("button", name="Empty the memory").click()
    expect(memory_page.locator("#contents")).to_contain_text("empty at this moment")
    memory_page.get_by_role("button", name="Undo").click()
    expect(memory_page.locator("#contents button")).to_have_count(held)
    memory_page.get_by_role("button", name="Empty the memory").click()
    expect(memory_page.locator("#contents button")).to_have_count(0)
    with memory_page.expect_file_chooser() as chooser:
        memory_page.get_by_role("button", name="Import").click()
    chooser.value.set_files(path)
    expect(memory_page.locator("#contents button")).to_have_count(held)
    expect(memory_page.locator("#log")).to_contain_text("Imported from a file")


def test_an_invalid_memory_file_gives_an_error_message_and_the_page_keeps_working(
    memory_page: Page, tmp_path: Path
) -> None:
    held, path = items(memory_page), tmp_path / "memory.safetensors"
    path.write_bytes(b"\xff" * 200)
    with memory_page.expect_file_chooser() as chooser:
        memory_page.get_by_role("button", name="Import").click()
    chooser.value.set_files(path)
    expect(memory_page.get_by_role("alert")).to_contain_text("not a safetensors file")
    assert items(memory_page) == held


def select_first_item(memory: Page) -> None:
    """Choose a stored view and wait until everything shows it."""
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


def test_distances_and_procrustes_are_drawn_for_the_chosen_class(memory_page: Page) -> None:
    select_first_item(memory_page)
    drawn = {t["name"]: t for t in figure(memory_page, "distances")}
    assert len(drawn["with the memory"]["x"]) == len(drawn["empty memory"]["x"]) == 10
    stages = {t["name"]: t for t in figure(memory_page, "plane")}
    places = [len(stages[s]["x"]) for s in ("before", "smallest", "svd")]
    assert places[0] >= 1
    assert len(set(places)) == 1
    expect(memory_page.locator("#plane-words")).to_contain_text("°")
    expect(memory_page.locator("#plane-words")).to_contain_text("variance about the origin")


def test_a_view_is_removed_by_keyboard_and_restored_by_undo(memory_page: Page) -> None:
    held = items(memory_page)
    memory_page.locator("#contents button[tabindex='0']").focus()
    memory_page.keyboard.press("ArrowRight")
    memory_page.keyboard.press("Enter")
    expect(memory_page.locator("#contents button[aria-pressed=true]")).to_be_focused()
    expect(memory_page.locator("#remove")).to_be_enabled()
    memory_page.locator("#remove").focus()
    memory_page.keyboard.press("Enter")
    expect(memory_page.locator("#contents button")).to_have_count(held - 1)
    expect(memory_page.locator("#log")).to_contain_text("Removed view")
    memory_page.get_by_role("button", name="Undo").click()
    expect(memory_page.locator("#contents button")).to_have_count(held)


def test_the_json_is_saved_with_settings_classes_and_log(memory_page: Page, tmp_path: Path) -> None:
    with memory_page.expect_download() as download:
        memory_page.get_by_role("button", name="Export as JSON").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    found = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "memory.json"
    assert sum(len(c["items"]) for c in found["held"].values()) == items(memory_page)
    assert found["settings"]["slots"] == found["slots"]
    assert found["log"][0]["title"] == "The beginning"


def test_several_files_are_added_at_once_and_an_invalid_one_is_named(memory_page: Page, tmp_path: Path) -> None:
    files = [SAMPLES["cat"].path, tmp_path / "bad.png", SAMPLES["coffee"].path]
    assert files[1] is not None
    files[1].write_text("no picture")
    with memory_page.expect_file_chooser() as chooser:
        memory_page.get_by_role("button", name="Add several pictures").click()
    assert chooser.value.is_multiple()
    chooser.value.set_files([f for f in files if f is not None])
    expect(memory_page.locator("#status progress")).to_be_visible()
    expect(memory_page.get_by_role("alert")).to_contain_text("File 2 was left out")
    expect(memory_page.locator("#status")).to_contain_text("2 pictures decided in", timeout=180_000)
    for title in ("Upload 1", "Upload 3"):
        expect(memory_page.locator("#log")).to_contain_text(title)
    expect(memory_page.locator("#log")).not_to_contain_text("Upload 2")


def test_attacked_pictures_are_added_and_the_before_after_text_has_numbers(memory_page: Page) -> None:
    memory_page.get_by_role("button", name="Add attacked samples").click()
    expect(memory_page.locator("#stop-filling")).to_be_visible()
    lesson = memory_page.locator("#lesson")
    expect(lesson.locator("table")).to_be_visible(timeout=240_000)
    expect(lesson).to_contain_text(re.compile(r"\d+ views? entered, \d+ of them under a wrong class"))
    expect(lesson).to_contain_text("cosine distance")
    expect(lesson.locator("tbody tr:not(.sub)")).to_have_count(2)
    expect(memory_page.locator("#log")).to_contain_text("attacked (seed 1)")
    expect(memory_page.locator("#stop-filling")).to_be_hidden()
