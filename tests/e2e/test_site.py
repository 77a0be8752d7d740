"""Runs without our server: the site that ``make site`` writes, from its folder and from a plain server, and ``explain --html``."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from rita_demo.cli import main as cli
from rita_demo.data.samples import SAMPLES
from rita_demo.scripting.explain import load_engine
from tests.e2e.conftest import canvas_shown, severe_findings
from tests.live_server import free_port, running_process
from tools.story.site import PICTURES, write_site

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # the first test makes the site

MAX_BYTES = 15_000_000
HEADLINES = ("a motorbike", "a cup", "a palace", "a flower", "a clock", "honeycombed")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the site of two pictures at ``x/y``."""
    folder = tmp_path_factory.mktemp("web")
    write_site(load_engine("embedded"), folder / "x" / "y", PICTURES[:2])
    return folder


@pytest.fixture(scope="module", params=["folder", "server"])
def site(web: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of the site."""
    if request.param == "folder":
        yield (web / "x" / "y").as_uri()
        return
    port = free_port()
    words = ("-m", "http.server", str(port), "--bind", "127.0.0.1")
    with running_process(words, port, web / "log.txt", web, dict(os.environ)) as address:
        yield f"{address.rstrip('/')}/x/y"


@contextmanager
def visitor(browser: Browser, site: str) -> Iterator[Page]:
    """An empty page. It fails on every error in the console and on a request that fails or leaves the site."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = context.new_page(), []
    here = (site, "data:", "blob:")
    context.on("request", lambda one: None if one.url.startswith(here) else complaints.append(f"leaves: {one.url}"))
    context.on("requestfailed", lambda one: complaints.append(f"fails: {one.url[:80]}"))
    context.on("response", lambda one: complaints.append(f"{one.status}: {one.url}") if one.status >= 400 else None)
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert not complaints, complaints


def expect_story(page: Page, headline: str) -> None:
    expect(page.locator(".story")).to_have_attribute("data-steps", "all")
    expect(page.locator(".story .headline")).to_contain_text(headline)


def test_steps_guesses_crops_links_and_the_lecture_work_without_a_server_and_the_rest_is_not_there(
    browser: Browser, site: str
) -> None:
    with visitor(browser, site) as page:
        page.goto(f"{site}/index.html")
        expect_story(page, "This is a motorbike.")
        stored = "A stored run: Embedded model (15 M parameters); attack: Many steps (PGD), at most 4/255, 7 steps."
        expect(page.locator("#stored")).to_contain_text(stored)
        attacked = canvas_shown(page, ".photo .now")
        page.locator(".story input.step").press("Home")
        expect(page.locator(".story .hero output")).to_have_text("step 0 of 7")
        assert 1 <= np.abs(canvas_shown(page, ".photo .now").astype(int) - attacked).max() <= 4

        because = page.locator(".predict[data-about=noise] .because")
        page.locator(".predict[data-about=noise] .choices button").first.click()
        expect(because).to_contain_text("Yes. CLIP says motorbike")
        page.reload()
        expect(because).to_contain_text("Yes. CLIP says motorbike")  # a guess is kept
        expect(page.locator(".predict[data-about=push] .because")).to_have_text("")

        crop = page.locator(".story .push .drag")
        crop.scroll_into_view_if_needed()
        before, box = crop.get_attribute("aria-valuenow"), crop.bounding_box()
        assert box
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.7 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.2 * box["height"], steps=4)
        page.mouse.up()
        expect(crop).not_to_have_attribute("aria-valuenow", str(before))

        page.get_by_role("link", name="A cup of coffee").click()
        expect_story(page, "This is a cup.")
        expect(page.locator("#pictures [aria-current=page]")).to_have_text("A cup of coffee")
        for query in (".know", ".halt", ".back", ".door", ".which"):
            assert all(part.is_hidden() for part in page.locator(f".story {query}").all()), query
        page.get_by_role("button", name="Try your own picture").click()
        for command in ("make setup", "python app.py"):
            expect(page.get_by_role("dialog")).to_contain_text(command)
        page.keyboard.press("Escape")
        if page.url.startswith("http"):  # in a folder axe may not ask for the style sheet
            assert severe_findings(page) == []

        page.goto(f"{site}/index.html?lecture")
        count = page.locator(".story .slide-count")
        expect(count).to_contain_text("1 of ")
        expect(page.locator("#pictures")).to_be_hidden()
        page.keyboard.press("PageDown")
        expect(count).to_contain_text("2 of ")
        expect(page.locator(".story section:visible h2")).to_have_text("What does an attack do?")


def test_six_such_pages_are_small(web: Path) -> None:
    pages = [file.stat().st_size for file in (web / "x" / "y").glob("*.html")]
    shared = [file.stat().st_size for file in (web / "x" / "y").iterdir() if file.suffix != ".html"]
    assert sum(shared) + 6 * max(pages) <= MAX_BYTES


@pytest.mark.nightly
def test_the_whole_site_is_small_and_the_same_again(browser: Browser, web: Path, tmp_path: Path) -> None:
    write_site(load_engine("embedded"), tmp_path)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= MAX_BYTES
    for key, headline in zip(PICTURES, HEADLINES, strict=True):
        with visitor(browser, tmp_path.as_uri()) as page:
            page.goto((tmp_path / ("index.html" if key == PICTURES[0] else f"{key}.html")).as_uri())
            expect(page.locator(".story .headline")).to_contain_text(headline)
    for name in ("story.js", "style.css"):
        assert (tmp_path / name).read_bytes() == (web / "x" / "y" / name).read_bytes()
    story = [folder.joinpath("coffee.html").read_text().partition("<main")[2] for folder in (tmp_path, web / "x" / "y")]
    assert story[0] == story[1]


def test_the_file_of_the_terminal_opens_offline_plays_and_prints(browser: Browser, tmp_path: Path) -> None:
    picture, html = SAMPLES["cat"].path, tmp_path / "story.html"
    asked = ["--classes", "cat,crab,piano", "--label", "cat", "--methods", "clip,ensemble,rita", "--html"]
    assert cli.main(["explain", str(picture), *asked, str(html)]) == 0
    with visitor(browser, html.as_uri()) as page:
        page.context.set_offline(True)
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(html.as_uri())
        expect(page.locator(".story .headline")).to_contain_text("This is a cat.")
        expect(page.locator(".story .push .dot")).to_have_count(64)
        page.get_by_role("button", name="Play the attack").click()
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        expect(page.get_by_role("button", name="Play the attack")).to_be_visible(timeout=20_000)
        expect(page.locator(".story .adds .verdict")).to_contain_text("the plan says ")
        page.get_by_role("button", name="trained on attacks").click()
        expect(page.locator(".story .good .lead")).to_contain_text("Trained on attacks: ")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        expect(page.locator(".story .push .bars .bar-row").first).to_be_visible()  # paper asks no questions
        expect(page.locator("#stored")).to_contain_text("Many steps (PGD), at most 4/255")
        expect(page.locator(".story .threat")).to_contain_text("the attacker knows CLIP, not the crops")
