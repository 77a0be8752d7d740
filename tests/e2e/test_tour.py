"""The tour from its first to its last stop, on the real page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from rita_demo.ui.tour import STOPS

pytestmark = pytest.mark.e2e


def test_the_tour_leads_through_the_page_and_ends_where_it_began(page: Page) -> None:
    page.get_by_role("tab", name="Learn").click()
    expect(page.locator("#formulas")).to_contain_text("The decision")
    page.get_by_role("button", name="Start the tour").click()
    panel = page.locator(".tour")
    for number, stop in enumerate(STOPS, 1):
        expect(panel).to_contain_text(f"{number} of {len(STOPS)}")
        expect(panel.get_by_role("heading")).to_have_text(stop.title)
        expect(page.locator(".toured")).to_be_in_viewport()
        expect(page.get_by_role("tab", selected=True)).to_have_text(stop.tab)
        panel.get_by_role("button", name="Next" if number < len(STOPS) else "Done").click()
    expect(panel).to_be_hidden()
    expect(page.locator(".toured")).to_have_count(0)
    page.get_by_role("button", name="Tour", exact=True).press("Enter")
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
