"""The words of the form and of the Story in a real browser: the own list, what rests, links to a step, the lecture."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

#: Whether the text of an element is inside it, and nothing of it is cut.
WHOLE_JS = """(node) => { const text = node.getBoundingClientRect(), pill = node.closest(".block").getBoundingClientRect();
  return text.width > 20 && text.left >= pill.left && text.right <= pill.right && node.scrollWidth <= node.clientWidth + 1; }"""


def choose(page: Page, menu: str, option: str) -> None:
    page.locator(f"{menu} input").click()
    page.get_by_role("option", name=option).click()


def test_an_own_list_starts_with_the_answer_on_screen_and_marks_words_while_one_types(page: Page) -> None:
    choose(page, "#vocabulary", "My own list")
    names, note = page.locator("#own-names textarea"), page.locator("#names-note")
    expect(names).to_have_value("motorbike, ")
    names.focus()
    page.keyboard.press("End")
    page.keyboard.type("cow, Pferd")
    expect(note).to_contain_text("the words “cow”, “Pferd”")
    expect(names).to_be_focused()
    page.get_by_role("button", name="Attack", exact=True).click()
    expect(page.locator("#status")).to_contain_text("Done in")
    expect(page.locator(".story .headline")).to_contain_text("This is a motorbike.")
    expect(page.locator(".story .answers")).not_to_contain_text("%")


@pytest.mark.parametrize("width", [1440, 390])
def test_where_the_strength_rests_a_word_says_so_in_full_and_no_number_stands_beside_it(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    if width == 390:
        page.get_by_role("button", name="All settings").click()
    choose(page, "#setting-attack", "A patch")
    strength = page.locator("#setting-budget")
    word = strength.get_by_text("This attack has no such limit.")
    expect(word).to_be_visible()
    assert word.evaluate(WHOLE_JS)
    clip = strength.locator("input[type=number]").evaluate("(one) => getComputedStyle(one.parentElement).clipPath")
    assert clip != "none"
    choose(page, "#setting-attack", "Many steps (PGD)")
    expect(word).to_be_hidden()
    expect(strength.locator("input[type=number]")).to_have_value("4")
