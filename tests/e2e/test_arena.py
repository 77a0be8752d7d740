"""The room Arena in a real browser: filled by clicks, stopped, walked through and opened by keyboard, on a phone."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab, open_story, saved, severe_findings

pytestmark = pytest.mark.e2e


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('aria-label')"))


def test_the_stored_table_is_shown_for_both_models_and_a_new_one_is_filled_walked_and_opened(
    page: Page, tmp_path: Path
) -> None:
    open_lab(page, "Arena")
    table, panel, headline = (page.locator(f"#arena-{name}") for name in ("table", "answer", "headline"))
    expect(headline).to_contain_text("once the attacker knows the defence")
    expect(table.locator(".mark.weak")).to_have_count(1)
    page.locator("#arena-model label").last.click()
    expect(headline).to_contain_text("Trained on attacks, every defence keeps")
    expect(table.locator(".mark.bad")).to_have_count(0)
    assert severe_findings(page) == []
    page.locator("#arena-drawer > button").click()
    shown = page.locator("#arena-methods input").last
    shown.uncheck()
    expect(table.locator("th [data-method=rita]")).to_have_count(0)
    expect(page.locator("#arena-all")).to_have_text("All is filled")
    shown.check()
    expect(table.locator("th [data-method=rita]")).to_have_count(1)
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    last = table.locator("tbody tr").first.locator("td.share").last.bounding_box()
    assert last["x"] + last["width"] <= 390
    assert table.locator(".mark").first.bounding_box()["width"] == 21
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator("#arena-model label").first.click()

    open_story(page)
    page.locator("#samples [data-sample=coffee]").click()
    expect(page.locator("#status")).to_contain_text("Done in")
    open_lab(page, "Arena")
    expect(panel).to_contain_text("RITA, attacker who knows it")  # the room opens with something chosen
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
    page.locator("#arena-files > button").click()
    path = saved(page, tmp_path, page.locator("#arena-export button[data-kind=csv]").click)
    rows = {(row["defence"], row["attacker"]): row for row in csv.DictReader(path.open(encoding="utf-8"))}
    answer = rows["ensemble", "pgd"]["answer"]

    expect(table.locator("button[tabindex='0']")).to_have_count(1)
    table.locator("[data-method=ensemble][data-column=none]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(panel).to_contain_text("average of crops, PGD")
    expect(panel).to_contain_text(answer)
    assert f"average of crops, PGD: {answer}" in focused(page), "its place is kept when the table is drawn anew"
    for key, place in {"ArrowUp": "RITA, PGD", "Home": "Column: no attack"}.items():
        page.keyboard.press(key)
        assert focused(page).startswith(place)
    table.locator("[data-method=clip][data-column=pgd]").click()
    page.locator("#arena-open").click()
    expect(page.get_by_role("tab", name="Inside")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#status")).to_contain_text("Done in")
    assert page.evaluate("scrollY") == 0
