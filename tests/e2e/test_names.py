"""Class names that are markup stay words, in every panel of every tab, as a real browser sees it."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab, open_story

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MARKUP_NAMES = ('<img src=x onerror="window.harm=1">', "<svg onload=window.harm=2>", "<b class=harm>crab</b>")
LINK = f"?sample=cat&classes={quote(','.join((*MARKUP_NAMES, 'cat')))}&attack=pgd&budget=4&steps=2&view=3"
TABS = ("Story", "Inside", "Arena", "Memory", "Figures")


@pytest.mark.nightly
@pytest.mark.parametrize("page", [LINK], indirect=True)
def test_class_names_are_never_markup_in_any_tab(page: Page) -> None:
    expect(page.locator("#status")).to_contain_text("Done in")  # the model may still be loading
    for name in TABS:
        open_story(page) if name == "Story" else open_lab(page, name)
        page.wait_for_timeout(1500)  # what comes into sight is drawn now
        if name == "Story":
            page.locator("#share button").click()  # the picture that is made of it, too
            page.keyboard.press("Escape")
        for row in page.locator("#in-views button:visible, #memory-shelf button:visible").all()[:2]:
            row.click()
        found = page.locator("img[src='x'], .harm, [onerror], [onload]")
        assert found.count() == 0, (name, found.first.evaluate("e => e.outerHTML"))
        assert page.evaluate("window.harm") is None, name
        if name in ("Story", "Inside"):  # the Story names the answers only
            shown = page.locator("body").inner_text()
            named = [one for one in MARKUP_NAMES if one[:8] in shown]
            assert len(named) >= (1 if name == "Story" else 3), "the names have to be on the page"
