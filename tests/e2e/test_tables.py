"""Tables of the Lab in a real browser: sorted and filtered by keyboard and pointer, and when drawn anew."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import open_lab
from tests.e2e.scan import severe_findings

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


def test_rows_are_filtered_by_words_and_stay_so_when_the_table_is_drawn_anew(page: Page) -> None:
    open_lab(page, "Memory")
    table, count = page.locator("#log table"), page.locator("#log caption [role=status]")
    words = table.get_by_role("searchbox", name="Filter these rows by words")
    expect(words).to_be_visible()
    everything = column(table, 1)
    wanted = [title for title in everything if "attacked" in title]
    assert 0 < len(wanted) < len(everything)
    words.focus()
    page.keyboard.type("attacked stream")
    expect(count).to_have_text(f"{len(wanted)} of {len(everything)} rows")
    assert column(table, 1) == wanted
    table.get_by_role("button", name="Sort by moment").press("Enter")
    assert [int(number) for number in column(table, 0)] == sorted(map(int, column(table, 0)))
    words.focus()
    page.locator("#contents button[aria-pressed=false]").first.evaluate("(view) => view.click()")  # draws the log anew
    expect(page.locator("#contents button[aria-pressed=true]")).to_have_count(1)
    expect(words).to_have_value("attacked stream")
    expect(words).to_be_focused()
    expect(count).to_have_text(f"{len(wanted)} of {len(everything)} rows")
    assert column(table, 1) == wanted[::-1]
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    expect(count).to_have_text("")
    assert len(column(table, 1)) == len(everything)
    assert severe_findings(page, "#log") == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_is_missing_comes_last_and_numbers_are_no_words(page: Page) -> None:
    open_lab(page, "Figures")
    page.get_by_role("button", name="What does the paper print").click()
    table = page.locator("#fig-printed table")
    button = table.get_by_role("button", name="Sort by printed")
    expect(button).to_be_visible()
    for down in (False, True):
        button.press("Enter")
        numbers = [float(text.split(" %")[0]) for text in column(table, 5)]
        assert numbers == sorted(numbers, reverse=down)
    assert {number > 9.9 for number in numbers} == {True, False}, "as words, 10 would come before 9"
    table.get_by_role("button", name="Sort by measured here").press("Enter")
    measured = [text != "–" for text in column(table, 6)]
    assert measured == sorted(measured, reverse=True)
