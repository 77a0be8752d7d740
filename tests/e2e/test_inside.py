"""The second tab on the real server with the embedded model: a cell, a view left out, undo, linking."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def page(shared_page: Page) -> Page:
    return shared_page


def open_inside(page: Page) -> None:
    """Open the tab and wait for its figures."""
    open_lab(page, "Inside")
    for side in ("clean", "attacked"):
        expect(page.locator(f"#in-plan-{side} .heatmaplayer image").first).to_be_visible()


@pytest.mark.nightly
def test_a_cell_is_shown_in_both_tabs_and_its_view_is_left_out_and_put_back(page: Page) -> None:
    open_inside(page)
    page.locator("#in-plan-attacked").scroll_into_view_if_needed()
    area = page.locator("#in-plan-attacked .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.click(area["x"] + area["width"] * 0.3, area["y"] + area["height"] * 0.4)
    cell, banner = page.locator("#in-cell"), page.locator("#whatif-banner")
    expect(cell).to_contain_text(re.compile(r"View \d+ → “.*cosine distance", re.DOTALL))
    expect(cell.locator("img")).to_have_count(2)
    heading = cell.locator("h3").inner_text().lower()
    expect(banner).to_contain_text("This is the run as it was made")
    page.locator("#whatif-view").click()
    expect(banner).to_contain_text(re.compile(r"without view \d+"))
    expect(cell).to_contain_text("It is left out and carries nothing.")
    expect(page.locator("#whatif-view")).to_contain_text("back")
    page.get_by_role("button", name="Back to the run").click()
    expect(banner).to_contain_text("This is the run as it was made")
    expect(cell).not_to_contain_text("left out")
    assert page.locator("#in-cell h3").inner_text().lower() == heading


def test_a_selection_applies_to_both_pictures_by_mouse_and_by_arrow_keys(page: Page) -> None:
    open_inside(page)
    page.locator("#in-views-attacked button").nth(5).click()
    expect(page.locator("#in-view")).to_contain_text("View 5 on its own")
    views = page.locator("#in-views-attacked")
    expect(views.locator("button[aria-pressed=true]")).to_have_attribute("data-view", "5")
    expect(page.get_by_role("button", name="Leave out view 5")).to_be_enabled()
    views.locator("button[aria-pressed=true]").focus()
    for key in ("ArrowRight", "ArrowLeft", "ArrowRight", "End", "Home", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    for side in ("clean", "attacked"):
        pressed = page.locator(f"#in-views-{side} button[aria-pressed=true]")
        expect(pressed).to_have_attribute("data-view", "1")
    expect(page.get_by_role("button", name="Leave out view 1", exact=True)).to_be_enabled()
    expect(page.locator("#in-view")).to_contain_text("View 1 on its own")


def test_a_fold_shows_its_figures_when_it_is_opened(page: Page) -> None:
    open_inside(page)
    page.get_by_role("button", name="How sure is each crop?").click()
    expect(page.locator("#in-entropies-attacked .barlayer path").first).to_be_visible()
