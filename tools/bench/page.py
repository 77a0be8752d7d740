"""Speed of the page: a real server in its own process, and a browser where one is installed."""

import importlib.util
import itertools
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from rita_demo.process.environment import BROWSER_FLAGS, find_chromium

VIEWPORT: Any = {"width": 1440, "height": 900}
ROUNDS = 5  # of each measurement
TIMEOUT_SECONDS = 180.0  # until the server or the page must answer
_SEEN_JS = """() => new Promise(done => {
  const look = () => READY ? requestAnimationFrame(() => done(performance.now() / 1000)) : requestAnimationFrame(look);
  look();
})"""
# The picture and the sentence of the worked example are on the screen (opening.html); the Story is in their place.
_EXAMPLE_SEEN = "[...document.images].some(i => i.closest('#opening') && i.complete && i.naturalWidth)"
_STORY_SEEN = "!document.querySelector('#opening') && document.querySelector('.story:not([hidden]) .answers td')"
EXAMPLE_JS, USABLE_JS = (_SEEN_JS.replace("READY", ready) for ready in (_EXAMPLE_SEEN, _STORY_SEEN))
PLAN_SELECTOR = "#in-plan"
# Seconds from a click to the changed panel (its text or its drawing) on the screen, by the browser's clock.
TIME_CLICK_JS = """([button, panel]) => new Promise((done, failed) => {
  setTimeout(() => failed(new Error(`${panel} did not change`)), 60000);
  const shown = document.querySelector(panel), plot = shown.querySelector(".shapelayer, .plot");
  const drawn = () => [...shown.querySelectorAll("svg.main-svg:first-child, .shapelayer")];
  const seen = () => plot ? drawn().map(e => e.innerHTML).join("") : shown.textContent;
  const before = seen(), begin = performance.now();
  const look = () => { if (seen() !== before) {
    observer.disconnect(); requestAnimationFrame(() => done((performance.now() - begin) / 1000)); } };
  const observer = new MutationObserver(look);
  observer.observe(shown, {childList: true, subtree: true, characterData: true, attributes: true});
  const pressed = document.querySelectorAll(button[0])[button[1]];
  if (!pressed.matches(".rita-figure")) return pressed.click();
  pressed.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
})"""
FRAMES = 60
# Draws that many frames of the Story, each after a move of its control.
FRAMES_JS = """(slider, frames) => new Promise((done) => { let n = 0; const step = () => {
  if (n++ === frames) return done();
  slider.value = 7 * ((n - 1) / (frames - 1)); slider.dispatchEvent(new Event('input')); requestAnimationFrame(step); };
  step(); })"""
# Moves the keyboard selection to the next cell.
NEXT_CELL_JS = "figure => figure.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))"


def measure(backbone: str) -> tuple[dict[str, float], list[str]]:
    """Median seconds by stage name, and a sentence for each thing that could not be measured. ``backbone``: the name of the
    server's model."""
    with start_server(backbone) as (address, seconds):
        found = {"page: server start": seconds}
        path = find_chromium()
        if path is None or importlib.util.find_spec("playwright") is None:
            return found, ["The other rows need Chromium and the package playwright."]
        return found | _in_browser(path, address), []


