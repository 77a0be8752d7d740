"""The second tab on the real server with the embedded model: a cell, a view left out, undo, linking."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e


def open_inside(page: Page) -> None:
    """Open the tab and wait for its figures."""
    page.get_by_role("tab", name="Inside RITA").click()
    for side in ("clean", "attacked"):
        expect(page.locator(f"#in-plan-{side} .heatmaplayer image").first).to_be_visible()


def click_cell(page: Page) -> None:
    """Click a cell of the attacked picture's plan."""
    page.locator("#in-plan-attacked").scroll_into_view_if_needed()
    area = page.locator("#in-plan-attacked .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.click(area["x"] + area["width"] * 0.3, area["y"] + area["height"] * 0.4)
    expect(page.locator("#in-cell")).to_contain_text(re.compile(r"View \d+ → “"))


def test_a_cell_shows_crop_prompt_and_cost_of_both_sides_in_both_tabs(page: Page) -> None:
    open_inside(page)
    click_cell(page)
    cell = page.locator("#in-cell")
    expect(cell.locator("img")).to_have_count(2)
    expect(cell).to_contain_text("cosine distance")
    heading = cell.locator("h3").inner_text().lower()
    page.get_by_role("tab", name="Attack & defend").click()
    page.get_by_role("button", name="Every crop and every sentence").click()
    expect(page.locator("#cell-detail h3")).to_be_visible()
    assert page.locator("#cell-detail h3").inner_text().lower() == heading
    expect(page.locator(".pic.attacked .crop-box")).to_be_visible()


def test_a_selection_on_the_first_tab_applies_to_inside_rita(page: Page) -> None:
    page.locator("#views button").nth(5).click()
    expect(page.locator("#view-detail")).to_contain_text("View 5:")
    open_inside(page)
    expect(page.locator("#in-views-clean button[aria-pressed=true]")).to_have_attribute("data-index", "5")
    expect(page.get_by_role("button", name="Leave out view 5")).to_be_enabled()


def test_a_view_can_be_excluded_and_restored_with_one_click(page: Page) -> None:
    open_inside(page)
    click_cell(page)
    banner = page.locator("#whatif-banner")
    expect(banner).to_contain_text("This is the run as it was made")
    page.locator("#whatif-view").click()
    expect(banner).to_contain_text(re.compile(r"without view \d+"))
    expect(page.locator("#in-cell")).to_contain_text("It is left out and carries nothing.")
    expect(page.locator("#whatif-view")).to_contain_text("back")
    page.get_by_role("button", name="Back to the run").click()
    expect(banner).to_contain_text("This is the run as it was made")
    expect(page.locator("#in-cell")).not_to_contain_text("left out")


def test_arrow_keys_move_between_views_and_enter_selects(page: Page) -> None:
    open_inside(page)
    views = page.locator("#in-views-attacked")
    views.locator("button").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight", "End", "Home", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    chosen = views.locator("button[aria-pressed=true]")
    expect(chosen).to_have_count(1)
    expect(chosen).to_have_attribute("data-index", "1")
    other = page.locator("#in-views-clean button[aria-pressed=true]")
    expect(other).to_have_attribute("data-index", "1")
    expect(page.get_by_role("button", name="Leave out view 1", exact=True)).to_be_enabled()
    page.get_by_role("tab", name="Attack & defend").click()
    expect(page.locator("#view-detail")).to_contain_text("View 1:")


def test_settings_changed_in_quick_succession_all_apply(page: Page) -> None:
    open_inside(page)
    page.get_by_role("button", name="Change a setting").click()
    for name, value in (("cache_weight", "1"), ("transported_mass", "0.8"), ("max_entropy", "0.6")):
        box = page.locator(f"#whatif-{name} input[type=number]")
        box.fill(value)
        box.press("Enter")
    banner = page.locator("#whatif-banner")
    for words in ("α 1 instead", "ρ 0.8 instead", "γ 0.6 instead"):
        expect(banner).to_contain_text(words)
