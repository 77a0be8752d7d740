"""Tables of the Lab in a real browser: sorted and filtered by keyboard and pointer, and when drawn anew."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import open_lab

pytestmark = pytest.mark.e2e
#: The words of a column's cells in the order of the visible rows, without the explanations of terms.
COLUMN_JS = """(table, column) => [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => {
  const cell = row.cells[column].cloneNode(true);
  cell.querySelectorAll(".tip").forEach((tip) => tip.remove());
  return cell.textContent.trim();
})"""


@pytest.fixture(scope="module")
def page(shared_page: Page) -> Page:
    return shared_page


def column(table: Locator, number: int) -> list[str]:
    return list(table.evaluate(COLUMN_JS, number))


def test_what_is_missing_comes_last_and_numbers_are_no_words(page: Page) -> None:
    open_lab(page, "Figures")
    page.get_by_role("button", name="What each part adds").click()
    table = page.locator("#fig-components table")
    button = table.locator("thead th").nth(1).locator(".sort")
    expect(button).to_be_visible()
    for down in (False, True):
        button.press("Enter")
        shown = column(table, 1)
        numbers = [float(text.split(" %")[0]) for text in shown if text != "–"]
        assert numbers == sorted(numbers, reverse=down)
        assert [text == "–" for text in shown] == sorted(text == "–" for text in shown)
    assert len(numbers) > 2
