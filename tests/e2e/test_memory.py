"""The room Memory in a real browser: one selection, undo, export and import; a stream of one's own, stopped and gone on."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rita_demo.evaluation.stored_views import COLUMNS
from tests.e2e.conftest import open_lab, saved, severe_findings
from tests.pipeline.test_memory_file import table_of

pytestmark = pytest.mark.e2e
PICTURES = 12  # of a stream, a second each: on a busy machine four end before “Stop” is pressed


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


@pytest.fixture
def drawer(page: Page) -> Page:
    """The drawer, set to a short stream of drawn textures."""
    open_lab(page, "Memory")
    page.locator("#memory-drawer > button").click()
    number = page.locator("#stream-pictures input[type=number]")
    expect(number).to_be_visible()
    page.wait_for_timeout(500)  # what a drawer has just shown may still be drawn with its first value
    number.fill(str(PICTURES))
    number.press("Tab")
    expect(page.locator("#stream-pictures input[type=range]")).to_have_value(str(PICTURES))
    return page


def test_a_stopped_stream_stays_a_stored_run(drawer: Page) -> None:
    page, menu = drawer, drawer.locator("#memory-menu input")
    page.locator("#stream-seed input").fill("7")
    page.locator("#stream-pictures input[type=number]").fill("40")
    page.locator("#stream-traffic").get_by_label("clean", exact=True).check()
    page.locator("#stream-start").click()
    expect(page.locator("#status")).to_contain_text(re.compile(r"Picture \d+ of 40"))
    page.locator("#stream-stop").click()
    expect(page.locator("#status")).to_contain_text("of 40 pictures are decided")
    expect(page.locator("#stream-start")).to_be_enabled()
    expect(menu).to_have_value(re.compile("seed 7.*unfinished"))
    page.get_by_role("button", name="Download a public dataset").click()
    page.get_by_role("button", name="Download it").click()
    expect(page.get_by_text("Not done: the message above says why.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("No dataset is chosen")
    assert severe_findings(page) == []
    page.keyboard.press("Escape")
    menu.click()
    page.get_by_role("option", name=re.compile("^Describable Textures, stored")).click()
    expect(page.locator("#memory-headline")).to_contain_text("After 40 pictures RITA has 33 right")
    menu.click()
    page.get_by_role("option", name=re.compile("textures test, 47 class names, 40 pictures.*seed 7")).click()
    expect(page.locator("#memory-headline")).to_contain_text(re.compile(r"After \d+ pictures? RITA has"))
