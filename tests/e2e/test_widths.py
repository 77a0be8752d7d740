"""The Story and every room of the Lab fit a phone and a wide screen: nothing makes the page scroll sideways."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("width", "height", "story", "run"),
    [(390, 844, 9_000, 6_500), pytest.param(1440, 900, 6_000, 3_500, marks=pytest.mark.nightly)],
)
def test_the_story_and_the_run_are_short_and_no_tab_is_wider_than_the_window(
    page: Page, width: int, height: int, story: int, run: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(1_000)
    assert page.evaluate("document.documentElement.scrollHeight") <= story
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    open_lab(page, "Inside")
    page.wait_for_timeout(1_000)
    assert page.evaluate("document.documentElement.scrollHeight") <= run
    for content in ("#in-views button", "#in-costs svg"):
        expect(page.locator(content).first).to_be_visible()
    tabs = page.get_by_role("tab").all()
    assert len(tabs) == 4
    for tab in tabs:
        assert tab.is_visible(), "a tab hides behind a menu"
        tab.click()
        page.wait_for_timeout(1500)  # its figures are drawn when it is first seen
        assert page.evaluate("document.documentElement.scrollWidth") <= width, tab.inner_text()
