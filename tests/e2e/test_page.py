"""The page as a whole on the real server: a link, a frame, a run that is saved and opened again, and programs."""

import io
import re
import zipfile
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from rita_demo.data.pictures import png_bytes
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline import bundle_read
from tests.e2e.conftest import TOLD_JS, open_lab, open_story, press_and_wait, saved, unfold, upload
from tests.live_server import ROOT, start_server

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    "page", ["?sample=cat&classes=cat%2Ccrab%2Cpiano&budget=2&steps=3&view=5&step=1&tab=inside"], indirect=True
)
def test_a_link_restores_room_crop_step_form_and_run_also_at_200_percent(page: Page) -> None:
    page.set_viewport_size({"width": 720, "height": 450})
    slider, output = page.locator(".story input.step"), page.locator(".story .scrub output").first
    expect(page.get_by_role("tab", name="Inside")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#in-views button[aria-pressed=true]")).to_have_attribute("data-view", "5")
    expect(page.locator("#in-scrubber-note")).to_contain_text("step 1 of 3")
    unfold(page, "The attack and all answers")
    expect(page.locator("#threat")).to_contain_text("more than 2/255, in 3 steps")
    expect(page.locator("#verdicts")).to_contain_text("among all 3 classes")
    expect(page.locator("#verdicts")).to_contain_text("step 1 of 3", ignore_case=True)
    open_story(page)
    expect(page.locator(".story .claim")).to_contain_text("at most 2 of 255")
    expect(output).to_have_text("step 1 of 3")
    expect(page.locator(".story .hero .scrub")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    slider.press("End")
    expect(page.locator(".story .hero .scrub")).to_be_hidden()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(output).to_have_text("all 3 steps")
    expect(page.locator("#own-names textarea")).to_have_value("cat,crab,piano")
    open_lab(page, "Inside")
    page.wait_for_url(re.compile("budget=2.*tab=inside"))
    page.get_by_label("The attacker knows").click()
    page.get_by_role("option", name="CLIP", exact=True).click()
    press_and_wait(page, "Attack that defence")
    page.wait_for_url(re.compile(r"\?sample=cat&.*attack=adaptive"))
    expect(page.locator("#inside-strip tr").first).to_contain_text(re.compile("cat .*→"))


def test_in_a_frame_whose_sandbox_refuses_its_scripts_the_opening_links_to_the_page(
    browser: Browser, address: str
) -> None:
    page = browser.new_page()
    page.set_content(f'<iframe sandbox="allow-scripts allow-popups" src="{address}"></iframe>')
    opening = page.frame_locator("iframe").locator("#opening")
    expect(opening).to_contain_text("This frame does not let the page start.")
    expect(opening.get_by_role("link", name="Open it in a tab of its own.")).to_have_attribute("href", address)
    page.close()


@pytest.mark.nightly
def test_a_reload_at_any_moment_leaves_no_error_in_the_console(page: Page) -> None:
    """The page's fixture fails on every error in the console."""
    for moment in ("#opening", ".story .answers", "#stop:visible", "#status .done"):
        page.reload(wait_until="commit")
        if moment == "#stop:visible":
            page.locator("#samples [data-sample=coffee]").click()
        page.wait_for_selector(moment, state="attached")
    page.reload(wait_until="commit")
    page.wait_for_function(TOLD_JS)
    page.wait_for_timeout(1000)
    page.reload()  # while the other steps are computed
    page.wait_for_function(TOLD_JS)


MARKUP_NAMES = ('<img src=x onerror="window.harm=1">', "<svg onload=window.harm=2>", "<b class=harm>crab</b>")
LINK = f"?sample=cat&classes={quote(','.join((*MARKUP_NAMES, 'cat')))}&attack=pgd&budget=4&steps=2&view=3"


@pytest.mark.nightly
@pytest.mark.parametrize("page", [LINK], indirect=True)
def test_class_names_are_never_markup_in_any_tab(page: Page) -> None:
    expect(page.locator("#status")).to_contain_text("Done in")  # the model may still be loading
    for name in ("Story", "Inside", "Arena", "Memory", "Figures"):
        open_story(page) if name == "Story" else open_lab(page, name)
        page.wait_for_timeout(1500)  # what comes into sight is drawn now
        if name == "Story":
            page.locator("#share button").click()  # the picture that is made of it, too
            page.keyboard.press("Escape")
        for row in page.locator("#in-views button:visible, #memory-shelf button:visible").all()[:2]:
            row.click()
        found = page.locator("img[src='x'], .harm, [onerror], [onload]")
        assert found.count() == 0, (name, found.first.evaluate("e => e.outerHTML"))
        assert page.evaluate("window.harm") is None, name
        if name in ("Story", "Inside"):  # the Story names the answers only
            shown = page.locator("body").inner_text()
            named = [one for one in MARKUP_NAMES if one[:8] in shown]
            assert len(named) >= (1 if name == "Story" else 3), "the names have to be on the page"


def verdicts(page: Page) -> list[list[str]]:
    """Method, clean and attacked answer of every row, with probability and margin, also of what a narrow view hides."""
    expect(page.locator("#verdicts tbody tr")).to_have_count(3)
    read = "(row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent)"
    return [row.evaluate(read) for row in page.locator("#verdicts tbody tr").all()]


@pytest.mark.nightly
def test_a_saved_upload_run_reopens_with_the_same_verdicts(page: Page, browser: Browser, tmp_path: Path) -> None:
    picture = tmp_path / "mine.png"
    picture.write_bytes(png_bytes(SAMPLES["coffee"].load().pixels[:96, :96]))
    upload(page, picture)
    expect(page.locator("#status")).to_contain_text("Done in")
    open_lab(page, "Inside")
    expect(page.locator("#in-plan .js-plotly-plot svg").first).to_be_visible()
    unfold(page, "The attack and all answers")
    before = verdicts(page)
    path = saved(page, tmp_path, page.get_by_role("button", name="Save this run").click)
    assert path.name == "rita-run.zip"
    expect(page.locator("#status")).to_contain_text("Saved rita-run.zip")
    assert bundle_read.read_file(path).cache_file is not None
    with zipfile.ZipFile(path) as file:
        clean = np.asarray(Image.open(io.BytesIO(file.read("clean.png"))))
        assert np.array_equal(clean, np.asarray(Image.open(picture))), "the uploaded square"
        drawn = [name for name in file.namelist() if name.endswith(".svg")]
        assert len(drawn) >= 3, drawn
        for name in drawn:
            svg = ElementTree.fromstring(file.read(name))
            assert svg.tag.endswith("}svg")
            assert "RITA demo." in "".join(svg.itertext())  # its settings stand below it
    with start_server(tmp_path / "log.txt", "-m", "rita_demo", "open", str(path)) as address:
        context = browser.new_context(viewport={"width": 390, "height": 844})
        again = context.new_page()
        again.goto(address)
        expect(again.locator("#status")).to_contain_text("all 6 answers and every pixel are those in the file")
        expect(again.locator("#chosen")).to_contain_text("pixel for pixel")
        assert again.evaluate("document.documentElement.scrollWidth") <= 390
        open_lab(again, "Inside")
        unfold(again, "The attack and all answers")
        assert verdicts(again) == before
        assert again.evaluate("document.documentElement.scrollWidth") <= 390
        context.close()
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


def test_the_lines_of_the_readme_for_programs_print_answers_of_all_methods(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## From a program")[2]
    lines = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert lines is not None
    monkeypatch.chdir(tmp_path)
    Path("picture.jpg").write_bytes(png_bytes(SAMPLES["coffee"].load(square="picture", side=128).pixels))
    exec(lines[1].replace("http://127.0.0.1:7860", address), {})
    assert "'ensemble': 'cup'" in capsys.readouterr().out
