"""The tab Stream in a real browser: pause, one picture, resume, time slider, Inside RITA, cancel, stored runs."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.scan import severe_findings

pytestmark = pytest.mark.e2e
PICTURES = 12  # a second each: on a busy machine four end before "Pause" is pressed


@pytest.fixture
def stream_page(page: Page) -> Page:
    """The tab, set to a short stream of drawn textures."""
    page.get_by_role("tab", name="Stream").click()
    expect(page.locator("#stream-start")).to_be_visible()
    number = page.locator("#stream-pictures input[type=number]")
    number.fill(str(PICTURES))
    number.press("Tab")
    expect(page.locator("#stream-pictures input[type=range]")).to_have_value(str(PICTURES))
    return page


def decided_count(page: Page) -> int:
    """How many pictures the status says are decided."""
    found = re.search(r"(?:Picture |All )?(\d+)(?: of| pictures)", status(page))
    return int(found[1]) if found else 0


def status(page: Page) -> str:
    return page.locator("#stream-status").inner_text()


def select_picture(page: Page, t: int) -> None:
    number = page.locator("#stream-time input[type=number]")
    number.fill(str(t))
    number.press("Enter")


def test_a_stream_is_paused_stepped_resumed_rewound_and_opened_inside(stream_page: Page, tmp_path: Path) -> None:
    stream_page.get_by_role("button", name="Start the stream").click()
    expect(stream_page.locator("#stream-status")).to_contain_text(f"Picture 1 of {PICTURES}")
    stream_page.get_by_role("button", name="Pause").click()
    resume = stream_page.get_by_role("button", name="Resume")
    expect(resume).to_be_visible()
    paused = decided_count(stream_page)
    assert 1 <= paused < PICTURES
    stream_page.get_by_role("button", name="One picture").click()
    expect(stream_page.locator("#stream-status")).to_contain_text(
        f"{paused + 1} of {PICTURES} pictures are decided"
        if paused + 1 < PICTURES
        else f"All {PICTURES} pictures are decided"
    )
    if paused + 1 < PICTURES:
        resume.click()
    expect(stream_page.locator("#stream-status")).to_contain_text(f"All {PICTURES} pictures are decided")
    for figure in ("accuracy", "classes"):
        expect(stream_page.locator(f"#stream-{figure} .js-plotly-plot svg").first).to_be_visible()
    expect(stream_page.locator("#stream-standings")).to_contain_text(f"of n = {PICTURES}")
    findings = severe_findings(stream_page)
    assert not findings, "\n".join(findings)
    select_picture(stream_page, 2)
    expect(stream_page.locator("#stream-heading")).to_contain_text(f"After picture 2 of {PICTURES}")
    expect(stream_page.locator("#stream-standings")).to_contain_text("of n = 2")
    expect(stream_page.locator("#stream-memory")).to_contain_text("After picture 2")
    with stream_page.expect_download() as download:
        stream_page.get_by_role("button", name="Export the rows").click()
    download.value.save_as(tmp_path / "rows.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 4 * PICTURES  # CLIP, Ensemble, RITA with its memory and without
    second = [row for row in rows if row["method"] == "rita"][1]
    stream_page.get_by_role("button", name="Open picture 2 in Inside RITA").click()
    expect(stream_page.get_by_role("tab", name="Inside RITA")).to_have_attribute("aria-selected", "true")
    expect(stream_page.locator("#status")).to_contain_text(re.compile("Done in|Every step"))
    expect(stream_page.locator("#inside-strip")).to_contain_text(second["answer"])
    stream_page.get_by_role("tab", name="Memory (cache)").click()
    expect(stream_page.locator("#log")).to_contain_text("A stream, before its picture 2")


def test_the_memory_after_a_stream_is_listed_compared_and_opened_to_leave_views_out(stream_page: Page) -> None:
    stream_page.get_by_role("button", name="Start the stream").click()
    expect(stream_page.locator("#stream-status")).to_contain_text(f"All {PICTURES} pictures are decided")
    expect(stream_page.locator("#stream-help")).to_contain_text(re.compile("It changes nothing|McNemar"))
    expect(stream_page.locator("#stream-timeline .js-plotly-plot svg").first).to_be_visible()
    stream_page.get_by_role("button", name="Every remembered view").click()
    rows = stream_page.locator("#stream-remembered tbody tr")
    expect(rows.first).to_be_visible()
    held = rows.count()
    assert held > 2
    assert stream_page.locator("#stream-remembered tbody img").count() == held
    stream_page.locator("#stream-search textarea").press_sequentially("wrong")
    expect(stream_page.locator("#stream-remembered")).not_to_contain_text("✓")
    assert 0 < rows.count() < held  # some view of a texture stands under another class
    stream_page.locator("#stream-search textarea").fill("")
    expect(rows).to_have_count(held)
    stream_page.locator("#stream-other input").click()
    stream_page.get_by_role("option", name="its own memory after picture 6").click()
    stream_page.get_by_role("button", name="What the two memories hold").click()
    expect(stream_page.locator("#stream-contents")).to_contain_text(re.compile(r"\d+ views? in both"))
    findings = severe_findings(stream_page)
    assert not findings, "\n".join(findings)
    stream_page.get_by_role("button", name=f"Open the memory before picture {PICTURES}").click()
    expect(stream_page.get_by_role("tab", name="Memory (cache)")).to_have_attribute("aria-selected", "true")
    expect(stream_page.locator("#status")).to_contain_text(re.compile("Done in|Every step"))
    stream_page.get_by_role("button", name="What each stored view contributes").click()
    expect(stream_page.locator("#contributions")).to_contain_text("was left out once")
    stream_page.locator("#contents button").first.click()
    expect(stream_page.locator("#item-detail")).to_contain_text(re.compile("of (the|a) stream"))
    stream_page.get_by_role("tab", name="Stream").click()
    number = rows.first.locator("button").get_attribute("data-t")
    rows.first.locator("button").click()
    expect(stream_page.get_by_role("tab", name="Inside RITA")).to_have_attribute("aria-selected", "true")
    stream_page.get_by_role("tab", name="Memory (cache)").click()
    expect(stream_page.locator("#log")).to_contain_text(f"before its picture {number}")


def test_a_cancelled_stream_stays_a_stored_run(stream_page: Page) -> None:
    stream_page.locator("#stream-seed input").fill("7")
    stream_page.locator("#stream-pictures input[type=number]").fill("40")
    stream_page.locator("#stream-traffic").get_by_label("clean", exact=True).check()
    stream_page.get_by_role("button", name="Start the stream").click()
    expect(stream_page.locator("#stream-status")).to_contain_text(re.compile(r"Picture \d+ of 40"))
    stream_page.get_by_role("button", name="Cancel").click()
    expect(stream_page.locator("#stream-heading")).to_contain_text("No stream yet")
    expect(stream_page.get_by_role("button", name="Start the stream")).to_be_enabled()
    stream_page.get_by_role("button", name="Open a stored run").click()
    stream_page.locator("#stored-run input").click()
    stream_page.get_by_role("option", name=re.compile("textures test, clean, seed 7")).click()
    stream_page.get_by_role("button", name="Open it").click()
    expect(stream_page.locator("#stream-heading")).to_contain_text("seed 7")
    expect(stream_page.locator("#stream-status")).to_contain_text(
        re.compile(r"^\s*[1-9]\d? of 40 pictures are decided")
    )


def test_a_dataset_that_cannot_be_downloaded_gives_an_error_message(stream_page: Page) -> None:
    stream_page.get_by_role("button", name="Download a public dataset").click()
    stream_page.get_by_role("button", name="Download it").click()
    expect(stream_page.get_by_role("alert")).to_contain_text("No dataset is chosen")
    findings = severe_findings(stream_page)  # of the sentence, too
    assert not findings, "\n".join(findings)
