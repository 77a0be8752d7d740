"""Every tab fits a phone and a wide screen: nothing makes the page scroll sideways."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

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
