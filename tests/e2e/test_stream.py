"""The tab Stream in a real browser: pause, one picture, resume, time slider, Inside RITA, cancel, stored runs."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab
from tests.e2e.scan import severe_findings

pytestmark = pytest.mark.e2e
PICTURES = 12  # a second each: on a busy machine four end before "Pause" is pressed


@pytest.fixture
def stream_page(page: Page) -> Page:
    """The tab, set to a short stream of drawn textures."""
    open_lab(page, "Memory")
    expect(page.locator("#stream-says")).to_contain_text("Stored example.")
    expect(page.locator("#stream-heading")).to_contain_text("After picture 40 of 40")
    press(page, "Which pictures, how many")
    number = page.locator("#stream-pictures input[type=number]")
    expect(number).to_be_visible()
    page.wait_for_timeout(500)  # what a fold has just shown may still be drawn with its first value
    number.fill(str(PICTURES))
    number.press("Tab")
    expect(page.locator("#stream-pictures input[type=range]")).to_have_value(str(PICTURES))
    return page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()


def expect_tab(page: Page, name: str) -> None:
    """The tab is in front, with a run that was opened from the stream."""
    expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#status")).to_contain_text(re.compile("Done in|Every step"))


@pytest.mark.nightly
def test_a_stream_is_paused_resumed_rewound_compared_and_its_pictures_are_opened(
    stream_page: Page, tmp_path: Path
) -> None:
    page, decided = stream_page, stream_page.locator("#stream-status")
    press(page, "Start a stream of your own")
    expect(decided).to_contain_text(f"Picture 1 of {PICTURES}")
    press(page, "Pause")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    paused = int(re.search(r"\d+", decided.inner_text())[0])
    assert 1 <= paused < PICTURES - 1
    press(page, "One picture")
    expect(decided).to_contain_text(f"{paused + 1} of {PICTURES} pictures are decided")
    press(page, "Resume")
    expect(decided).to_contain_text(f"All {PICTURES} pictures are decided")
    for figure in ("accuracy", "timeline", "classes"):
        expect(page.locator(f"#stream-{figure} .js-plotly-plot svg").first).to_be_visible()
    expect(page.locator("#stream-standings")).to_contain_text(f"of n = {PICTURES}")
    expect(page.locator("#stream-help")).to_contain_text(re.compile("It changes no|McNemar"))
    press(page, "Every stored view: where it came from")
    rows = page.locator("#stream-remembered tbody tr")
    expect(rows.first).to_be_visible()
    listed = rows.count()
    assert listed > 2
    assert page.locator("#stream-remembered tbody img").count() == listed
    page.locator("#stream-search textarea").press_sequentially("wrong")
    expect(page.locator("#stream-remembered")).not_to_contain_text("✓")
    assert 0 < rows.count() < listed  # some view of a texture stands under another class
    page.locator("#stream-search textarea").fill("")
    expect(rows).to_have_count(listed)
    findings = severe_findings(page)
    assert not findings, "\n".join(findings)
    press(page, f"Open the memory before picture {PICTURES}")
    expect_tab(page, "Memory")
    expect(page.locator("#moment-title")).to_contain_text(
        f"Moment {PICTURES - 1}: picture {PICTURES - 1} of the stream"
    )
    page.locator("#contents button").first.click()
    expect(page.locator("#item-detail")).to_contain_text(re.compile("of (the|a) stream"))
    open_lab(page, "Inside")
    page.locator("#inside-drawer > button").click()
    page.locator("#whatif-item").click()
    expect(page.locator("#in-effect")).to_contain_text(re.compile("The lead of the true class (changes|does)"))
    open_lab(page, "Memory")
    page.wait_for_timeout(1500)  # its panels are drawn again when it is opened
    page.locator("#stream-time input[type=number]").fill("2")
    page.locator("#stream-time input[type=number]").press("Enter")
    expect(page.locator("#stream-heading")).to_contain_text(f"After picture 2 of {PICTURES}")
    expect(page.locator("#stream-standings")).to_contain_text("of n = 2")
    expect(page.locator("#stream-memory")).to_contain_text("After picture 2")
    with page.expect_download() as download:
        press(page, "Export the rows")
    download.value.save_as(tmp_path / "rows.jsonl")
    written = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    assert len(written) == 4 * PICTURES  # CLIP, Ensemble, RITA with its memory and without
    second = [row for row in written if row["method"] == "rita"][1]
    press(page, "Open picture 2 in Inside")
    expect_tab(page, "Inside")
    expect(page.locator("#inside-strip")).to_contain_text(second["answer"])
    assert page.evaluate("scrollY") == 0, "its head is in sight"
    open_lab(page, "Memory")
    expect(page.locator("#log")).to_contain_text("picture 1 of the stream")
    expect(page.locator("#memory-menu input")).to_have_value(re.compile("^A stream "))
    open_lab(page, "Memory")
    number = rows.first.locator("button").get_attribute("data-picture")
    rows.first.locator("button").click()
    expect_tab(page, "Inside")
    open_lab(page, "Memory")
    expect(page.locator("#log")).to_contain_text(f"picture {int(number) - 1} of the stream")


def test_a_cancelled_stream_stays_a_stored_run(stream_page: Page) -> None:
    page = stream_page
    page.locator("#stream-seed input").fill("7")
    page.locator("#stream-pictures input[type=number]").fill("40")
    page.locator("#stream-traffic").get_by_label("clean", exact=True).check()
    press(page, "Start a stream of your own")
    expect(page.locator("#stream-status")).to_contain_text(re.compile(r"Picture \d+ of 40"))
    press(page, "Cancel")
    expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    expect(page.locator("#stream-heading")).to_contain_text("seed 7")
    expect(page.get_by_role("button", name="Start a stream of your own")).to_be_enabled()
    page.locator("#stored-run input").click()
    page.get_by_role("option", name=re.compile("Stored example: dtd test, 47 class names")).click()
    expect(page.locator("#stream-says")).to_contain_text("Describable Textures")
    page.locator("#stored-run input").click()
    page.get_by_role(
        "option", name=re.compile("textures test, 47 class names, 40 pictures.*seed 7.*unfinished")
    ).click()
    expect(page.locator("#stream-heading")).to_contain_text("seed 7")
    expect(page.locator("#stream-status")).to_contain_text(re.compile(r"^\s*[1-9]\d? of 40 pictures are decided"))
    press(page, "Download a public dataset")
    press(page, "Download it")
    expect(page.get_by_text("Not done: the message above says why.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("No dataset is chosen")
    findings = severe_findings(page)  # of the sentence, too
    assert not findings, "\n".join(findings)
