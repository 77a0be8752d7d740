"""The real page in a real browser: one server and one Chromium for all tests, a fresh context for each.

Every request that would leave the machine is blocked and fails the test, and so does every error in
the browser's console.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from tests.browser import FLAGS, find_browser

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60_000  # ms; generous, since the machine may be busy
LOCAL = {"127.0.0.1", "localhost"}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real server, started as a person would; ``RITA_URL`` names one that is already running."""
    if os.environ.get("RITA_URL"):
        yield os.environ["RITA_URL"]
        return
    port, log = _free_port(), tmp_path_factory.mktemp("server") / "log.txt"
    environment = os.environ | {"RITA_PORT": str(port), "RITA_HOST": "127.0.0.1"}
    environment.pop("RITA_BACKBONE", None)
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
    try:
        _wait_until_answers(f"http://127.0.0.1:{port}/", server, log)
        yield f"http://127.0.0.1:{port}/"
        assert "Traceback" not in log.read_text(), log.read_text()[-4000:]
    finally:
        server.terminate()
        server.wait(20)


def _wait_until_answers(url: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(240):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise RuntimeError(f"the server does not answer:\n{log.read_text()[-4000:]}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium; without one the tests are skipped at home and fail in CI."""
    path = find_browser()
    if path is None:
        message = "no Chromium: python -m tests.browser installs one"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page of a new visitor on which the worked example is finished."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    complaints: list[str] = []

    def guard(route: Route) -> None:
        if urlparse(route.request.url).hostname in LOCAL:
            route.continue_()
        else:
            complaints.append(f"left the machine: {route.request.url}")
            route.abort()

    context.route(lambda url: not url.startswith(("data:", "blob:")), guard)
    page = context.new_page()
    page.on(
        "console",
        lambda m: complaints.append(f"console: {m.text}") if m.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(f"page error: {error}"))
    page.goto(address)
    page.wait_for_selector("#verdicts table")
    page.wait_for_selector("#views button")
    yield page
    context.close()
    assert not complaints, complaints
