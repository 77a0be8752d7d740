"""The paper's figures on the real server with the embedded model: gather, place, select, stop, filter."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import expect_level, open_lab
from tests.e2e.scan import severe_findings

pytestmark = pytest.mark.e2e
LONG_TIMEOUT_MS = 240_000  # ms: a few pictures are attacked, and UMAP starts its process


@pytest.fixture
def figures_page(page: Page) -> Page:
    """The tab, opened on the worked example."""
    open_lab(page, "Figures")
    expect(page.locator("#fig-brackets .js-plotly-plot svg").first).to_be_visible(timeout=LONG_TIMEOUT_MS)
    return page


def collect_cloud(page: Page, classes: int, each: int) -> None:
    for name, value in (("classes", classes), ("each", each), ("views", 16)):
        number = page.locator(f"#fig-{name} input[type=number]")
        number.fill(str(value))
        number.press("Enter")
    page.get_by_role("button", name="Collect pictures", exact=True).click()


@pytest.mark.nightly
def test_a_cloud_is_collected_projected_and_selected_across_tabs(figures_page: Page) -> None:
    page, mark, chips = figures_page, figures_page.locator("#fig-mark"), figures_page.locator("#fig-chips button")
    collect_cloud(page, 3, 2)
    expect(chips).to_have_count(3, timeout=LONG_TIMEOUT_MS)
    points = page.locator("#fig-cloud .scatterlayer path.point")
    expect(points.first).to_be_visible()
    expect(page.locator("#fig-separation")).to_contain_text("silhouette", timeout=LONG_TIMEOUT_MS)
    page.get_by_role("button", name="Are stored views closer").click()
    expect(page.locator("#fig-one-hot-words")).to_contain_text("KL to one-hot")
    expect(page.locator("#fig-cloud")).to_contain_text("UMAP, 15 neighbours", timeout=LONG_TIMEOUT_MS)
    chips.nth(1).click()
    expect(chips.nth(1)).to_have_attribute("aria-pressed", "true")
    cloud = page.locator("#fig-cloud .rita-figure")
    cloud.focus()
    cloud.press("ArrowRight")
    cloud.press("Enter")  # the keyboard chooses a point as a click does
    expect(mark.locator("img")).to_be_visible()
    expect(mark).to_contain_text("the picture as it was delivered")
    page.mouse.move(0, 0)
    where, shown = points.first.bounding_box(), mark.inner_text()
    assert where is not None
    page.mouse.move(where["x"] + where["width"] / 2, where["y"] + where["height"] / 2, steps=4)
    expect(mark).not_to_have_text(shown)
    expect(mark.locator("img")).to_be_visible()
    lasso(page)
    expect(page.locator("#fig-lassoed")).to_contain_text(re.compile(r"Selected: [1-9]\d* points"))
    findings = severe_findings(page)
    assert not findings, "\n".join(findings)
    opened = page.locator("#fig-lassoed tbody button").first
    name = opened.get_attribute("aria-label")
    opened.click()  # it is attacked again, and is shown in all tabs
    expect_level(page, "story")
    claim = page.locator(".story .headline")
    expect(claim).to_contain_text(name.split()[1].split("/")[0], timeout=LONG_TIMEOUT_MS)


def lasso(page: Page) -> None:
    """Draw a loop around the first of the two clouds."""
    page.locator('#fig-cloud .modebar-btn[data-title="Lasso Select"]').click()
    area = page.locator("#fig-cloud .nsewdrag").first.bounding_box()
    assert area is not None
    left, top, right = area["x"] + 3, area["y"] + 3, area["x"] + area["width"] - 3
    bottom = area["y"] + area["height"] - 3
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=8)
    page.mouse.up()


def test_collecting_can_be_stopped_and_a_class_of_the_bounds_is_selected_in_every_tab(figures_page: Page) -> None:
    page, status = figures_page, figures_page.locator("#status")
    collect_cloud(page, 20, 10)
    expect(status).to_contain_text("of 200", timeout=LONG_TIMEOUT_MS)
    page.locator("#fig-stop").click()
    expect(status).to_contain_text("Stopped", timeout=LONG_TIMEOUT_MS)
    expect(page.locator("#fig-stop")).to_be_hidden()
    expect(page.locator("#fig-says")).to_contain_text("Stored example.")
    figure = page.locator("#fig-brackets .rita-figure")
    figure.focus()
    for _ in range(3):
        figure.press("ArrowRight")
    page.wait_for_timeout(500)  # the text for screen readers follows the last step
    name = page.locator("#fig-brackets .rita-said").inner_text().split(",")[0]
    figure.press("Enter")
    open_lab(page, "Inside")
    expect(page.locator("#in-class input")).to_have_value(name)


def test_the_pictures_of_the_stored_cloud_lie_under_their_points_on_a_switch(figures_page: Page) -> None:
    page = figures_page
    points = page.locator("#fig-cloud .xy .scatterlayer .trace").first.locator("path.point")
    expect(points.first).to_be_visible()
    pictures = page.locator("#fig-cloud .imagelayer image")
    expect(pictures).to_have_count(0)
    page.get_by_label("Pictures under the points").check()
    expect(pictures).to_have_count(points.count())
    source = str(pictures.first.get_attribute("href") or pictures.first.get_attribute("xlink:href"))
    assert source.startswith("data:image/")
    page.get_by_label("Pictures under the points").uncheck()
    expect(pictures).to_have_count(0)
