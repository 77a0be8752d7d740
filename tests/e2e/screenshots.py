"""The README's picture of the first screen: ``python -m tests.e2e.screenshots FILE.jpg``."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from rita_demo.process.environment import BROWSER_FLAGS
from tests.browser import find_browser
from tests.live_server import start_server

if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as logs,
        start_server(Path(logs) / "log.txt") as url,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=find_browser(), args=BROWSER_FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{url}?__theme=light")
        page.wait_for_selector(".story .answers td:not(:empty)", timeout=120_000)
        page.wait_for_selector("#opening", state="detached")
        page.wait_for_timeout(2_500)  # the wipe has moved
        page.screenshot(path=sys.argv[1], quality=85, type="jpeg")
