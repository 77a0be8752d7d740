"""Menus: they open again after Escape, at the chosen entry, and Tab leaves them closed."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab, open_settings

pytestmark = pytest.mark.e2e

#: The open lists: how many options, which one is chosen, and whether it is in sight.
LISTS = """() => [...document.querySelectorAll("[role=listbox]")].map((list) => {
  const chosen = list.querySelector("[aria-selected=true]"), frame = list.getBoundingClientRect();
  const box = chosen?.getBoundingClientRect();
  return { options: list.querySelectorAll("[role=option]").length, chosen: chosen?.getAttribute("aria-label"),
    seen: Boolean(box) && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1 };
})"""


def expect_lists(page: Page, *wanted: dict[str, Any]) -> None:
    page.wait_for_function(f"(wanted) => JSON.stringify(({LISTS})()) === JSON.stringify(wanted)", arg=list(wanted))


@pytest.mark.nightly
@pytest.mark.parametrize("page", ["?sample=cat&classes=imagenet&truth=toilet+paper"], indirect=True)
def test_a_menu_opens_at_the_chosen_entry_again_and_again_and_closes_with_tab(page: Page) -> None:
    open_settings(page)
    for query in ("#truth", "#vocabulary", "#in-class"):
        if query == "#in-class":
            open_lab(page, "Inside")
        menu = page.locator(f"{query} input")
        expect(menu).not_to_have_value("")  # the tab is drawn when it is opened
        menu.click()
        count = 3 + 1 if query == "#vocabulary" else 1000 + (query == "#truth")
        opened = {"options": count, "chosen": menu.input_value(), "seen": True}
        expect_lists(page, opened)
        for _ in range(2):
            page.keyboard.press("Escape")
            expect_lists(page)
            menu.click()
            expect_lists(page, opened)
        page.keyboard.press("Tab")  # to another menu, which opens
        page.keyboard.press("Escape")
        expect_lists(page)
        expect(menu).not_to_be_focused()
        expect(menu).to_have_value(str(opened["chosen"]))
