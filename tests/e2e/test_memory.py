"""The memory's tab in a real browser: what entered, its figures, undo, emptying, export and import."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from safetensors.numpy import load

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
    for name in ("distances", "plane"):
        expect(memory_page.locator(f"#{name} .js-plotly-plot svg").first).to_be_visible()
    memory_page.get_by_role("tab", name="Attack & defend").click()
    expect(memory_page.locator("#view-detail")).to_contain_text("may enter the memory")


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
        memory_page.get_by_role("button", name="Import", exact=True).click()
    chooser.value.set_files(path)
    expect(memory_page.locator("#contents button")).to_have_count(held)
    expect(memory_page.locator("#log")).to_contain_text("Imported from a file")


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
