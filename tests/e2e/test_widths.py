"""Every tab fits a phone and a wide screen: nothing makes the page scroll sideways."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("width", [390, 1440])
def test_no_tab_is_wider_than_the_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    tabs = page.get_by_role("tab").all()
    assert len(tabs) >= 3
    for tab in tabs:
        assert tab.is_visible(), "a tab hides behind a menu"
        tab.click()
        page.wait_for_timeout(1500)  # its figures are drawn when it is first seen
        assert page.evaluate("document.documentElement.scrollWidth") <= width, tab.inner_text()


def test_the_first_tab_is_short_and_a_phone_shows_crops_and_transport_after_a_press(page: Page) -> None:
    """At most 2,400 px before anything is opened, and 4,000 on a phone."""
    for width, height, most in ((1440, 900, 2_400), (390, 844, 4_000)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(1_000)
        assert page.evaluate("document.documentElement.scrollHeight") <= most
        for name, content in (("Show the crops", "#views button"), ("Show the transport", "#costs svg")):
            button, shown = page.get_by_role("button", name=name), page.locator(content).first
            if width == 1440:
                expect(button).to_be_hidden()
            else:
                expect(shown).to_be_hidden()
                button.click()
                expect(button).to_have_attribute("aria-expanded", "true")
            expect(shown).to_be_visible()
