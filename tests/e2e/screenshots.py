"""Pictures of the running page: ``python -m tests.e2e.screenshots FOLDER``.

Both widths, light and dark, the first screen and every tab as a whole; ``first-screen.jpg`` is the one in the README.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser import FLAGS, find_browser
from tests.live_server import start_server

SIZES = {"wide": (1440, 900), "phone": (390, 844)}
SCHEMES = ("light", "dark")


def stream(page: Page) -> None:
    """A short stream, so that the tab has something to show."""
    page.locator("#stream-pictures input[type=number]").fill("12")
    page.locator("#stream-start").click()
    expect(page.locator("#stream-status")).to_contain_text("All 12", timeout=LONG_TIMEOUT_MS)
    page.wait_for_timeout(2_000)


def collect_cloud(page: Page) -> None:
    """A small cloud, placed by UMAP."""
    for element, value in (("fig-classes", "5"), ("fig-each", "4"), ("fig-views", "16")):
        number = page.locator(f"#{element} input[type=number]")
        number.fill(value)
        number.press("Enter")
    page.locator("#fig-gather").click()
    expect(page.locator("#fig-cloud")).to_contain_text("approximate placement", timeout=LONG_TIMEOUT_MS)
    page.wait_for_timeout(2_000)


LONG_TIMEOUT_MS = 400_000  # ms
PREPARE_TAB = {"Stream": stream, "Figures of the paper": collect_cloud}


def take_screenshots(browser: Browser, url: str, folder: Path, name: str, scheme: str) -> None:
    """Wait for the worked example with its film, then take the first screen and the whole of every tab."""
    width, height = SIZES[name]
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(f"{url}?__theme={scheme}")
    page.wait_for_selector("#verdicts table", timeout=120_000)
    page.wait_for_selector("#plan .heatmaplayer image", timeout=120_000)
    page.wait_for_timeout(15_000)  # the film's verdicts follow one by one
    page.screenshot(path=folder / f"{name}-{scheme}.png")
    if (name, scheme) == ("wide", "light"):
        page.screenshot(path=folder / "first-screen.jpg", quality=85, type="jpeg")
    for number, tab in enumerate(page.get_by_role("tab").all()):
        tab.click()
        page.wait_for_timeout(4_000)  # its figures are drawn when it is first seen
        PREPARE_TAB.get(tab.inner_text(), lambda _: None)(page)
        page.screenshot(path=folder / f"{name}-{scheme}-tab{number + 1}.png", full_page=True)
    page.close()


def main(folder: Path) -> None:
    """Take all of them from one server."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as logs,
        start_server(Path(logs) / "log.txt") as url,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=find_browser(), args=FLAGS)
        for name in SIZES:
            for scheme in SCHEMES:
                take_screenshots(browser, url, folder, name, scheme)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots"))
