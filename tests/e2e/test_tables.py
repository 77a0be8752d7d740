"""Tables of the Lab in a real browser: sorted and filtered by keyboard and pointer, side by side, and when drawn anew."""

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
#: Largest distance, in pixels, between the tops of rows side by side.
APART_JS = """(holder) => {
  const [first, second] = [...holder.querySelectorAll("table")].map((table) => [...table.tBodies[0].rows]);
  const tops = first.map((row, i) => Math.abs(row.getBoundingClientRect().top - second[i].getBoundingClientRect().top));
  return first.length === second.length ? Math.max(...tops) : Infinity;
}"""


@pytest.fixture(scope="module")
def page(shared_page: Page) -> Page:
    return shared_page


def column(table: Locator, number: int) -> list[str]:
    return list(table.evaluate(COLUMN_JS, number))


def test_the_arenas_tables_are_sorted_together_and_their_rows_stay_side_by_side(page: Page) -> None:
    open_lab(page, "Arena")
    tables = page.locator("#arena-table table")
    first, second = tables.nth(0), tables.nth(1)
    button = second.get_by_role("button", name="Sort by knows this row")
    expect(button).to_be_visible()
    before = column(first, 0)
    assert column(second, 0) == before
    heading = second.locator("thead th").last
    for state in ("ascending", "descending"):
        button.focus()
        page.keyboard.press("Enter")
        expect(heading).to_have_attribute("aria-sort", state)
        answers = column(second, 5)
        assert answers == sorted(answers, reverse=state == "descending", key=lambda text: text.split("+")[0])
        assert column(first, 0) == column(second, 0) != before
        assert page.locator("#arena-table").evaluate(APART_JS) < 1
    expect(first.locator("thead th").last).to_have_attribute("aria-sort", "none")
    button.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "none")
    assert column(first, 0) == before
    first.locator("td button").first.evaluate(
        "(cell) => (cell.firstChild.nextSibling.textContent = ' long'.repeat(30))"
    )
    page.wait_for_function(f"({APART_JS})(document.querySelector('#arena-table')) < 1")
    assert severe_findings(page, "#arena-table") == []


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
    page.get_by_role("button", name="Every accuracy the paper prints").click()
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
