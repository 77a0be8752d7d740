"""The memory's tab in a real browser: what entered, its figures, undo, emptying, export and import."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rita_demo.evaluation.stored_views import COLUMNS
from tests.e2e.conftest import open_lab, saved, visit
from tests.ui.session.test_cache_file import table_of

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def page(shared_page: Page) -> Page:
    return shared_page


def choose(page: Page, memory: str) -> None:
    """Choose a memory in the menu by the beginning of its text."""
    page.locator("#memory-menu input").click()
    page.get_by_role("option", name=re.compile(f"^{memory}")).first.click()


def open_memory(page: Page) -> int:
    """Open the tab on the worked example, whose views entered the visitor's memory; how many stored views it shows."""
    open_lab(page, "Memory")
    expect(page.locator("#contents section").first).to_be_visible()
    expect(page.locator("#memory-menu input")).to_have_value(re.compile("^(Stored example|Yours): "))
    if "Stored example." in page.locator("#memory-says").inner_text():
        expect(page.locator("#contents button[aria-pressed=true]")).to_have_count(1)
        choose(page, "Yours")
    expect(page.locator("#log")).to_have_css("overflow-y", "auto")  # the moments of a stream lie over what follows else
    expect(page.locator("#memory-says")).to_contain_text("Your memory")
    stored = page.locator("#contents button").count()
    assert stored >= 1
    return stored


def test_a_stored_view_is_selected_removed_by_keyboard_and_restored(page: Page) -> None:
    stored = open_memory(page)
    strip, pressed = page.locator("#memory-strip"), page.locator("#contents button[aria-pressed=true]")
    expect(strip.locator("img")).to_have_count(3)
    expect(strip).to_contain_text("RITA")
    assert page.locator("#contents button img").count() == stored
    page.locator("#contents button[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(pressed).to_be_focused()
    expect(page.locator("#item-detail")).to_contain_text("slot 0")
    expect(page.locator("#compared")).to_contain_text("With an empty one")
    expect(page.locator("#distances .js-plotly-plot svg").first).to_be_visible()
    open_lab(page, "Inside")
    expect(page.locator("#in-crop")).to_contain_text("Alone it says")
    open_lab(page, "Memory")
    expect(page.locator("#remove")).to_be_enabled()
    page.locator("#remove").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#contents button")).to_have_count(stored - 1)
    expect(page.locator("#log")).to_contain_text("Removed view")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#contents button")).to_have_count(stored)


def test_the_memory_is_exported_cleared_and_imported(page: Page, tmp_path: Path) -> None:
    stored = open_memory(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export", exact=True).click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == ".zip"
    assert len(table_of(path.read_bytes()).moments[-1].held) == stored
    table = saved(page, tmp_path, page.get_by_role("button", name="Every stored view as CSV").click)
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert tuple(rows[0]) == COLUMNS
    assert len([row for row in rows if not row["left_at"]]) == stored
    page.get_by_role("button", name="Empty the memory").click()
    expect(page.locator("#contents")).to_contain_text("empty at this moment")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Import", exact=True).click()
    chooser.value.set_files(path)
    expect(page.locator("#contents button")).to_have_count(stored)
    expect(page.locator("#log")).to_contain_text("Imported from a file")


def test_an_exported_memory_is_imported_on_a_page_that_was_only_opened(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with visit(browser, address) as page:
        open_lab(page, "Memory")
        expect(page.locator("#memory-says")).to_contain_text("Stored example.")
        path = saved(page, tmp_path, page.get_by_role("button", name="Export", exact=True).click)
        count = page.locator("#contents button").count()
        choose(page, "Yours")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Import", exact=True).click()
        chooser.value.set_files(path)
        expect(page.locator("#memory-says")).to_contain_text("The memory of an imported file")
        expect(page.locator("#contents button")).to_have_count(count)
        expect(page.locator("#compared")).to_contain_text("This memory has other class names")
        page.locator("#decide-own").click()
        expect(page.locator("#memory-says")).to_contain_text(
            re.compile(r"imported file \(memory.*\) after 41 pictures")
        )
        expect(page.locator("#compared")).to_contain_text("With an empty one")
        held = page.locator("#contents button").count()
        choose(page, "Yours")
        expect(page.locator("#memory-says")).to_contain_text("Your memory after 1 picture")
        choose(page, "Stored example")
        expect(page.locator("#memory-says")).to_contain_text("Stored example.")
        choose(page, "An imported file")
        expect(page.locator("#memory-says")).to_contain_text("after 41 pictures")
        expect(page.locator("#contents button")).to_have_count(held)
