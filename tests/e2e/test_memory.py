"""The Memory in a real browser: the memories of its menu, one selection, undo, emptying, export and import."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rita_demo.evaluation.stored_views import COLUMNS
from tests.e2e.conftest import open_lab, saved, severe_findings, visit
from tests.pipeline.test_memory_file import table_of

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def page(shared_page: Page) -> Page:
    return shared_page


def choose(page: Page, memory: str) -> None:
    """Choose a memory in the menu by the beginning of its text."""
    page.locator("#memory-menu input").click()
    page.get_by_role("option", name=re.compile(f"^{memory}")).first.click()


def change(page: Page, button: str) -> None:
    """Press a button of the drawer, which is opened for it and closed."""
    page.locator("#memory-drawer > button").click()
    page.locator(button).click()
    page.keyboard.press("Escape")
    expect(page.locator(button)).to_be_hidden()


def bring(page: Page, path: Path) -> None:
    """Import a file."""
    with page.expect_file_chooser() as chooser:
        change(page, "#import")
    chooser.value.set_files(path)


def open_own(page: Page) -> int:
    """Open the visitor's memory on the worked example; how many stored views it shows."""
    open_lab(page, "Memory")
    expect(page.locator("#memory-shelf section").first).to_be_visible()
    choose(page, "My memory")
    expect(page.locator("#memory-headline")).to_contain_text("It holds")
    expect(page.locator("#memory-film button")).to_have_count(0)
    expect(page.locator("#memory-accuracy")).to_be_hidden()
    return page.locator("#memory-shelf button").count()


def test_one_selection_moves_accuracy_film_slider_shelf_and_details(page: Page) -> None:
    open_lab(page, "Memory")
    headline, shelf, film = (page.locator(f"#memory-{name}") for name in ("headline", "shelf", "film"))
    expect(headline).to_contain_text("After 40 pictures RITA has 38 right")
    expect(page.locator("#memory-accuracy .js-plotly-plot svg").first).to_be_visible()
    expect(film.locator("img")).to_have_count(40)
    expect(shelf).to_contain_text("It holds 39 views")
    expect(page.locator("#stored-view img")).to_have_count(2)
    film.locator("[data-picture='10']").click()
    expect(headline).to_contain_text("After 10 pictures")
    expect(page.locator("#moment input[type=range]")).to_have_value("10")
    expect(page.locator("#happened")).to_contain_text("Picture 10 of")
    expect(page.locator("#open-inside")).to_be_visible()
    expect(shelf.locator("button")).to_have_count(10)
    slider = page.locator("#moment input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(film.locator("[aria-pressed=true]")).to_have_attribute("data-picture", "11")
    film.locator("[tabindex='0']").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(headline).to_contain_text("After 10 pictures")
    expect(film.locator("[aria-pressed=true]")).to_be_focused()
    expect(page.locator("#memory-effect")).to_contain_text("Your picture has other class names")
    page.locator("#memory-effect [data-name]").click()
    expect(page.locator("#memory-menu input")).to_have_value("Caltech101, stored")
    expect(page.locator("#memory-effect")).to_contain_text("On your picture: nothing")
    assert not severe_findings(page)
    choose(page, "Drawn textures")
    expect(headline).to_contain_text("After 40 pictures RITA has 38 right")


def test_a_stored_view_is_selected_removed_by_keyboard_and_restored(page: Page) -> None:
    stored, pressed = open_own(page), page.locator("#memory-shelf button[aria-pressed=true]")
    assert page.locator("#memory-shelf button img").count() == stored
    page.locator("#memory-shelf button[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(pressed).to_be_focused()
    expect(page.locator("#stored-view")).to_contain_text("Stored as")
    expect(page.locator("#memory-effect")).to_contain_text("On your picture")
    open_lab(page, "Inside")
    expect(page.locator("#in-crop")).to_contain_text("Alone it says")
    open_lab(page, "Memory")
    expect(page.locator("#remove")).to_be_enabled()
    page.locator("#remove").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#memory-shelf button")).to_have_count(stored - 1)
    expect(page.locator("#happened")).to_contain_text("Removed view")
    change(page, "#undo")
    expect(page.locator("#memory-shelf button")).to_have_count(stored)


def test_the_memory_is_exported_cleared_and_imported(page: Page, tmp_path: Path) -> None:
    stored = open_own(page)
    path = saved(page, tmp_path, page.get_by_role("button", name="Export", exact=True).click)
    assert path.suffix == ".zip"
    assert len(table_of(path.read_bytes()).moments[-1].held) == stored
    page.get_by_role("button", name="Every stored view").click()
    expect(page.locator("#views-table")).to_contain_text("true class")
    table = saved(page, tmp_path, page.locator("#views-export button").click)
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert tuple(rows[0]) == COLUMNS
    assert len([row for row in rows if not row["left_at"]]) == stored
    change(page, "#empty-memory")
    expect(page.locator("#memory-headline")).to_contain_text("Your memory is empty")
    bring(page, path)
    expect(page.locator("#memory-shelf button")).to_have_count(stored)
    expect(page.locator("#happened")).to_contain_text("Imported from a file")


def test_an_exported_memory_is_imported_on_a_page_that_was_only_opened(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with visit(browser, address) as page:
        open_lab(page, "Memory")
        expect(page.locator("#memory-headline")).to_contain_text("After 40 pictures")
        path = saved(page, tmp_path, page.get_by_role("button", name="Export", exact=True).click)
        count = page.locator("#memory-shelf button").count()
        bring(page, path)
        expect(page.locator("#memory-menu input")).to_have_value(re.compile("^From an imported file"))
        expect(page.locator("#memory-shelf button")).to_have_count(count)
        expect(page.locator("#memory-effect")).to_contain_text("Your picture has other class names")
        page.locator("#decide-own").click()
        expect(page.locator("#memory-effect")).to_contain_text("On your picture")
