"""The room Arena in a real browser: filled by clicks, stopped, walked through and opened by keyboard, on a phone."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab
from tests.e2e.scan import severe_findings

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("page", ["?sample=coffee&tab=arena"], indirect=True)
def test_a_click_fills_a_cell_a_row_says_first_what_it_costs_and_a_cell_opens_its_run(
    page: Page, tmp_path: Path
) -> None:
    table, panel = page.locator("#arena-table"), page.locator("#arena-answer")
    expect(page.locator("#arena-fill")).to_have_text("Fill this cell")  # the room opens with something chosen
    expect(panel).to_contain_text("RITA, attacker who knows it")
    cell = table.locator("[data-method=clip][data-column=pgd]")
    expect(cell).to_have_class(re.compile("empty"))
    cell.click()
    expect(cell).to_have_class(re.compile("good|bad"))
    expect(page.locator("#status")).to_contain_text("Filled after")
    table.locator("th [data-method=ensemble]").click()
    expect(page.locator("#arena-about .cost")).to_contain_text(re.compile(r"^5 cells, about \d+ (s|min)$"))
    page.locator("#arena-fill").click()
    expect(table.locator("[data-method=ensemble][data-column=pgd]")).to_have_class(re.compile("good|bad"))
    page.locator("#arena-stop").click()
    expect(page.locator("#status")).to_contain_text("Stopped")
    expect(table.locator(".running")).to_have_count(0)
    assert severe_findings(page) == []
    page.locator("#arena-files > button").click()
    with page.expect_download() as download:
        page.locator("#arena-export button[data-kind=csv]").click()
    download.value.save_as(tmp_path / "arena.csv")
    with (tmp_path / "arena.csv").open(encoding="utf-8") as file:
        rows = {(row["model"], row["defence"], row["attacker"]): row for row in csv.DictReader(file)}
    answer = rows["embedded", "ensemble", "pgd"]["answer"]

    stops = table.locator("button[tabindex='0']")
    expect(stops).to_have_count(1)
    table.locator("[data-method=ensemble][data-column=none]").focus()
    page.keyboard.press("ArrowRight")
    assert f"average of crops, PGD: {answer}" in focused(page)
    page.keyboard.press("Enter")
    expect(panel).to_contain_text("average of crops, PGD")
    expect(panel).to_contain_text(answer)
    assert f"average of crops, PGD: {answer}" in focused(page), "its place is kept when the table is drawn anew"
    for key, place in {"ArrowUp": "RITA, PGD", "Home": "Column: no attack"}.items():
        page.keyboard.press(key)
        assert focused(page).startswith(place)
    page.locator("#arena-open").click()
    expect(page.get_by_role("tab", name="Inside")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#status")).to_contain_text(re.compile("Done in|Every step"))
    opened = page.locator("#inside-strip tr", has_text="average").inner_text()
    assert re.search(rf"\b{answer}\b", opened)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('aria-label')"))


def test_the_switch_shows_the_other_model_the_drawer_leaves_out_and_all_columns_fit_a_phone(page: Page) -> None:
    open_lab(page, "Arena")
    table, headline = page.locator("#arena-table"), page.locator("#arena-headline")
    expect(headline).to_contain_text("once the attacker knows the defence")
    expect(table.locator(".mark.weak")).to_have_count(1)
    page.locator("#arena-model label").last.click()
    expect(headline).to_contain_text("Trained on attacks, every defence keeps")
    expect(table.locator(".mark.bad")).to_have_count(0)
    assert table.locator(".sort, .row-filter").count() == 0
    assert severe_findings(page) == []
    page.locator("#arena-drawer > button").click()
    page.locator("#arena-methods input").last.uncheck()
    expect(table.locator("th [data-method=rita]")).to_have_count(0)
    expect(page.locator("#arena-all")).to_have_text("All is filled")
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    last = table.locator("tbody tr").first.locator("td.share").last
    assert last.bounding_box()["x"] + last.bounding_box()["width"] <= 390
    assert table.locator(".mark").first.bounding_box()["width"] == 21


def test_a_stored_cell_of_the_other_model_opens_its_run(page: Page) -> None:
    open_lab(page, "Arena")
    page.locator("#arena-model label").last.click()
    expect(page.locator("#arena-headline")).to_contain_text("Trained on attacks")
    page.locator("#arena-table [data-method=ttc][data-column=none]").click()
    expect(page.locator("#arena-answer")).to_contain_text("TTC, no attack")
    page.locator("#arena-open").click()
    expect(page.get_by_role("tab", name="Inside")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#status")).to_contain_text(re.compile("Done in|Every step"))
    assert page.evaluate("scrollY") == 0
    expect(page.locator("#model")).to_contain_text("robust")