@contextmanager
def start_server(backbone: str) -> Iterator[tuple[str, float]]:
    """``python -m rita_demo serve`` on a free port until the end of the block: its address, and the seconds from its start to
    the first answer. Raises RuntimeError: it has ended, or takes too long to answer."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    words = ["-m", "rita_demo", "serve", "--port", str(port), "--backbone", backbone]
    surroundings, quiet = os.environ | {"HF_HUB_OFFLINE": "1", "RITA_HOST": "127.0.0.1"}, subprocess.DEVNULL
    root, begin = Path(__file__).resolve().parents[2], time.perf_counter()
    served = subprocess.Popen([sys.executable, *words], cwd=root, env=surroundings, stdout=quiet, stderr=quiet)
    try:
        while True:
            with suppress(OSError):
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=30).read()
                break
            if served.poll() is not None or time.perf_counter() > begin + TIMEOUT_SECONDS:
                raise RuntimeError(f"The server does not answer; its status is {served.poll()} (None: it runs).")
            time.sleep(0.05)
        yield address, time.perf_counter() - begin
    finally:
        served.terminate()
        served.wait(30)


def _in_browser(path: str, address: str) -> dict[str, float]:
    """The rows of a browser, each after its page is idle."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver, driver.chromium.launch(executable_path=path, args=BROWSER_FLAGS) as chromium:
        openings = {"page: worked example": EXAMPLE_JS, "page: usable": USABLE_JS}
        found = {name: _median_of(partial(_opening, chromium, address, at)) for name, at in openings.items()}
        page = chromium.new_page(viewport=VIEWPORT)
        page.set_default_timeout(TIMEOUT_SECONDS * 1000)

        def click(selector: str, number: int, panel: str) -> float:
            """Seconds from a click to the changed panel, half a second after the page is idle."""
            page.wait_for_timeout(500)
            return float(page.evaluate(TIME_CLICK_JS, [[selector, number], panel]))

        def exclude(panel: str) -> float:
            """Seconds from excluding the selected view to the updated panel; then include it again."""
            seconds, _ = [click("#whatif-view", 0, panel) for _ in range(2)]
            return seconds

        page.goto(address)
        page.wait_for_selector(".story .push .dot")  # the worked example is shown
        page.wait_for_timeout(2000)
        step = page.locator(".story input.step")
        frame = _median_of(lambda: main_thread_seconds(step, FRAMES_JS, FRAMES) / FRAMES)
        found["page: a frame of the Story (processor)"] = frame
        page.locator("[data-level=lab]").click()  # its first tab is the run on screen
        page.wait_for_selector("#in-views button")
        page.wait_for_timeout(2000)
        views = itertools.count(1)
        found["page: selection"] = _median_of(lambda: click("#in-views button", next(views), "#in-crop"))
        page.wait_for_selector("#in-plan .heatmaplayer image")
        page.wait_for_timeout(2000)
        found["page: what-if"] = _median_of(lambda: exclude("#inside-headline"))
        plan = page.locator(f"{PLAN_SELECTOR} .rita-figure")
        plan.scroll_into_view_if_needed()
        found["page: what-if to plan"] = _median_of(lambda: exclude(PLAN_SELECTOR))

        def next_cell() -> float:
            """Seconds from selecting the next cell of the plan by keyboard to its frame on the screen."""
            plan.evaluate(NEXT_CELL_JS)
            return click(f"{PLAN_SELECTOR} .rita-figure", 0, PLAN_SELECTOR)

        found["page: selection to plan"] = _median_of(next_cell)

        def change_room() -> float:
            """Seconds from a change of room to the panel on the screen that another crop, chosen in the Story, changed."""
            page.locator("[data-level=story]").click()
            page.locator(".story .push .dot").nth(next(views)).dispatch_event("click")
            return click("[data-level=lab]", 0, "#in-crop")

        found["page: room changed until drawn"] = _median_of(change_room)
    return found


def main_thread_seconds(at: Any, script: str, *given: Any) -> float:
    """Processor seconds of the page's main thread (script, style, layout, paint) while ``script`` runs on the element
    ``at``: other processes do not count."""
    client = at.page.context.new_cdp_session(at.page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        return {one["name"]: one["value"] for one in client.send("Performance.getMetrics")["metrics"]}["TaskDuration"]

    begin = seconds()
    at.evaluate(script, *given)
    return seconds() - begin


def _opening(chromium: Any, address: str, moment: str) -> float:
    """Seconds from the start of the navigation to a moment, in a browser without a cache."""
    with chromium.new_context(viewport=VIEWPORT) as context:
        page = context.new_page()
        page.goto(address, wait_until="commit")
        return float(page.evaluate(moment))


def _median_of(measured: Callable[[], float]) -> float:
    """Median of the results of ``ROUNDS`` calls after a warm-up call."""
    return median([measured() for _ in range(ROUNDS + 1)][1:])
