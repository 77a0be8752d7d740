"""The wall of the paper's figures on the real server with the embedded model: choose a figure, a point, pictures; stop."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab
from tests.e2e.scan import severe_findings

pytestmark = pytest.mark.e2e
LONG_TIMEOUT_MS = 240_000  # ms: a few pictures are attacked, and UMAP starts its process


@pytest.fixture
def figures_page(page: Page) -> Page:
    """The room, opened on the stored cloud of drawn textures."""
    open_lab(page, "Figures")
    expect(page.locator("#fig-large .scatterlayer path.point").first).to_be_visible(timeout=LONG_TIMEOUT_MS)
    return page


def collect_cloud(page: Page, each: int, *names: str) -> None:
    """Open the drawer, ask for so many pictures of these classes, or of six, and press."""
    page.locator("#figures-drawer > button").click()
    for name in names:
        page.locator("#fig-names input").fill(name)
        page.get_by_role("option", name=f"{name} (10)", exact=True).click()
    page.locator("#fig-names input").blur()
    for name, value in (("each", each), ("views", 16)):
        number = page.locator(f"#fig-{name} input[type=number]")
        number.fill(str(value))
        number.press("Enter")
    page.get_by_role("button", name="Collect pictures", exact=True).click()


def test_a_tile_becomes_the_large_figure_by_keyboard_and_a_class_of_the_bounds_is_selected_everywhere(
    figures_page: Page,
) -> None:
    page, headline = figures_page, figures_page.locator("#figures-headline")
    expect(headline).to_contain_text(re.compile(r"Under attack \d+ of 100 neighbours share a picture’s class"))
    tiles = page.locator("#fig-tiles button")
    expect(tiles).to_have_count(5)
    tiles.first.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#fig-tiles button:focus")).to_have_text("Does Theorem 1 hold?")
    page.keyboard.press("Enter")
    expect(headline).to_have_text(re.compile(r"Both bounds hold for (\d+) of \1 classes\."), timeout=LONG_TIMEOUT_MS)
    expect(page.locator("#fig-how")).to_be_hidden()  # of the cloud alone
    figure = page.locator("#fig-large .rita-figure")
    expect(figure).to_have_attribute("aria-label", "Does Theorem 1 hold?")
    expect(page.locator("#fig-large .ytick").first).to_be_visible()
    figure.focus()
    for _ in range(3):
        figure.press("ArrowRight")
    page.wait_for_timeout(500)  # the text for screen readers follows the last step
    name = page.locator("#fig-large .rita-said").inner_text().split(",")[0]
    figure.press("Enter")
    expect(page.locator("#fig-details h3").first).to_have_text(name)
    findings = severe_findings(page)
    assert not findings, "\n".join(findings)


def test_a_point_tells_its_story_and_opens_in_inside(figures_page: Page) -> None:
    page, details = figures_page, figures_page.locator("#fig-details")
    expect(details.locator("img")).to_be_visible()
    expect(details).to_contain_text("of its 16 crops lie nearest to")
    cloud = page.locator("#fig-large .rita-figure")
    cloud.focus()
    cloud.press("ArrowLeft")
    page.wait_for_timeout(500)  # the text for screen readers follows the last step
    shown = ", ".join(page.locator("#fig-large .rita-said").inner_text().split(", ")[:2])
    cloud.press("Enter")  # the keyboard chooses a point as a click does
    expect(details.locator("h3").first).to_have_text(shown)
    page.get_by_label("PCA").check()
    expect(page.locator("#fig-caption")).to_contain_text("PCA.")
    expect(details.locator("h3").first).to_have_text(shown)
    expect(page.locator("#fig-chips button[aria-pressed=true]")).to_have_count(0)  # no class is grey
    findings = severe_findings(page)
    assert not findings, "\n".join(findings)
    details.get_by_role("button", name="Open in Inside").click()
    inside = page.get_by_role("tab", name="Inside", exact=True)
    expect(inside).to_have_attribute("aria-selected", "true", timeout=LONG_TIMEOUT_MS)


def test_collecting_can_be_stopped_and_the_stored_example_stays(figures_page: Page) -> None:
    page, status = figures_page, figures_page.locator("#status")
    collect_cloud(page, 10)
    expect(status).to_contain_text("of 60", timeout=LONG_TIMEOUT_MS)
    page.locator("#fig-stop").click()
    expect(status).to_contain_text("Stopped", timeout=LONG_TIMEOUT_MS)
    expect(page.locator("#fig-stop")).to_be_hidden()
    expect(page.locator("#fig-caption")).to_contain_text("Stored example:")


@pytest.mark.nightly
def test_a_cloud_is_collected_placed_and_its_points_are_counted_by_a_lasso(figures_page: Page) -> None:
    page, chips = figures_page, figures_page.locator("#fig-chips button")
    collect_cloud(page, 2, "banded", "gauzy", "porous")
    expect(chips).to_have_count(3, timeout=LONG_TIMEOUT_MS)
    expect(page.locator("#figures-headline")).to_contain_text("of 100 neighbours", timeout=LONG_TIMEOUT_MS)
    expect(page.locator("#fig-caption")).to_contain_text("UMAP.", timeout=LONG_TIMEOUT_MS)
    page.keyboard.press("Escape")
    chips.nth(1).click()
    expect(chips.nth(1)).to_have_attribute("aria-pressed", "true")
    lasso(page)
    expect(page.locator("#fig-lassoed")).to_contain_text(re.compile(r"[1-9]\d* points of 6 pictures"))
    page.get_by_role("button", name="How separability is measured").click()
    expect(page.locator("#fig-separation")).to_contain_text("silhouette")
    findings = severe_findings(page)
    assert not findings, "\n".join(findings)


def lasso(page: Page) -> None:
    """Draw a loop around the cloud."""
    page.locator("#fig-large .nsewdrag").first.hover()
    page.locator('#fig-large .modebar-btn[data-title="Lasso Select"]').click()
    area = page.locator("#fig-large .nsewdrag").first.bounding_box()
    assert area is not None
    left, top, right = area["x"] + 3, area["y"] + 3, area["x"] + area["width"] - 3
    bottom = area["y"] + area["height"] - 3
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=8)
    page.mouse.up()
