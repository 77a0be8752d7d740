"""The tab Arena in a real browser: filled from a link, stopped, walked through and opened by keyboard."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import expect_level, open_lab
from tests.e2e.scan import severe_findings

pytestmark = pytest.mark.e2e
ROWS = 4


@pytest.mark.parametrize("page", ["?sample=coffee&tab=arena"], indirect=True)
def test_a_link_opens_the_arena_and_a_cell_opens_its_run(page: Page, tmp_path: Path) -> None:
    table = page.locator("#arena-table")
    expect(table).to_contain_text("Nothing is measured for this picture yet")
    for number, box in enumerate(page.locator("#arena-methods input").all()):
        if number >= ROWS:
            box.uncheck()
    page.locator("#arena-go").click()
    cells = table.locator("td button")
    expect(cells.nth(4 * ROWS - 1)).to_be_visible()  # no attack and PGD, both towers
    page.locator("#arena-stop").click()
    expect(page.locator("#status")).to_contain_text("Stopped")
    expect(table.locator("table")).to_have_count(2)
    expect(table).to_contain_text("Training against attacks")
    assert severe_findings(page, "#arena-table") == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    with page.expect_download() as download:
        page.locator("#arena-export button[data-kind=csv]").click()
    download.value.save_as(tmp_path / "arena.csv")
    with (tmp_path / "arena.csv").open(encoding="utf-8") as file:
        rows = {(row["model"], row["defence"], row["attacker"]): row for row in csv.DictReader(file)}
    last = table.locator("section").nth(1).locator("td button").first
    last.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    name = str(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert name.startswith("Ensemble, PGD")
    assert rows["embedded-robust", "ensemble", "pgd"]["answer"] in name
    page.keyboard.press("Enter")
    expect_level(page, "story")
    expect(page.locator("#status")).to_contain_text("Done in")
    open_lab(page, "Inside")
    expect(page.locator("#model")).to_contain_text("robust")
    opened = page.locator("#inside-strip tr", has_text="Ensemble").inner_text()
    assert re.search(rf"\b{rows['embedded-robust', 'ensemble', 'pgd']['answer']}\b", opened)


def test_a_run_that_is_opened_from_far_down_is_seen_from_its_head_on(page: Page) -> None:
    open_lab(page, "Arena")
    robust = page.locator("#arena-table section").nth(1)  # of the stored table: its model was not loaded yet
    robust.locator("tr").last.locator("td button").first.click()
    expect_level(page, "story")
    expect(page.locator("#status")).to_contain_text("Done in")
    assert page.evaluate("scrollY") == 0
    open_lab(page, "Inside")
    expect(page.locator("#model")).to_contain_text("robust")
