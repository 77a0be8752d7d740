"""The real page in a real browser: one server and one Chromium for all tests, a fresh context for each test or file.

Every request that would leave the machine fails the test, and so does every error in the browser's console.
"""

import base64
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, Request, expect

from tests.live_server import start_server

TIMEOUT_MS = 120_000
LOCAL = {"127.0.0.1", "localhost"}
#: Drawings are hidden from readers, who get their words instead; their colours are measured in tests/figures.
NOT_DRAWINGS = {"exclude": [".rita-plot svg"]}
#: Rules that every scan must have met something to check with: a scan of nothing finds nothing.
RULES_COVERED = {"color-contrast", "button-name", "aria-hidden-focus"}
#: The server knows the page, and its run, or that of its link, is there.
TOLD_JS = """() => {
  const status = document.querySelector("#status");
  return document.querySelector(".story:not([hidden]) .answers td") && status?.textContent.trim()
    && !status.querySelector(".stale") && !document.documentElement.classList.contains("awaited");
}"""
#: The pixels of a canvas, without its opacity.
CANVAS_JS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return [canvas.height, canvas.width, btoa(Array.from(data, (v) => String.fromCharCode(v)).join(""))];
}"""


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real server, started as a person would; ``RITA_URL`` names one that is already running."""
    if os.environ.get("RITA_URL"):
        yield os.environ["RITA_URL"]
        return
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with start_server(log) as url:
        yield url
        assert "Traceback" not in log.read_text(), log.read_text()[-4000:]


@contextmanager
def new_visitor(browser: Browser) -> Iterator[Page]:
    """An empty page of a new visitor. It fails on every error in the console and everything that leaves the machine."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    context.set_default_timeout(TIMEOUT_MS)
    expect.set_options(timeout=TIMEOUT_MS)
    complaints: list[str] = []

    def guard(request: Request) -> None:
        if not request.url.startswith(("data:", "blob:")) and urlparse(request.url).hostname not in LOCAL:
            complaints.append(f"left the machine: {request.url}")

    context.on("request", guard)
    page = context.new_page()
    page.on("console", lambda m: complaints.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(f"page error: {error}"))
    yield page
    context.close()
    assert not complaints, complaints


@contextmanager
def visit(browser: Browser, address: str) -> Iterator[Page]:
    """A page of a new visitor on which the worked example is finished, or what a link asks for."""
    with new_visitor(browser) as page:
        page.goto(address)
        page.wait_for_function(TOLD_JS)
        yield page


@pytest.fixture
def page(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A new visitor's page for one test; the parameter is a link."""
    with visit(browser, address + getattr(request, "param", "")) as page:
        yield page


@pytest.fixture(scope="module")
def shared_page(browser: Browser, address: str) -> Iterator[Page]:
    """One page for a whole file, whose tests each leave it as the next one needs it."""
    with visit(browser, address) as page:
        yield page


@pytest.fixture
def story(shared_page: Page) -> Page:
    """The Story of the worked example, on the file's page: wide, at its top and at the last step, once the crops and every
    stored step have arrived. A prediction may be answered already."""
    shared_page.set_viewport_size({"width": 1440, "height": 900})
    if not shared_page.locator("html.on-story").count():
        open_story(shared_page)
    wait_for_steps(shared_page)
    shared_page.locator(".story input.step").press("End")
    shared_page.evaluate("scrollTo(0, 0)")
    wait_until_painted(shared_page)
    return shared_page


def wait_for_steps(page: Page) -> None:
    """Until every crop is there and every stored step of the run can be shown."""
    expect(page.locator(".story .push .dot")).to_have_count(64)
    expect(page.locator(".story")).to_have_attribute("data-steps", "all")


def upload(page: Page, path: Path) -> None:
    """Choose a file with the button, as a person does."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="+ Your picture", exact=True).click()
    chooser.value.set_files(path)


def press_and_wait(page: Page, name: str) -> None:
    """Press a button and wait until everything is done."""
    status = "document.querySelector('#status').textContent"
    before = page.evaluate(status)
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_function(f"before => {status} !== before", arg=before)
    expect(page.locator("#status")).to_contain_text("Done in")
    expect(page.locator("#stop")).to_be_hidden()


def saved(page: Page, folder: Path, press: Callable[[], object]) -> Path:
    """The file that the browser downloads when something is pressed."""
    with page.expect_download() as download:
        press()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def open_lab(page: Page, name: str) -> Locator:
    """Open a tab of the Lab, by its name; returns the tab."""
    if page.locator("html.on-story").count():
        page.locator("[data-level=lab]").click()
    tab = page.get_by_role("tab", name=name, exact=True)
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    wait_until_painted(page)
    return tab


def wait_until_painted(page: Page) -> None:
    """Wait until a person could see what was opened: Gradio gives controls that are new on the page their values in the
    next frame, and takes back what is typed before it."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def unfold(page: Page, name: str) -> None:
    """Open a fold, unless an earlier test has."""
    button = page.get_by_role("button", name=name)
    if "open" not in str(button.get_attribute("class")).split():
        button.click()


def open_story(page: Page) -> None:
    """Go back to the Story."""
    page.locator("[data-level=story]").click()
    expect_level(page, "story")


def expect_level(page: Page, level: str) -> None:
    """The page is at the Story or in the Lab."""
    expect(page.locator(f"[data-level={level}]")).to_have_attribute("aria-current", "page")


def open_settings(page: Page) -> None:
    """Open the drawer of the form, unless an earlier test has."""
    if not page.locator("#truth").is_visible():
        page.locator("#settings > button").click()
    expect(page.locator("#truth")).to_be_visible()
    wait_until_painted(page)


def canvas_shown(page: Page, query: str) -> np.ndarray:
    """The pixels (H, W, 3) of a canvas of the Story."""
    high, wide, data = page.locator(query).evaluate(CANVAS_JS)
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(high, wide, 4)[..., :3]


def story_shown(page: Page, kind: str) -> np.ndarray:
    """The pixels of the Story's large picture; kind: clean or attacked."""
    return canvas_shown(page, f".photo .{'before' if kind == 'clean' else 'now'}")


def saved_square(page: Page, folder: Path, kind: str) -> np.ndarray:
    """The pixels of a picture in the file that *Save this run* makes in the Lab; kind: clean or attacked."""
    path = saved(page, folder, page.get_by_role("button", name="Save this run").click)
    with zipfile.ZipFile(path) as file:
        return np.array(Image.open(io.BytesIO(file.read(f"{kind}.png"))))


def severe_findings(page: Page, where: str | dict | None = None) -> list[str]:
    """The serious and critical findings of axe-core: impact, rule, selector and what to do; ``where`` narrows the scan."""
    found = Axe().run(page, where or NOT_DRAWINGS).response
    if where is None:
        kinds = ("passes", "violations", "incomplete")
        checked = {one["id"] for kind in kinds for one in found[kind]}
        assert checked >= RULES_COVERED, checked
    return [
        f"[{one['impact']}] {one['id']} at {node['target']}: {node['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
