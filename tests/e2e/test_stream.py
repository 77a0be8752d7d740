"""A stream of one's own in a real browser: start, stop, going on, its pictures, stored runs, downloads."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab, saved, severe_findings

pytestmark = pytest.mark.e2e
PICTURES = 12  # a second each: on a busy machine four end before "Stop" is pressed


@pytest.fixture
def stream_page(page: Page) -> Page:
    """The drawer, set to a short stream of drawn textures."""
    open_lab(page, "Memory")
    expect(page.locator("#memory-headline")).to_contain_text("After 40 pictures")
    page.locator("#memory-drawer > button").click()
    number = page.locator("#stream-pictures input[type=number]")
    expect(number).to_be_visible()
    page.wait_for_timeout(500)  # what a drawer has just shown may still be drawn with its first value
    number.fill(str(PICTURES))
    number.press("Tab")
    expect(page.locator("#stream-pictures input[type=range]")).to_have_value(str(PICTURES))
    return page


def expect_room(page: Page, name: str) -> None:
    """The room is in front, with a run that was opened from the stream."""
    expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#status")).to_contain_text(re.compile("Done in|Every step"))


@pytest.mark.nightly
def test_a_stream_is_stopped_goes_on_is_rewound_and_its_pictures_are_opened(stream_page: Page, tmp_path: Path) -> None:
    page, status, headline = stream_page, stream_page.locator("#status"), stream_page.locator("#memory-headline")
    page.locator("#stream-start").click()
    expect(status).to_contain_text(f"Picture 1 of {PICTURES}")
    page.locator("#stream-stop").click()
    expect(status).to_contain_text(f"of {PICTURES} pictures are decided")
    stopped = int(re.search(r"\d+", status.inner_text())[0])
    assert 1 <= stopped < PICTURES - 1
    expect(headline).to_contain_text(f"After {stopped} picture")
    page.locator("#stream-start").click()
    expect(status).to_contain_text(f"All {PICTURES} pictures are decided")
    page.keyboard.press("Escape")
    expect(headline).to_contain_text(f"After {PICTURES} pictures")
    for fold in ("How full is it, and how pure?", "Who is right?", "Every stored view"):
        page.get_by_role("button", name=fold).click()
    for figure in ("accuracy", "growth"):
        expect(page.locator(f"#memory-{figure} .js-plotly-plot svg").first).to_be_visible()
    expect(page.locator("#memory-standings")).to_contain_text(f"of n = {PICTURES}")
    expect(page.locator("#memory-standings")).to_contain_text(re.compile("memory changes no|McNemar"))
    assert severe_findings(page) == []
    page.locator("#moment input[type=range]").fill("2")
    expect(headline).to_contain_text("After 2 pictures")
    expect(page.locator("#memory-standings")).to_contain_text("of n = 2")
    rows = saved(page, tmp_path, page.locator("#rows-export button").click)
    written = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
    assert len(written) == 4 * PICTURES  # CLIP, Ensemble, RITA with its memory and without
    second = [row for row in written if row["method"] == "rita"][1]
    page.locator("#open-inside").click()
    expect_room(page, "Inside")
    expect(page.locator("#inside-strip")).to_contain_text(second["answer"])
    assert page.evaluate("scrollY") == 0, "its head is in sight"
    open_lab(page, "Memory")
    expect(headline).to_contain_text("After 2 pictures")
    expect(page.locator("#memory-effect")).to_contain_text("On your picture")


def test_a_stopped_stream_stays_a_stored_run(stream_page: Page) -> None:
    page, menu = stream_page, stream_page.locator("#memory-menu input")
    page.locator("#stream-seed input").fill("7")
    page.locator("#stream-pictures input[type=number]").fill("40")
    page.locator("#stream-traffic").get_by_label("clean", exact=True).check()
    page.locator("#stream-start").click()
    expect(page.locator("#status")).to_contain_text(re.compile(r"Picture \d+ of 40"))
    page.locator("#stream-stop").click()
    expect(page.locator("#status")).to_contain_text("of 40 pictures are decided")
    expect(page.locator("#stream-start")).to_be_enabled()
    expect(menu).to_have_value(re.compile("seed 7.*unfinished"))
    page.get_by_role("button", name="Download a public dataset").click()
    page.get_by_role("button", name="Download it").click()
    expect(page.get_by_text("Not done: the message above says why.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("No dataset is chosen")
    assert severe_findings(page) == []
    page.keyboard.press("Escape")
    menu.click()
    page.get_by_role("option", name=re.compile("^Describable Textures, stored")).click()
    expect(page.locator("#memory-headline")).to_contain_text("After 40 pictures RITA has 33 right")
    menu.click()
    page.get_by_role("option", name=re.compile("textures test, 47 class names, 40 pictures.*seed 7")).click()
    expect(page.locator("#memory-headline")).to_contain_text(re.compile(r"After \d+ pictures? RITA has"))
