"""The second tab on the real server with the embedded model: a cell, a view left out, undo, linking."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e


def open_inside(page: Page) -> None:
    """Open the tab and wait for its figures."""
    page.get_by_role("tab", name="Inside RITA").click()
    for side in ("clean", "attacked"):
        expect(page.locator(f"#in-plan-{side} .heatmaplayer image").first).to_be_visible()


def touch_cell(page: Page) -> None:
    """Click a cell of the attacked picture's plan."""
    page.locator("#in-plan-attacked").scroll_into_view_if_needed()
    area = page.locator("#in-plan-attacked .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.click(area["x"] + area["width"] * 0.3, area["y"] + area["height"] * 0.4)
    expect(page.locator("#in-cell")).to_contain_text(re.compile(r"View \d+ → “"))


def test_a_cell_shows_crop_sentence_and_cost_of_both_sides_and_the_first_tab_follows(
    page: Page,
) -> None:
    open_inside(page)
    touch_cell(page)
    cell = page.locator("#in-cell")
    expect(cell.locator("img")).to_have_count(2)
    expect(cell).to_contain_text("cosine distance")
    heading = cell.locator("h3").inner_text().lower()
    page.get_by_role("tab", name="Attack & defend").click()
    expect(page.locator("#cell-detail h3")).to_be_visible()
    assert page.locator("#cell-detail h3").inner_text().lower() == heading
    expect(page.locator(".pic.attacked .crop-box")).to_be_visible()


def test_what_is_chosen_on_the_first_tab_is_chosen_inside(page: Page) -> None:
    page.locator("#views button").nth(5).click()
    expect(page.locator("#view-detail")).to_contain_text("View 5:")
    open_inside(page)
    expect(page.locator("#in-views-clean button[aria-pressed=true]")).to_have_attribute(
        "data-index", "5"
    )
    expect(page.get_by_role("button", name="Leave out view 5")).to_be_enabled()


def test_a_view_is_left_out_and_one_click_goes_back(page: Page) -> None:
    open_inside(page)
    touch_cell(page)
    banner = page.locator("#whatif-banner")
    expect(banner).to_contain_text("This is the run as it was made")
    page.locator("#whatif-view").click()
    expect(banner).to_contain_text(re.compile(r"without view \d+"))
    expect(page.locator("#in-cell")).to_contain_text("It is left out and carries nothing.")
    expect(page.locator("#whatif-view")).to_contain_text("back")
    page.get_by_role("button", name="Back to the run").click()
    expect(banner).to_contain_text("This is the run as it was made")
    expect(page.locator("#in-cell")).not_to_contain_text("left out")


def test_the_presets_are_compared_and_a_state_is_pinned(page: Page) -> None:
    open_inside(page)
    page.get_by_role("button", name="What does each change here?").click()
    expect(page.locator("#preset-table")).to_contain_text("needs a new run")
    page.get_by_role("button", name="Pin what is shown").click()
    page.get_by_role("button", name="Show with the paper’s").click()
    expect(page.locator("#whatif-banner")).to_contain_text("What if:")
    expect(page.locator("#pinned")).to_contain_text("shown now")


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_inside_is_wider_than_the_window(page: Page, width: int) -> None:
    open_inside(page)
    page.set_viewport_size({"width": width, "height": 844})
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
