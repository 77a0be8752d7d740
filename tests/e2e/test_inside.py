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


def test_the_presets_are_compared_and_a_state_is_pinned(page: Page) -> None:
    open_inside(page)
    page.get_by_role("button", name="What does each change here?").click()
    expect(page.locator("#preset-table")).to_contain_text("needs a new attack")
    page.get_by_role("button", name="Pin what is shown").click()
    page.get_by_role("button", name="Show with the paper’s").click()
    expect(page.locator("#whatif-banner")).to_contain_text("What if:")
    expect(page.locator("#pinned")).to_contain_text("shown now")


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


def test_class_and_prompt_are_selected_by_keyboard_in_every_tab(page: Page) -> None:
    open_inside(page)
    menu = page.locator("#in-class input")
    menu.fill("crab")
    page.keyboard.press("Enter")
    expect(page.locator("#in-plan-clean")).to_contain_text("crab")
    page.locator("#in-prompt input").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=re.compile(r"Leave out prompt \d"))).to_be_enabled()
    page.get_by_role("tab", name="Attack & defend").click()
    expect(page.locator("#plan")).to_contain_text("crab")
    assert page.locator("#class input").first.input_value() == "crab"


def test_views_in_a_figure_are_selected_by_keyboard(page: Page) -> None:
    open_inside(page)
    page.locator("#in-entropies-clean .rita-figure").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#in-views-clean button[aria-pressed=true]")).to_have_count(1)


def test_an_excluded_view_looks_different_from_an_unconfident_one(page: Page) -> None:
    open_inside(page)
    page.locator("#in-views-attacked button.left").first.click()
    page.locator("#whatif-view").click()
    out = page.locator("#in-views-attacked button.out")
    expect(out).to_have_count(1)
    expect(out).to_contain_text("left out")
    assert "left out of the decision" in (out.get_attribute("aria-label") or "")


def test_the_banner_shows_the_setting_its_preset_value_and_its_current_value(page: Page) -> None:
    open_inside(page)
    page.get_by_role("button", name="Change a setting").click()
    number = page.locator("#whatif-slots input[type=number]")
    number.fill("5")
    number.press("Enter")
    banner = page.locator("#whatif-banner")
    expect(banner).to_contain_text("Places per class J: 3 → now 5")
    page.get_by_role("button", name="Back to the run").click()
    expect(banner).to_contain_text("This is the run as it was made")
    expect(number).to_have_value("3")


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


def test_a_pinned_state_is_drawn_in_the_cost_figure(page: Page) -> None:
    open_inside(page)
    page.get_by_role("button", name="Pin what is shown").click()
    expect(page.locator("#in-pinned")).to_contain_text("RITA answered")
    expect(page.locator("#in-costs")).to_contain_text("pinned total")
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator("#in-pinned")).not_to_contain_text("RITA answered")


def test_a_cached_view_is_selected_in_both_tabs_and_excluded(page: Page) -> None:
    page.get_by_role("button", name=re.compile("coffee|cup", re.I)).first.click()
    expect(page.locator("#status")).to_contain_text("Done in")
    open_inside(page)
    page.get_by_role("tab", name="Memory (cache)").click()
    older = page.locator("#contents button:not(:has(em))").first
    older.click()
    label = (older.get_attribute("aria-label") or "").split(":")[0].removeprefix("Pseudo-label ")
    assert label
    page.get_by_role("tab", name="Inside RITA").click()
    chosen = page.locator("#in-items button[aria-pressed=true]")
    expect(chosen).to_have_count(1)
    assert (chosen.get_attribute("aria-label") or "").startswith(label)
    page.locator("#whatif-item").click()
    expect(page.locator("#whatif-banner")).to_contain_text("of the memory of")
    expect(page.locator("#in-items button.out")).to_contain_text("left out")
    page.get_by_role("button", name="Back to the run").click()
    expect(page.locator("#in-items button.out")).to_have_count(0)
