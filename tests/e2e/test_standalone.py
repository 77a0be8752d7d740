"""``explain --html`` from a terminal, opened in a browser without any network."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from rita_demo.cli import main as cli
from rita_demo.data.samples import SAMPLES

pytestmark = pytest.mark.e2e


def test_the_file_opens_offline_plays_and_prints(browser: Browser, tmp_path: Path) -> None:
    picture, html = SAMPLES["cat"].path, tmp_path / "story.html"
    asked = ["--classes", "cat,crab,piano", "--label", "cat", "--methods", "clip,ensemble,rita", "--html"]
    assert cli.main(["explain", str(picture), *asked, str(html)]) == 0
    context = browser.new_context(offline=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(html.as_uri())
    expect(page.locator(".story .headline")).to_contain_text("This is a cat.")
    expect(page.locator(".story .push .dot")).to_have_count(64)
    for needs_server in (".know", ".door"):
        expect(page.locator(f".story {needs_server}").first).to_be_hidden()
    page.get_by_role("button", name="Play the attack").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("button", name="Play the attack")).to_be_visible(timeout=20_000)
    expect(page.locator(".story .adds .verdict")).to_contain_text("the plan says ")
    page.get_by_role("button", name="trained on attacks").click()
    expect(page.locator(".story .good .lead")).to_contain_text("Trained on attacks: ")
    page.get_by_role("button", name="Try your own picture").click()
    expect(page.get_by_role("dialog")).to_contain_text("make setup")
    page.keyboard.press("Escape")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".story .push .bars .bar-row").first).to_be_visible()  # paper asks no questions
    expect(page.locator("#stored")).to_contain_text("Many steps (PGD), at most 4/255")
    expect(page.locator(".story .threat")).to_contain_text("the attacker knows CLIP, not the crops")
    context.close()
    assert not complaints
