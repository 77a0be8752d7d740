"""The page from outside: a real server in a process of its own, and a browser where there is one.

Nothing of the page is imported: what is timed is what a visitor waits for.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from rita_demo import environment

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PATIENCE = 180.0  # seconds until the server has to answer
FIRST_PAINT = """() => new Promise(done => {
  const paint = () => performance.getEntriesByName('first-contentful-paint')[0];
  const wait = () => paint() ? done(paint().startTime / 1000) : setTimeout(wait, 20);
  wait();
})"""
PLAN = "#in-plan-attacked"
STRENGTHS = "() => document.querySelectorAll('#strength-shown input').length === 4"
# From the press of a button to the changed panel (its text, or what is drawn in it) on the screen, on the
# browser's own clock.
TOUCH = """([button, panel]) => new Promise((done, failed) => {
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
# The keyboard's mark goes to the next cell.
WALK = "figure => figure.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))"


def measure(backbone: str, rounds: int = 5) -> tuple[dict[str, float], list[str]]:
    """Median seconds by stage name, and a sentence for each thing that could not be measured.

    Args:
        backbone: the model the server starts with, by name.
        rounds: how often each is repeated.
    """
    begin = time.perf_counter()
    with _server(backbone) as address:
        found = {"page: server start": time.perf_counter() - begin}
        found["page: first GET"] = _repeated(rounds, lambda: _get(address))
        path = environment.value("RITA_BROWSER") or next(
            filter(None, map(shutil.which, BROWSERS)), None
        )
        if path is None or importlib.util.find_spec("playwright") is None:
            return found, ["First paint and selection need Chromium and the package playwright."]
        return found | _in_browser(path, address, rounds), []


def _in_browser(path: str, address: str, rounds: int) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=FLAGS)
        try:
            paint = _repeated(rounds, lambda: _first_paint(chromium, address), timed=False)
            page = chromium.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(PATIENCE * 1000)
            page.goto(address)
            page.wait_for_selector("#verdicts table")  # the worked example is there
            page.wait_for_selector("#views button")
            page.wait_for_timeout(2000)
            turn = itertools.count(1)
            touch = _repeated(
                rounds,
                lambda: _touched(page, ["#views button", next(turn)], "#view-detail"),
                timed=False,
            )
            page.wait_for_function(STRENGTHS, timeout=PATIENCE * 1000)
            other = itertools.cycle([["#strength-shown input", 3], ["#strength-shown input", 2]])
            strength = _repeated(
                rounds, lambda: _touched(page, next(other), "#verdicts"), timed=False
            )
            page.get_by_role("tab", name="Inside RITA").click()
            page.wait_for_selector("#in-plan-attacked .heatmaplayer image")
            page.wait_for_timeout(2000)
            what_if = _repeated(rounds, lambda: _left_out(page, "#whatif-banner"), timed=False)
            plan = page.locator(f"{PLAN} .rita-figure")
            plan.scroll_into_view_if_needed()
            redrawn = _repeated(rounds, lambda: _left_out(page, PLAN), timed=False)
            followed = _repeated(rounds, lambda: _walked(page, plan), timed=False)
        finally:
            chromium.close()
    return {
        "page: first paint": paint,
        "page: selection": touch,
        "page: strength": strength,
        "page: what-if": what_if,
        "page: what-if to plan": redrawn,
        "page: selection to plan": followed,
    }


def _touched(page: Any, button: list[Any], panel: str) -> float:
    """Seconds from a press to the changed panel, a moment after the page has come to rest."""
    page.wait_for_timeout(500)
    return float(page.evaluate(TOUCH, [button, panel]))


def _left_out(page: Any, panel: str) -> float:
    """Seconds from leaving the chosen view out to the panel decided again; putting it back decides nothing."""
    leave = ["#whatif-view", 0]
    seconds = _touched(page, leave, panel)
    _touched(page, leave, panel)
    return seconds


def _walked(page: Any, plan: Any) -> float:
    """Seconds from choosing the next cell of the plan by keyboard to its frame on the screen."""
    plan.evaluate(WALK)
    return _touched(page, [f"{PLAN} .rita-figure", 0], PLAN)


def _first_paint(chromium: Any, address: str) -> float:
    """Seconds from the start of the navigation to the first content, in a browser without a cache."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        page.goto(address, wait_until="commit")
        return float(page.evaluate(FIRST_PAINT))
    finally:
        context.close()


def _repeated(rounds: int, work: Callable[[], Any], timed: bool = True) -> float:
    """Median of ``rounds`` calls after one to warm up: of their wall time, or of what they return."""
    values = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        value = work()
        values.append(time.perf_counter() - begin if timed else value)
    return median(values[1:])


def _get(address: str) -> None:
    with urllib.request.urlopen(address, timeout=30) as answer:
        answer.read()


@contextmanager
def _server(backbone: str) -> Iterator[str]:
    """``python -m rita_demo serve`` on a free port until the end of the block; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    words = ["-m", "rita_demo", "serve", "--port", str(port), "--backbone", backbone]
    surroundings = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "RITA_HOST": "127.0.0.1",
        "RITA_PREPARE": "0",
    }
    root = Path(__file__).resolve().parents[2]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(
        [sys.executable, *words], cwd=root, env=surroundings, stdout=quiet, stderr=quiet
    )
    try:
        _wait(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def _wait(address: str, server: subprocess.Popen) -> None:
    begin = time.perf_counter()
    while time.perf_counter() - begin < PATIENCE:
        if server.poll() is not None:
            raise RuntimeError(f"The server ended at once, with status {server.returncode}.")
        try:
            return _get(address)
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"The server does not answer after {PATIENCE:.0f} s.")
