"""The wall of the paper's figures on the real server with the embedded model: a point, and collecting that is stopped."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab, severe_findings

pytestmark = pytest.mark.e2e
LONG_TIMEOUT_MS = 240_000  # ms: a few pictures are attacked, and UMAP starts its process


@pytest.fixture
def room(shared_page: Page) -> Page:
    """The room with a cloud; the first test finds the stored one of drawn textures."""
    open_lab(shared_page, "Figures")
    expect(shared_page.locator("#fig-large .scatterlayer path.point").first).to_be_visible(timeout=LONG_TIMEOUT_MS)
    return shared_page


def walk(page: Page, key: str) -> str:
    """Walk to a mark of the large figure with a key and choose it; the words that a screen reader gets of it."""
    figure = page.locator("#fig-large .rita-figure")
    figure.press(key)
    page.wait_for_timeout(500)  # the words follow the last step
    said = page.locator("#fig-large .rita-said").inner_text()
    figure.press("Enter")
    return said


def set_number(page: Page, name: str, value: int) -> None:
    number = page.locator(f"#fig-{name} input[type=number]")
    number.fill(str(value))
    number.press("Enter")
    expect(page.locator(f"#fig-{name} input[type=range]")).to_have_value(str(value))


def test_a_point_tells_its_story_and_collecting_can_be_stopped(room: Page) -> None:
    details, status = room.locator("#fig-details"), room.locator("#status")
    expect(room.locator("#figures-headline")).to_contain_text(
        re.compile(r"Under attack \d+ of 100 neighbours share a picture’s class")
    )
    expect(details.locator("img")).to_be_visible()
    expect(details).to_contain_text("of its 16 crops lie nearest to")
    shown = ", ".join(walk(room, "ArrowLeft").split(", ")[:2])
    expect(details.locator("h3").first).to_have_text(shown)
    room.get_by_label("PCA").check()
    expect(room.locator("#fig-caption")).to_contain_text("PCA.")
    expect(details.locator("h3").first).to_have_text(shown)
    assert severe_findings(room) == []
    room.locator("#figures-drawer > button").click()
    set_number(room, "each", 10)
    room.get_by_role("button", name="Collect pictures", exact=True).click()
    expect(status).to_contain_text("of 60", timeout=LONG_TIMEOUT_MS)
    room.locator("#fig-stop").click()
    expect(status).to_contain_text("Stopped", timeout=LONG_TIMEOUT_MS)
    expect(room.locator("#fig-stop")).to_be_hidden()
    expect(room.locator("#fig-caption")).to_contain_text("Stored example:")
    room.keyboard.press("Escape")
    details.get_by_role("button", name="Open in Inside").click()
    inside = room.get_by_role("tab", name="Inside", exact=True)
    expect(inside).to_have_attribute("aria-selected", "true", timeout=LONG_TIMEOUT_MS)
