"""The tab Stream in a real browser: pause, one picture, resume, time slider, Inside RITA, cancel, stored runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.scan import grave

pytestmark = pytest.mark.e2e
PICTURES = 12  # a second each: nobody presses "Pause" before the end of four on a busy machine


@pytest.fixture
def stream(page: Page) -> Page:
    """The tab, set to a short stream of drawn textures."""
    page.get_by_role("tab", name="Stream").click()
    expect(page.locator("#stream-start")).to_be_visible()
    page.locator("#stream-pictures input[type=number]").fill(str(PICTURES))
    return page


def decided(page: Page) -> int:
    """How many pictures the status says are decided."""
    found = re.search(r"(?:Picture |All )?(\d+)(?: of| pictures)", status(page))
    return int(found[1]) if found else 0


def status(page: Page) -> str:
    return page.locator("#stream-status").inner_text()


def go_to(page: Page, t: int) -> None:
    number = page.locator("#stream-time input[type=number]")
    number.fill(str(t))
    number.press("Enter")


def test_a_stream_is_paused_stepped_resumed_looked_back_at_and_opened_inside(
    stream: Page, tmp_path: Path
) -> None:
    stream.get_by_role("button", name="Start the stream").click()
    expect(stream.locator("#stream-status")).to_contain_text(f"Picture 1 of {PICTURES}")
    stream.get_by_role("button", name="Pause").click()
    resume = stream.get_by_role("button", name="Resume")
    expect(resume).to_be_visible()
    paused = decided(stream)
    assert 1 <= paused < PICTURES
    stream.get_by_role("button", name="One picture").click()
    expect(stream.locator("#stream-status")).to_contain_text(
        f"{paused + 1} of {PICTURES} pictures are decided"
        if paused + 1 < PICTURES
        else f"All {PICTURES} pictures are decided"
    )
    if paused + 1 < PICTURES:
        resume.click()
    expect(stream.locator("#stream-status")).to_contain_text(f"All {PICTURES} pictures are decided")
    for figure in ("accuracy", "classes"):
        expect(stream.locator(f"#stream-{figure} .js-plotly-plot svg").first).to_be_visible()
    expect(stream.locator("#stream-standings")).to_contain_text(f"of n = {PICTURES}")
    findings = grave(stream)
    assert not findings, "\n".join(findings)
    go_to(stream, 2)
    expect(stream.locator("#stream-heading")).to_contain_text(f"After picture 2 of {PICTURES}")
    expect(stream.locator("#stream-standings")).to_contain_text("of n = 2")
    expect(stream.locator("#stream-memory")).to_contain_text("After picture 2")
    with stream.expect_download() as download:
        stream.get_by_role("button", name="Export the rows").click()
    download.value.save_as(tmp_path / "rows.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 3 * PICTURES
    second = [row for row in rows if row["method"] == "rita"][1]
    stream.get_by_role("button", name="Open picture 2 in Inside RITA").click()
    expect(stream.get_by_role("tab", name="Inside RITA")).to_have_attribute("aria-selected", "true")
    expect(stream.locator("#status")).to_contain_text(re.compile("Done in|Every step"))
    expect(stream.locator("#inside-strip")).to_contain_text(second["answer"])
    stream.get_by_role("tab", name="Memory (cache)").click()
    expect(stream.locator("#log")).to_contain_text("A stream, before its picture 2")


def test_a_cancelled_stream_is_kept_as_a_stored_run(stream: Page) -> None:
    stream.locator("#stream-seed input").fill("7")
    stream.locator("#stream-pictures input[type=number]").fill("40")
    stream.locator("#stream-traffic").get_by_label("clean", exact=True).check()
    stream.get_by_role("button", name="Start the stream").click()
    expect(stream.locator("#stream-status")).to_contain_text("Picture 1 of 40")
    stream.get_by_role("button", name="Cancel").click()
    expect(stream.locator("#stream-heading")).to_contain_text("No stream yet")
    expect(stream.get_by_role("button", name="Start the stream")).to_be_enabled()
    stream.get_by_role("button", name="Open a stored run").click()
    stream.locator("#stored-run input").click()
    stream.get_by_role("option", name=re.compile("textures test, clean, seed 7")).click()
    stream.get_by_role("button", name="Open it").click()
    expect(stream.locator("#stream-heading")).to_contain_text("seed 7")
    expect(stream.locator("#stream-status")).to_contain_text(
        re.compile(r"^\s*[1-9]\d? of 40 pictures are decided")
    )


def test_a_dataset_that_cannot_be_fetched_here_is_a_sentence(stream: Page) -> None:
    stream.get_by_role("button", name="Fetch a public dataset").click()
    stream.get_by_role("button", name="Fetch it").click()
    expect(stream.get_by_role("alert")).to_contain_text("No dataset is chosen")
    findings = grave(stream)  # of the sentence, too
    assert not findings, "\n".join(findings)
