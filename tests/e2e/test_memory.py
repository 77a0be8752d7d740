"""The memory's tab in a real browser: what entered, the time slider, undo, emptying, export and import."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from safetensors.numpy import load

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


@pytest.mark.parametrize("width", [390, 1440])
def test_the_memory_is_not_wider_than_the_window(memory: Page, width: int) -> None:
    memory.set_viewport_size({"width": width, "height": 844})
    memory.wait_for_timeout(500)
    assert memory.evaluate("document.documentElement.scrollWidth") <= width
