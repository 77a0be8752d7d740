"""Everybody can use the page: what axe-core finds on the Story and every tab, and a visit with the keyboard alone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import open_settings, severe_findings

pytestmark = pytest.mark.e2e

#: What shows that a tab is filled; other tabs wait for nothing from the server.
READY_SELECTORS = {"Inside": "#in-plan .heatmaplayer image", "Memory": "#memory-shelf img"}
#: Where the focus is, and whether it is visible. The slider over a picture is invisible: its frame shows it.
FOCUSED_ELEMENT_JS = """() => {
  const now = document.activeElement, probe = document.createElement("i");
  probe.style.color = "var(--rita-clean)";
  document.body.append(probe);
  const wanted = getComputedStyle(probe).color;
  probe.remove();
  const ring = (e) => {
    const style = getComputedStyle(e), box = e.getBoundingClientRect();
    return style.outlineStyle === "solid" && parseFloat(style.outlineWidth) >= 2 && style.outlineColor === wanted
      && Number(style.opacity) > 0.5 && box.width > 0 && box.height > 0
      && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  };
  const where = [now, now.closest(".frame, .photo, .switch label")].filter(Boolean);
  const name = now.getAttribute("aria-label") || now.textContent.trim() || now.id;
  return { seen: now.matches(":focus-visible") && where.some(ring), what: `${now.tagName} ${name.slice(0, 60)}` };
}"""


def tabs(page: Page) -> Iterator[str]:
    """The Story, then every tab of the Lab, with all folds, one after the other, once it shows what it has."""
    open_settings(page)
    yield "Story"
    page.locator("[data-level=lab]").click()
    for tab in page.get_by_role("tab").all():
        name = tab.inner_text()
        tab.click()
        closed = ("button.label-wrap:not(.open)", "details:not([open]) > summary")
        for fold in closed:
            folds = page.locator(f"[role=tabpanel] {fold}:visible")
            folds.evaluate_all("folds => folds.forEach((fold) => fold.click())")
        if name in READY_SELECTORS:
            page.wait_for_selector(READY_SELECTORS[name])
        page.wait_for_timeout(1500)  # its figures are drawn when it is first seen
        yield name


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("page", "width", "dark"),
    [
        pytest.param("?__theme=light", 1440, False, id="light and wide"),
        pytest.param("?__theme=dark", 390, True, id="dark and narrow"),
    ],
    indirect=["page"],
)
def test_axe_finds_nothing_serious_on_any_tab(page: Page, width: int, dark: bool) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.body.classList.contains('dark')") is dark
    findings = [f"{name}: {said}" for name in tabs(page) for said in severe_findings(page)]
    assert not findings, "\n".join(findings)


def tab_to(page: Page, wanted: str, key: str = "Tab", most: int = 90) -> Locator:
    """Press ``key`` until an element of the selector ``wanted`` has the focus; every stop must be visible."""
    for _ in range(most):
        page.keyboard.press(key)
        stop = page.evaluate(FOCUSED_ELEMENT_JS)
        assert stop["seen"], f"the focus cannot be seen at {stop['what']} on the way to {wanted}"
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            return page.locator(":focus")
    raise AssertionError(f"{wanted} is not reached with {key}")


def test_the_page_works_with_the_keyboard_alone(shared_page: Page) -> None:
    page = shared_page
    # another sample is chosen and run
    sample = tab_to(page, "#samples button[aria-pressed=false]").get_attribute("data-sample")
    page.keyboard.press("Enter")
    expect(page.locator("#samples button[aria-pressed=true]")).to_have_attribute("data-sample", str(sample))
    expect(page.locator("#status")).to_contain_text("Done in")
    expect(page.locator(":focus")).to_have_attribute("data-sample", str(sample))
    tab_to(page, "#go")
    # the Story: the wipe is moved, a rule is chosen, a prediction made; then to the Lab
    tab_to(page, ".story .wipe")
    tab_to(page, ".story .switch [data-tower=embedded-robust]")
    page.keyboard.press("Enter")
    expect(page.locator(".story .good .lead")).to_contain_text("Trained on attacks: ")
    tab_to(page, "[data-level=lab]", "Shift+Tab", most=200)
    page.keyboard.press("Enter")
    expect(page.locator("#in-views button").first).to_be_visible()  # the tab is drawn when it is opened
    # its crops are walked and one is chosen; the focus stays on it
    first = tab_to(page, "#in-views button").get_attribute("data-view")
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    view = page.locator(":focus").get_attribute("data-view")
    assert view != first
    page.keyboard.press("Enter")
    expect(page.locator("#in-crop")).to_contain_text(f"Crop {view}")
    expect(page.locator(":focus")).to_have_attribute("data-view", str(view))
    # the same view is left out, and one key goes back to the run
    expect(page.locator("#in-plan .heatmaplayer image").first).to_be_visible()
    headline = page.locator("#inside-headline")
    expect(page.locator("#whatif-view")).to_be_enabled()
    tab_to(page, "#whatif-view")
    page.keyboard.press("Enter")
    expect(headline).to_contain_text(f"Without crop {view}")
    expect(page.locator("#whatif-back")).to_be_visible()
    tab_to(page, "#whatif-back")
    page.keyboard.press("Enter")
    expect(headline).to_contain_text("crops still fit")
