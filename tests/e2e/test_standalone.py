"""``explain --html`` from a terminal, opened in a browser without any network."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from rita_demo.cli import main as cli
from rita_demo.data.samples import SAMPLES

pytestmark = pytest.mark.e2e


def test_the_file_opens_offline_and_draws_its_figures(browser: Browser, tmp_path: Path) -> None:
    picture, html = SAMPLES["cat"].path, tmp_path / "story.html"
    asked = ["--classes", "cat,crab,piano", "--label", "cat", "--methods", "clip,ensemble,rita", "--html"]
    assert cli.main(["explain", str(picture), *asked, str(html)]) == 0
    context = browser.new_context(offline=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(html.as_uri())
    for name in ("steps", "entropies", "costs", "plan"):
        page.wait_for_selector(f"#{name} .js-plotly-plot svg")
    expect(page.locator(".story .headline")).to_contain_text("This is a cat.")
    expect(page.locator(".story .push .dot")).to_have_count(64)
    for needs_server in (".own", ".know", ".door"):
        expect(page.locator(f".story {needs_server}").first).to_be_hidden()
    page.get_by_role("button", name="Play the attack").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("button", name="Play the attack")).to_be_visible(timeout=20_000)
    expect(page.locator(".story .adds .verdict")).to_contain_text("the plan says ")
    page.get_by_role("button", name="trained on attacks").click()
    expect(page.locator(".story .good .lead")).to_contain_text("Trained on attacks: ")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.emulate_media(media="print")
    assert "the attacker does not know" in page.locator("#threat").inner_text()  # it stands on paper, too
    context.close()
    assert not complaints
